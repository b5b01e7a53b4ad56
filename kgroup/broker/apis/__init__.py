"""A file for each family of requests that a node answers: the wire's values in, calls of the cluster,
answers out.

Read `group_apis.py` first; `coordination.py` brings a request to its coordinator.
"""
