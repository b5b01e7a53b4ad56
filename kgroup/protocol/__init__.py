"""What bytes mean: ids, hashes, subscriptions; `records` and `requests` have what logs hold and
coordinators are asked.

No files, no clock, no sockets. May import `kgroup.errors`, and kafka-python's codec. Read
`records/entries.py` first.
"""
