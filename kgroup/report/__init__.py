"""Rows in, text out: tables, JSON, CSV, Parquet, HTML pages, pictures, metrics.

May import everything below it in the layers. Read `emit.py` first; `page.py` is what the HTML pages share.
"""
