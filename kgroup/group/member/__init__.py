"""The client's side of a group: identity, positions, fetches and commits.

Read `step.py` and `settings.py` first.
"""
