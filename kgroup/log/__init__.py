"""Records in files, read by the plain path: everything is decoded, and damage is explained.

May import `kgroup.protocol` and `kgroup.errors`. `kgroup.scan` reads the same bytes in columns; tests hold
the two equal. Read `format/batch.py` first, then `files/sources.py`.
"""
