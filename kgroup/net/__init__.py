"""The only package that opens a socket: admin and consumer connections to live clusters.

May import `kgroup.broker` and below. Read `admin.py` first.
"""
