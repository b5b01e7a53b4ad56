"""A live cluster, asked: brokers, topics, groups, log ends, raw logs. Read `cluster.py` first."""
