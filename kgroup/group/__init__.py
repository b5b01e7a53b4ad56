"""What the group protocol decides, and what a log says of groups. Pure: time and randomness come in.

May import `kgroup.assignors`, `kgroup.protocol` and `kgroup.errors`; never `kgroup.log`.
"""
