"""The world that runs: its schedule, network, nodes, members and faults. Read `world.py` first."""
