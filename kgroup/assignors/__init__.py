"""Who gets which partition: Kafka's assignors as pure functions, one file each.

May import `kgroup.protocol` and `kgroup.errors`. Read `model.py` first.
"""
