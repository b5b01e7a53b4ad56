"""Records of the offsets topic, read, chosen and turned into rows. Read `source.py` first."""
