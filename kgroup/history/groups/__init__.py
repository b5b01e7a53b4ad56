"""Groups as a log last shows them: kind, state, members and what they own.

Read `model.py` first, then `snapshot.py`.
"""
