"""A lag report: from opened logs or a cluster to rows, statuses, time lags and findings.

Read `report.py` first; `inputs.py` is the ground of every row, `proof.py` and `facts.py` that of statuses
and findings.
"""
