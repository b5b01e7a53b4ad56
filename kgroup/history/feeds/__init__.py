"""Who feeds whom: the topics that groups' transactions write to, and what follows for who reads them.

Read `model.py` first, then `edges.py`; `connected.py` picks those around a group. Whom a
late group waits for is in `kgroup.lag.findings.late`.
"""
