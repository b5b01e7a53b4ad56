"""Where kafka-python's objects become kgroup's values, in both directions: frames, APIs, a member's calls.

May import `kgroup.log`, `kgroup.protocol` and `kgroup.errors`. Read `frames.py` first.
"""
