"""A group's ledger as values: ranges of offsets that were skipped, or read more than once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from kgroup.history.timeline.model import Grade, Partition


class LedgerKind(StrEnum):
    """The fate of a range of records."""

    SKIPPED = "skipped"
    """Nobody in the group was handed them, and a commit went beyond them."""
    DOUBLED = "doubled"
    """They were handed out again."""


class LedgerCause(StrEnum):
    """The reason a range is in the ledger."""

    FIRST_COMMIT = "first-commit"
    """Nothing had ever been committed, and the first commit is above the log's start: a reader that begins
    without an offset goes where `auto.offset.reset` says, and `latest` is its default."""
    OFFSETS_REMOVED = "offsets-removed"
    """The committed offset had expired or been deleted, so the next reader began where it says."""
    OUT_OF_RANGE = "out-of-range"
    """The log's start had moved above the committed offset: retention, or a deletion of records."""
    LEAP = "leap"
    """One step to the log's end, further and faster than any other of the partition: `seekToEnd()`, or a
    reader that found no offset, or one out of range, and began where `auto.offset.reset=latest` says."""
    ADMIN_RESET = "admin-reset"
    """Committed while the group had no members: the offset was set from outside."""
    HAND_OVER = "hand-over"
    """Another member went on at the committed offset; the one before may have read further."""
    REJOIN = "rejoin"
    """The same: the member had its partitions taken and given back, and continues at the committed offset."""
    REWIND = "rewind"
    """The reader's own commits go back."""


class LogBounds(Protocol):
    """Known bounds of data topics' logs; None where unknown."""

    def start(self, partition: Partition) -> int | None:
        """The first offset that is still there."""

    def end(self, partition: Partition) -> int | None:
        """The offset behind the last record now."""

    def was_cut_by_request(self, partition: Partition) -> bool:
        """Whether somebody deleted records of it: it begins within a segment, where retention takes whole
        ones.
        """

    def ends_at(self, partition: Partition, times_ms: Sequence[int]) -> list[int | None]:
        """The log's end at each of these times (epoch ms, rising): no less than it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """A range of offsets, `from_offset` up to and without `to_offset` (None: no end of it is known).

    `is_certain` says that it happened to each of them; else it may have happened to any number of them, none
    among these. A range in which offsets have no record (markers of transactions, what compaction took)
    counts them all the same. `owners` are member ids in the order in which they read, each with its client
    id; empty where a log does not tell. `at_ms` (epoch ms) is when the reading began that did it, or
    its leap; `from_ms` and `to_ms` are the last commit before it and the first one after it. `records` are
    the places in `__consumer_offsets-{offsets_partition}` of what it follows from.
    """

    kind: LedgerKind
    partition: Partition
    from_offset: int
    to_offset: int | None
    is_certain: bool
    cause: LedgerCause
    grade: Grade
    evidence: str
    owners: tuple[tuple[str, str], ...] = ()
    generation: int | None = None
    at_ms: int
    from_ms: int | None = None
    to_ms: int | None = None
    group_was_known: bool = True
    """The group had committed something before: no new group's first start."""
    offsets_partition: int = -1
    records: tuple[int, ...] = ()

    @property
    def at_least(self) -> int:
        """The number of offsets it certainly happened to."""
        return self.to_offset - self.from_offset if self.is_certain and self.to_offset is not None else 0

    @property
    def at_most(self) -> int | None:
        """The most records the range can have; None if unknown."""
        return None if self.to_offset is None else self.to_offset - self.from_offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The entries of one group, by topic, partition, time and offset; `topics` are all that it committed.

    `is_cut` says that the log skips offsets that may have held records of the group: what happened there is
    unknown.
    """

    group_id: str
    entries: tuple[LedgerEntry, ...] = field(default=())
    topics: frozenset[str] = frozenset()
    commits: int = 0
    is_cut: bool = False
