"""Runs of `simulate` and `join` told as they happen: events, lectures, views of runs.

Read `story.py` first.
"""
