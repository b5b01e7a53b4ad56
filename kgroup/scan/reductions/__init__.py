"""Reductions of a log: newest commits, last commits, history, chosen groups. Read `scan.py` first."""
