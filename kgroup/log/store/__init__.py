"""Logs that can be appended to, in memory and on disk, and cleaned. Read `record_log.py` first."""
