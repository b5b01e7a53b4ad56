"""Observers of a run: its trace, tallies, and checkers of its promises. Read `checkers.py` first."""
