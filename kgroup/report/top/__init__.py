"""The live screen of `kgroup top` as pure values: keys and refreshes in, lines of a screen out.

Read `group_line.py` (what is known of a group), `model.py` (what a key or a refresh changes) and `screen.py`
(what is shown) first. Reads no clock, no terminal and no log.
"""
