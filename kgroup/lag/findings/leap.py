"""Steps between two commits that may have skipped records, as the scan of a log kept them."""

from dataclasses import dataclass
from typing import Final

STEPS_BACK: Final = 10
"""A reader behind for this many times a step's length was behind at some of its own commits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leap:
    """The longest step of a partition, from one commit to the next; times are epoch ms.

    `next_longest` is the longest of its other steps, None if there is none. `membership_changes` are the
    records between the two commits that changed the group's members or generation. `was_cut_by_request` says
    that somebody deleted records of the log: it begins within a segment, where retention takes whole ones.
    """

    from_offset: int
    from_ms: int
    to_offset: int
    to_ms: int
    next_longest: int | None
    membership_changes: int
    was_cut_by_request: bool

    @property
    def length(self) -> int:
        """The length in offsets."""
        return self.to_offset - self.from_offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a partition, from a commit to the next, of those that its longest is held against.

    Times are epoch ms. `waiting_before` and `waiting_after` are how many offsets the log had beyond the two
    commits at their times, `waiting_long` how many beyond the first one STEPS_BACK times as long before; None
    where the log does not tell. `membership_changes` as in `Leap`. `is_first` marks a first commit: it is a
    step from where the log begins, and `from_ms` is when the group was given the partition.
    """

    from_offset: int
    from_ms: int
    to_offset: int
    to_ms: int
    waiting_before: int | None = None
    waiting_after: int | None = None
    waiting_long: int | None = None
    membership_changes: int = 0
    is_first: bool = False

    @property
    def length(self) -> int:
        """The length in offsets."""
        return self.to_offset - self.from_offset

    @property
    def per_s(self) -> float:
        """Offsets a second; a step takes a millisecond at least."""
        return self.length * 1000 / max(self.to_ms - self.from_ms, 1)
