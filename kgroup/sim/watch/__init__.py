"""Observers of a run: its trace, tallies, and checkers of what must hold. Read `checkers.py` first."""
