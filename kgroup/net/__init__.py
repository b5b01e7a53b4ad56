"""The only package that opens sockets: connections to live clusters, and the server of `kgroup serve`.

May import `kgroup.broker` and below. Read `admin/cluster.py` first; `serve/server.py` for serve,
`member/client.py` for join.
"""
