"""A member of a classic group: joining, leading, heartbeats. Read `member.py` first, then `rounds.py`."""
