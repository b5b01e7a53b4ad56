"""Lives with drawn settings: the same incidents in groups of other sizes, rhythms, timeouts and clients.

The lives of `tests.incidents.lives` have one setting each, and rules may come to fit just that. Here each
seed draws members, partitions, rates, commit intervals, sessions, poll intervals, assignor and library anew.
`python -m tests.incidents.drawn` plays many seeds and counts what is named; `families.py` has the incidents,
`well.py` groups with nothing wrong.
"""
