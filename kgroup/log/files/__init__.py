"""Segments, indexes, partition folders, checkpoints, and how paths become sources.

Read `segment.py` first, then `log_dir.py` and `sources.py`.
"""
