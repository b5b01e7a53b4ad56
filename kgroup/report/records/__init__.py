"""Records and exchanges as JSON and as text. Read `entry_json.py` first."""
