"""The only package that opens a socket: connections to live clusters, and the server of `kgroup serve`.

May import `kgroup.broker` and below. Read `admin/cluster.py` first; `serve/server.py` for serve,
`member/client.py` for join.
"""
