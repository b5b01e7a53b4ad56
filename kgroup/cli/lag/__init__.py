"""The options of `lag-report` and the ways it shows an answer: rows, findings, a live view, metrics, tables
of Spark.

Read `request.py` (what was asked), `answer.py` (in which way it is answered) and `present.py` first.
"""
