"""The consumers of Kafka 0.8, which rebalance without a coordinator, on the same scenarios.

Read `world.py` first.
"""
