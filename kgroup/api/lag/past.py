"""What a report asks of the log besides its rows."""

from dataclasses import dataclass, replace

import pyarrow as pa

from kgroup.api.lag.options import WINDOW_COMMITS
from kgroup.api.lag.windows import Windows
from kgroup.scan.kernels.gather import no_rows
from kgroup.scan.reductions.history import History
from kgroup.scan.reductions.last_commits import LastCommits
from kgroup.scan.reductions.scanned import Scanned


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The last commits as windows, steps between commits, history, and what waits for a transaction's end.

    `last` is without commits, which the windows have; `pending` has COMMIT_SCHEMA. A scan need not be held
    for it: what rows and windows are made of is a fifth of a large report's memory.
    """

    windows: Windows
    last: LastCommits
    history: History | None
    pending: pa.Table

    @classmethod
    def of(cls, scanned: Scanned) -> "Past | None":
        """That of a log; None if no more than its newest records were read."""
        last = scanned.last
        if last is None:
            return None
        return cls(
            windows=Windows(last, WINDOW_COMMITS),
            last=replace(last, commits=no_rows(last.commits.schema)),
            history=scanned.history,
            pending=scanned.newest.pending,
        )
