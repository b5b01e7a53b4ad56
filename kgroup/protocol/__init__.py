"""The meaning of bytes: ids, hashes, subscriptions; `records` of logs and `requests` to coordinators.

No files, no clock, no sockets. May import `kgroup.errors`, and kafka-python's codec. Read
`records/entries.py` first.
"""
