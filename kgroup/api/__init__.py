"""A source and a question in, an answer out: the library that the commands are thin over.

Opens logs and clusters, and puts together what the packages below know. Prints nothing and ends no process:
what went wrong is `kgroup.errors`. May import everything but `kgroup.cli`. Read `opened.py` first, then
`lag/report.py` and `replay.py`.
"""
