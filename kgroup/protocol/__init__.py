"""The meaning of bytes: ids, hashes, subscriptions; `records` of logs and `requests` to coordinators.

No files but its own definitions, no clock, no sockets. May import `kgroup.errors`. Read `records/entries.py`
first.
"""
