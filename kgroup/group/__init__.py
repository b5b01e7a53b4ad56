"""What the group protocol decides, and what a log says of groups. Pure: time and randomness come in.

May import `kgroup.assignors`, `kgroup.protocol` and `kgroup.errors`; never `kgroup.log`. By subject, with the
file to read first:

- the coordinator: `coordinator.py`, on `classic*.py` (members and rounds), `commit_rules.py` (offsets) and
  `step.py` (what it is handed and hands back);
- the member: `member.py`, on `member_*.py`;
- who is in a group now: `snapshot.py`;
- how it came to that: `timeline.py`, on `timeline_*.py`; why: `causes.py`, `departures.py`, `removals.py`,
  `incidents.py`; what repeats: `patterns.py`;
- what it would have been otherwise: `what_if.py`;
- how far behind it is: `lag.py`, `time_lag.py`, `lag_history.py`; what that means: `lag_rules.py` (a status)
  and `findings.py` (what is wrong).
"""
