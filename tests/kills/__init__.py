"""Kills of a real `kgroup serve`, and disks that lose what was not synced: nothing acknowledged goes.

`python -m tests.kills --rounds 200` plays them; read `story.py` first, then `disk.py`.
"""
