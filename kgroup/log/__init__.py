"""How records lie in files: batches, message sets, segments, indexes, partition folders, checkpoints.

May import `kgroup.protocol` and `kgroup.errors`. Two paths over the same bytes: the plain one (`batch.py`,
`segment.py`, `entries.py`) decodes everything and explains damage; the columnar one (`scan.py`) does the
hot record types at memory speed. Tests hold them equal. Read `batch.py` first; `sources.py` finds the files,
and `store.py` has logs that can be appended to.
"""
