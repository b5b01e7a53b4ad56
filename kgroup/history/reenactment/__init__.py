"""The plan that plays a group's past again, and how closely the second log matches the first.

Pure. Read `model.py` first, then `plan.py`; `score.py` compares two timelines.
"""
