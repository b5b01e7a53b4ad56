"""The command line: arguments, then one line of flow. A file a command, named like it.

What a command shows in several ways stands beside it (`lag_*.py`, `simulate_*.py`). Heavy libraries are
imported inside the command that needs them. Read `app.py` first.
"""
