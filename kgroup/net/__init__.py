"""The only package that opens a socket: connections to live clusters, and the server of `kgroup serve`.

May import `kgroup.broker` and below. Read `admin.py` first; `server.py` for serve, `client.py` for join.
"""
