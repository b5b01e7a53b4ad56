"""The groups of one partition of the offsets topic: requests and time in, records and answers out.

Read `step.py` first, then `coordinator.py`. `commits.py` and `offsets.py` serve every kind of group;
`classic` is the first kind.
"""
