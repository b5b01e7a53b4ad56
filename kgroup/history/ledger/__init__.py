"""What a group did not read, and what it was handed twice, as far as its log tells.

Read `model.py` first, then `ledger.py`; `readings.py` makes stretches of reading of a group's records.
"""
