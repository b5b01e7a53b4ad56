"""The command line: arguments, then one line of flow. One file a command.

Heavy libraries are imported inside the command that needs them. Read `app.py` first.
"""
