"""Queries to a live cluster: brokers, topics, groups, log ends, raw logs. Read `cluster.py` first."""
