"""Every order of events of a very small group, up to a depth: what seeds may miss. Read `search.py` first."""
