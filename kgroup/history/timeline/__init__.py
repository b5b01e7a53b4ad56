"""A group's generations in order, why each ended, and recurring patterns.

Read `model.py` first, then `replay.py`; `causes.py` names causes, `patterns.py` storms and flapping
members.
"""
