"""`kgroup compat`: kafka-consumer-groups under another name, for scripts that read what it prints.

What its command line means is in `given.py` and `checks.py`; each action is a file with a function `run`,
listed in `actions.py`. Their lines are made in `kgroup.report.compat`. Read `actions.py` first.
"""
