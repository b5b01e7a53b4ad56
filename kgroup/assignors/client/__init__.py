"""Assignors that run in the leader of a classic group, as in Kafka's clients.

Read `range.py` first. `sticky.py` and `cooperative_sticky.py` share the files that begin with `sticky_`.
"""
