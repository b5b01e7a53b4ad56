"""Shared by commands that change a cluster: the cluster, --execute, undo files, and the view of a plan.

Read `carry_out.py` first.
"""
