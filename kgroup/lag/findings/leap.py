"""A step between two commits that may have passed over records, as the scan of a log left it."""

from dataclasses import dataclass


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
        """In offsets."""
        return self.to_offset - self.from_offset
