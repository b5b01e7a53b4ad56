"""Changes to a group's offsets: targets, plans, undo journals. Read `model.py` first, then `plan.py`.

All of it is pure: commits, log starts and ends, timestamps come in, and rows of a plan come out.
`kgroup.api.operations` asks the cluster and carries plans out; `kgroup.net.admin` has the requests.
"""
