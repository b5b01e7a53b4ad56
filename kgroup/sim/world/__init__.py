"""The running world: its schedule, network, nodes, members and faults. Read `world.py` first."""
