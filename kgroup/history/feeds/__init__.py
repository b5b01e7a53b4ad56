"""Feeds: the topics that groups' transactions write to, and what follows for the groups that read those.

Read `model.py` first, then `edges.py`; `connected.py` picks those around a group. Whom a
late group waits for is in `kgroup.lag.findings.late`.
"""
