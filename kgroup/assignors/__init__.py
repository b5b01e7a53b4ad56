"""Assigning partitions to members: Kafka's assignors as pure functions, one file each.

May import `kgroup.protocol` and `kgroup.errors`. Read `model.py` first, then `registry.py`; `java_order.py`
says why the order of an answer is what it is.
"""
