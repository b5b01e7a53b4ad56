"""The facts findings and statuses need about one partition's last commits, one partition at a time.

`fact_columns.py` says the same of many partitions at once; this is what it is held against, and what stands
in for it where numbers are too large to be reckoned with in columns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile
from statistics import median
from typing import Final

from kgroup.lag.findings.model import PartitionFacts
from kgroup.lag.findings.own_log import NO_LOG, LogProof
from kgroup.lag.findings.seen_ends import passed_until, unread_by, written_per_s
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.status.model import Rewound
from kgroup.lag.status.rule_sets import KgroupRules
from kgroup.lag.status.window import CommitWindow, LogEnd

RHYTHM_COMMITS: Final = 4
"""This many commits show a group's rhythm."""


def is_judged(row: LagRow) -> bool:
    """Whether a partition can be judged by itself: it exists as far as is known, and so does its log end."""
    return row.log_end_offset is not None and row.topic_state in (TopicState.EXISTS, TopicState.UNKNOWN)


def partition_facts(
    row: LagRow,
    window: CommitWindow,
    seen_ends: Sequence[LogEnd],
    now_ms: int,
    in_log: LogProof = NO_LOG,
) -> PartitionFacts:
    """The facts on a partition at `now_ms` (epoch ms), with its window.

    `seen_ends` are log ends that are proven by somebody's commit, oldest first: the log was *at least* that
    long at that time. `in_log` is what the partition's own log also proves.
    """
    commits = window.commits
    if not commits:
        return PartitionFacts(row=row, window=window)
    first, last = commits[0], commits[-1]
    waiting = (unread_by(seen_ends, last.offset), in_log.unread_by_ms)
    went_on = (passed_until(seen_ends, last.offset), in_log.passed_until_ms)
    window = replace(window, unread_by_ms=min((at for at in waiting if at is not None), default=None))
    verdict = None
    if is_judged(row) and row.log_end_offset is not None:
        verdict = KgroupRules().judge(window, row.log_end_offset, now_ms)
    return PartitionFacts(
        row=row,
        commits=len(commits),
        first_offset=first.offset,
        first_ms=first.timestamp,
        last_offset=last.offset,
        last_ms=last.timestamp,
        reached_ms=_reached_ms(window),
        longest_interval_ms=_rhythm_ms(window),
        status=verdict.status if verdict else None,
        rewound=verdict.reason if verdict and isinstance(verdict.reason, Rewound) else None,
        unread_by_ms=window.unread_by_ms,
        passed_until_ms=max((at for at in went_on if at is not None), default=None),
        written_per_s=in_log.went.per_s
        if in_log.went is not None
        else written_per_s(seen_ends, first.timestamp, last.timestamp),
        window=window,
    )


def _reached_ms(window: CommitWindow) -> int:
    """The time of the first commit of the last offset, with no other offset committed since."""
    last = window.commits[-1]
    of_last = takewhile(lambda commit: commit.offset == last.offset, reversed(window.commits))
    return [commit.timestamp for commit in of_last][-1]


def usual_step(windows: Iterable[CommitWindow]) -> int:
    """The records by which a group's commits usually advance, over all of its partitions; at least 1."""
    steps = [
        after.offset - before.offset
        for window in windows
        for before, after in pairwise(window.commits)
        if after.offset > before.offset
    ]
    return max(int(median(steps)), 1) if steps else 1


def _rhythm_ms(window: CommitWindow) -> int | None:
    times = [commit.timestamp for commit in window.commits]
    intervals = [after - before for before, after in pairwise(times)]
    if len(times) < RHYTHM_COMMITS or min(intervals) < 0 or max(intervals) <= 0:
        return None
    return max(intervals)
