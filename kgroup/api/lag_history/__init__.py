"""Lag at the end of each window of the past, here and on Spark. Read `history.py` first."""
