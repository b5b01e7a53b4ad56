"""The plan by which a group's past is played again, and how near the second log comes to the first.

Pure. Read `model.py` first, then `plan.py`; `score.py` compares two timelines.
"""
