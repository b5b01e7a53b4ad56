"""Classic groups: members, rounds of joining and syncing, generations.

Read `states.py` first, then `rules.py`.
"""
