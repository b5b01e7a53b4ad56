"""The status of a partition by its last commits, one by one and in columns, with the rule that gave it.

Read `model.py` first, then `rules.py`; `burrow_rules.py` is exact to Burrow's evaluator.
"""
