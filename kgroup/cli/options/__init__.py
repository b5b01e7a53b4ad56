"""A file for each command with options of its own: dataclasses of them, and a table of what does not go
together.

Read `simulate.py` first; those of `lag-report` are in `cli/lag`.
"""
