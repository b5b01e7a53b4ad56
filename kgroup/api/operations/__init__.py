"""Changes to groups of a live cluster: planned, carried out with an undo file, read back.

Read `planned.py` first.
"""
