"""What bytes mean: record types of the offsets topic, and the subscriptions and assignments inside them.

No files, no clock, no sockets. May import `kgroup.errors`, and kafka-python's codec. Read `entries.py` first.
"""
