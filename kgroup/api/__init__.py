"""Answers to questions about a source: the library that the commands are thin wrappers around.

Opens logs and clusters, and puts together what the packages below know. Prints nothing, reads no clock and
ends no process: what went wrong is `kgroup.errors`. `kgroup` itself has its public names. May import all but
`kgroup.cli`. Read `opened.py` first, then `replay.py` and `lag/report.py`.
"""
