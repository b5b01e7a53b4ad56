"""Log ends of the past over columns say of each row what `reach` says of it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.lag.findings.own_log import LogProof, LogWent
from kgroup.lag.findings.seen_ends import passed_until, seen_ends, unread_by, written_per_s
from kgroup.lag.findings.seen_ends_columns import SeenColumns, seen_numbers
from kgroup.lag.status.columns import UNKNOWN, CommitColumns
from kgroup.lag.status.window import LogEnd

TIMES, OFFSETS = st.integers(0, 9), st.integers(0, 9)
ENDS = st.lists(st.builds(LogEnd, offset=OFFSETS, timestamp=TIMES), max_size=6)
COMMITS = st.lists(st.tuples(TIMES, OFFSETS), min_size=1, max_size=3)
ROWS = st.lists(st.tuples(ENDS, COMMITS, OFFSETS), min_size=1, max_size=5)


def numbers(rows):
    """Of rows of log ends by time, commits (ms, offset), and the end of the log now."""
    commits = [commit for _, of_row, _ in rows for commit in of_row]
    counts = np.array([len(of_row) for _, of_row, _ in rows], np.int64)
    columns = CommitColumns(
        offsets=np.array([offset for _, offset in commits], np.int64),
        timestamps=np.array([time for time, _ in commits], np.int64),
        lags=np.full(len(commits), UNKNOWN),
    )
    seen = SeenColumns.of([seen_ends(ends, None) for ends, _, _ in rows])
    now = np.array([end for _, _, end in rows], np.int64)
    return seen_numbers(seen, now, columns, np.cumsum(counts), counts)


def known(values):
    return [None if value == UNKNOWN else value for value in values.tolist()]


@settings(max_examples=300)
@given(ROWS)
def test_each_row_has_the_numbers_that_it_has_by_itself(rows):
    computed = numbers(rows)
    proven = [seen_ends(ends, end) for ends, _, end in rows]
    last = [commits[-1][1] for _, commits, _ in rows]
    spans = [(commits[0][0], commits[-1][0]) for _, commits, _ in rows]
    assert known(computed.unread_by_ms) == [unread_by(*one) for one in zip(proven, last, strict=True)]
    assert known(computed.passed_until_ms) == [passed_until(*one) for one in zip(proven, last, strict=True)]
    assert computed.written_per_s() == [
        written_per_s(one, *span) for one, span in zip(proven, spans, strict=True)
    ]


def test_more_rows_than_are_looked_at_at_once():
    ends = [LogEnd(offset=5, timestamp=3), LogEnd(offset=9, timestamp=4)]
    computed = numbers([(ends[: number % 3], [(1, 2)], 9) for number in range(5000)])
    assert known(computed.passed_until_ms) == [(None, 3, 4)[number % 3] for number in range(5000)]


def test_rows_that_are_not_asked_about_have_no_log_ends():
    seen = SeenColumns.of([[LogEnd(offset=1, timestamp=1)], [LogEnd(offset=2, timestamp=2)]])
    chosen = seen.only(np.array([False, True]))
    assert (chosen.stops - chosen.starts).tolist() == [0, 1]


def test_what_the_own_logs_of_some_rows_prove():
    ours = numbers([([LogEnd(offset=9, timestamp=5)], [(0, 1)], 9), ([], [(0, 1)], 9)] * 2)
    early = LogProof(unread_by_ms=3, passed_until_ms=4, went=LogWent(1, 0, 9, 4000))
    late = LogProof(unread_by_ms=7, passed_until_ms=8)
    joined = ours.with_logs({0: early, 1: early, 2: late})
    assert joined.unread_by_ms.tolist() == [3, 3, 5, UNKNOWN]
    assert joined.passed_until_ms.tolist() == [5, 4, 8, UNKNOWN]
    assert joined.written_per_s() == [2.0, 2.0, None, None]
    assert ours.unread_by_ms.tolist() == [5, UNKNOWN, 5, UNKNOWN]
