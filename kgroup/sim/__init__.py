"""A seeded world on a virtual clock: production's broker nodes and members, a network, faults, checkers.

May import `broker` and what is below it; never `net`, `report` or `spark`. It opens nothing and reads no
clock: time, randomness and ids all come from the seed. Read `scenario/scenario.py` first, then
`world/world.py`; `designs.py` plays a scenario as one of several designs.
"""
