"""Spark data sources for querying logs of consumer groups: what they share, and `kafka-offsets`.

`tables.py` is the base of all: a schema, options, filters that are pushed down, tasks. Those that answer
what `kgroup.api` answers are in `kgroup.api.spark_sources`.
"""
