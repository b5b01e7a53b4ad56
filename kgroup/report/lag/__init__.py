"""Columns, sums, metrics and the page of a lag report. Read `columns.py` first."""
