"""The last commits that a report keeps of a partition, as the steps `kgroup commits` shows."""

from collections.abc import Iterator
from itertools import pairwise

from kgroup.history.timeline.commit_steps import CommitStep
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.status.window import CommitWindow


def window_steps(row: LagRow, window: CommitWindow) -> Iterator[CommitStep]:
    """Oldest first. The oldest that is kept has no step, and nobody knows where in the log the records are.

    A gap is None where the clocks of two commits disagree.
    """
    for before, commit in pairwise((None, *window.commits)):
        assert commit is not None, "only what comes before the first is none"
        gap_ms = None if before is None else commit.timestamp - before.timestamp
        yield CommitStep(
            group=row.group,
            topic=row.topic,
            partition=row.partition,
            at_ms=commit.timestamp,
            offset=commit.offset,
            step=None if before is None else commit.offset - before.offset,
            gap_ms=gap_ms if gap_ms is not None and gap_ms >= 0 else None,
        )
