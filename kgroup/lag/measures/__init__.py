"""Lag in records and in time: rows, log ends, rates, expiry. Read `rows.py` first."""
