"""One group put to any assignor, rebalance after rebalance, and how good each answer is.

Read `plan.py` first, then `rounds.py`; `score.py` and `flaws.py` judge.
"""
