"""The server of `kgroup serve`: listeners, control, faults, metrics. Read `server.py` first."""
