"""Narrates runs of `simulate` and `join` as they happen: events, lectures, views of runs.

Read `story.py` first.
"""
