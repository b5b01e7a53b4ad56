"""A lag report: from opened logs or a cluster to rows, statuses, time lags and findings.

Read `report.py` first; `inputs.py` is the ground of every row, `chunks.py` has what is made of some thousand
rows at a time, `proof.py` and `facts.py` are the ground of statuses and findings.
"""
