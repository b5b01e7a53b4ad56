"""A file for each command, named like it: its options, its examples, and one line of flow.

Read `decode.py` first.
"""
