"""Follows a cluster's offsets topic for `kgroup record`. Read `recorder.py` first."""
