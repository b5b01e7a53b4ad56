"""Translation between kafka-python's objects and kgroup's values, both ways: frames, APIs, members' calls.

May import `kgroup.log`, `kgroup.protocol` and `kgroup.errors`. Read `frames.py` first.
"""
