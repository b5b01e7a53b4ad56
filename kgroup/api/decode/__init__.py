"""Records of the offsets topic, read, chosen and turned into rows. Read `decoded.py` first."""
