"""Lag at the end of each window of the past, here and on Spark. Read `report.py` first, then `history.py`."""
