"""A recorded group under another assignor, protocol or time-out.

Read `changes.py` first, then `what_if.py`.
"""
