"""The command line: arguments, one call of `kgroup.api`, rows out.

`commands` has a file for each command, `options` one for its own options; `shell` what all share (the
application, options, help). Heavy libraries are imported inside the command that needs them. Read
`shell/app.py` first.
"""
