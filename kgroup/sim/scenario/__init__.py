"""What is to happen in a world: members, topics, faults, and the files that say so.

Read `scenario.py` first.
"""
