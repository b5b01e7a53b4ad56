"""Rules for what `kgroup record` fetches, keeps and drops, no clock or socket. Read `fetched.py` first."""
