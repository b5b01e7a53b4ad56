"""What commands that change a cluster share: the cluster, --execute and undo files, how a plan is shown.

Read `carry_out.py` first.
"""
