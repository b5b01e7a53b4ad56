"""A file for each command, named like it: its examples, and one line of flow.

Options that only one command has are in `cli/options`. Read `decode.py` first.
"""
