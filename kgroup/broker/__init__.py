"""Broker nodes, pure: requests and time in, answers out. May import group, log and what is below.

Start with `cluster.py` (nodes, topics, who leads what), then `node.py` (one node's dispatch). The
wire codec's objects are handled in `*_apis.py` and `wire.py` only, and for members in `client_requests.py`
and `client_responses.py`.
"""
