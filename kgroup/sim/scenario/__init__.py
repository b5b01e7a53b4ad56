"""Scenarios of a world: members, topics, faults, and the files that describe them.

Read `scenario.py` first.
"""
