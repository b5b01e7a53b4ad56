"""Records of the offsets topic: read, selected and turned into rows. Read `decoded.py` first."""
