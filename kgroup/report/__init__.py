"""Rows in, text out: tables, JSON lines, CSV, Parquet, man pages.

May import everything below it in the layers. Read `emit.py` first.
"""
