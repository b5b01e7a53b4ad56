"""The groups of a log: their members now, the history that led there, and the effect of other settings.

Pure: entries in, values out. May import `kgroup.assignors`, `kgroup.protocol` and `kgroup.errors`. Read
`groups/model.py` first, then `timeline/replay.py`.
"""
