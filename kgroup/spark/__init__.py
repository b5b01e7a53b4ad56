"""The only package that imports PySpark: session, data source over segments, jobs.

May import `kgroup.log`, `kgroup.group` and below. Read `session.py` first.
"""
