"""Broker nodes, pure: requests and time in, answers out. May import `kgroup.wire`, group, log and what is
below.

Start with `cluster.py` (nodes, topics, who leads what), then `dispatch.py` (a request to its handler in
`apis`).
"""
