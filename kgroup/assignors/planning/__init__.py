"""Puts one group to any assignor, rebalance after rebalance, and rates each answer.

Read `plan.py` first, then `rounds.py`; `score.py` and `flaws.py` judge.
"""
