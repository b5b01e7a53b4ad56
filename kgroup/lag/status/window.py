"""The input of a lag rule: a partition's last commits, and its log ends over the same time."""

from dataclasses import dataclass
from typing import Final

from kgroup.lag.status.model import Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCommit:
    """A commit as it was kept.

    `timestamp` is epoch ms. `lag` is what was unread at the time of the commit, in records; None if no log
    end was known then. `order` is the offset of the commit's record in its offsets partition, -1 if unknown.
    """

    offset: int
    timestamp: int
    lag: int | None = None
    order: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnd:
    """A log end offset that was read, and when (epoch ms; None if unknown)."""

    offset: int
    timestamp: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitWindow:
    """The last commits of a group to one partition.

    `slots` is how many commits there is room for, 0 where nothing was ever committed. `commits` and `heads`
    go from the oldest to the newest; commits stand in the order of the offsets topic, so timestamps may go
    back.

    The rest is what only some sources know. `unread_since_ms` is when the first unread record was written, or
    when somebody who watches the log without a break first saw it. `unread_by_ms` is when it was there at the
    latest. `membership_changes` are the offsets, in the same offsets partition as the commits, of records
    that changed the group's members or generation. None is unknown for all; an empty `membership_changes`
    says that there were none. `proof` is what was found by looking at more than this partition and group.
    """

    slots: int
    commits: tuple[WindowCommit, ...] = ()
    heads: tuple[LogEnd, ...] = ()
    unread_since_ms: int | None = None
    unread_by_ms: int | None = None
    membership_changes: tuple[int, ...] | None = None
    proof: Proof | None = None

    def __post_init__(self) -> None:
        assert len(self.commits) <= self.slots, "more commits than slots"

    @property
    def is_full(self) -> bool:
        """Whether every slot holds a commit."""
        return 0 < self.slots == len(self.commits)

    @property
    def span_ms(self) -> int:
        """The time from the first commit to the last one; negative if the clocks of the two disagree."""
        return self.commits[-1].timestamp - self.commits[0].timestamp if self.commits else 0

    def lag(self, end_offset: int) -> int:
        """Records after the last commit, were `end_offset` the log's end.

        Never negative, as a commit may be newer than the reading of the end; 0 without a commit.
        """
        return max(end_offset - self.commits[-1].offset, 0) if self.commits else 0


NO_COMMITS: Final = CommitWindow(slots=0)
"""The window of a partition without any commit."""
