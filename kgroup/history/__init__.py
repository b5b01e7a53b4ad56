"""The groups of a log: their members now, how it came to that, and what other settings would have done.

Pure: entries in, values out. May import `kgroup.assignors`, `kgroup.protocol` and `kgroup.errors`. Read
`groups/model.py` first, then `timeline/replay.py`.
"""
