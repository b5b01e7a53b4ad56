"""The options of `lag-report` and the ways it shows an answer: rows, findings, a live view, metrics, tables
of Spark.

Read `asked.py` (the question) and `present.py` (one answer) first.
"""
