"""What `kgroup record` fetches, keeps and drops, without a clock or a socket. Read `fetched.py` first."""
