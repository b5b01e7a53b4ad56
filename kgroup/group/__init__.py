"""The group protocol's two machines, the coordinator and the member. Pure: time and randomness come in.

May import `kgroup.assignors`, `kgroup.protocol` and `kgroup.errors`; never `kgroup.log`. Read
`coordinator/step.py` first.
"""
