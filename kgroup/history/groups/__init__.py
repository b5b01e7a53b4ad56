"""Groups as a log last shows them: kind, state, members and their partitions.

Read `model.py` first, then `snapshot.py`.
"""
