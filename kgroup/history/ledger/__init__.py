"""The ledger of a group: what it skipped and what it read twice, as far as its log shows.

Read `model.py` first, then `ledger.py`; `readings.py` makes stretches of reading of a group's records.
"""
