"""The last commits of a group, with the step and the time between them."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from kgroup.lag.measures.rows import LagRow
from kgroup.lag.status.window import CommitWindow
from kgroup.report.emit import Column, Kind, Row

COMMIT_STEP_COLUMNS: Final = (
    Column(name="topic"),
    Column(name="partition", header="P", kind=Kind.INTEGER),
    Column(name="time", kind=Kind.TIME_MS),
    Column(name="offset", kind=Kind.INTEGER),
    Column(name="step", kind=Kind.INTEGER),
    Column(name="gap_ms", header="GAP", kind=Kind.DURATION_MS),
    Column(name="read_per_s", header="READ/S", kind=Kind.FLOAT),
)


def commit_step_rows(partitions: Iterable[tuple[LagRow, CommitWindow]]) -> Iterator[Row]:
    """A row for each commit, oldest first, partition by partition.

    `step` is how far the offset went from the commit before, in offsets, and `gap_ms` how long after it this
    one came; both None for the oldest that is kept, the gap also where the clocks of the two disagree.
    `read_per_s` is one by the other, None without a gap.
    """
    for row, window in partitions:
        commits = window.commits
        for before, commit in pairwise((None, *commits)):
            assert commit is not None, "only what comes before the first is none"
            step = None if before is None else commit.offset - before.offset
            gap_ms = None if before is None else commit.timestamp - before.timestamp
            known = gap_ms if gap_ms is not None and gap_ms >= 0 else None
            yield {
                "topic": row.topic,
                "partition": row.partition,
                "time": commit.timestamp,
                "offset": commit.offset,
                "step": step,
                "gap_ms": known,
                "read_per_s": step * 1000 / known if step is not None and known else None,
            }
