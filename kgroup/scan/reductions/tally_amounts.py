"""The result of a tally: records and bytes of an offsets partition by segment, group and kind."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from kgroup.log.format.batch import Damage
from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.records.keys import OffsetCommitKey, group_of
from kgroup.scan.kernels.keys import GROUP_TAG, TAG, TOPIC_TAG, Keys, key_bytes, key_count
from kgroup.scan.kernels.tally import Table
from kgroup.scan.reading.drive import Slice

RUN_MS_MIN: Final = 10_000
"""A rate of less time is one of a burst, as when members join."""


class What(StrEnum):
    """The uses that bytes are counted by."""

    COMMIT = "commit"
    GROUP = "group"
    """All that a coordinator writes of groups and their members: metadata, assignments, topologies."""
    TOMBSTONE = "tombstone"
    """Deletions, of commits and of the others."""
    MARKER = "marker"
    """Ends of transactions."""
    OTHER = "other"
    """Records whose key says nothing that is known."""
    EMPTY_BATCH = "empty-batch"
    """Headers that the log cleaner keeps for their producer, or for the last offset."""
    DAMAGE = "damage"


@dataclass(slots=True)
class Amount:
    """Records and bytes; `stays` of the next cleaning, `live` once all has been cleaned, `run` of the tail.

    The run is the stretch without gaps at the log's end, in which nothing was compacted yet.
    """

    records: int = 0
    bytes: int = 0
    stays_records: int = 0
    stays_bytes: int = 0
    live_records: int = 0
    live_bytes: int = 0
    run_records: int = 0
    run_bytes: int = 0

    def add(self, other: "Amount") -> None:
        """Add another."""
        self.records += other.records
        self.bytes += other.bytes
        self.stays_records += other.stays_records
        self.stays_bytes += other.stays_bytes
        self.live_records += other.live_records
        self.live_bytes += other.live_bytes
        self.run_records += other.run_records
        self.run_bytes += other.run_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentTally:
    """One file. `amounts` are by group (None for what is of none) and kind; their bytes are `size` in sum.

    Times are epoch ms, None without a record. `is_closed` segments are those that the log cleaner may clean.
    """

    part: Slice
    amounts: dict[tuple[str | None, What], Amount]
    first_ms: int | None
    last_ms: int | None
    is_closed: bool

    @property
    def size(self) -> int:
        """The size of the file, in bytes."""
        return self.part.end - self.part.start


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTally:
    """An offsets partition: its segments, what its groups' clients are called, how many keys they commit.

    `clients` are those in the largest membership record of each segment. `run_ms` is the time from the first
    to the last record of the run, None for less than ten seconds. `open_from` is where a transaction begins
    that keeps the log cleaner out of a closed segment.
    """

    offsets_partition: int
    segments: tuple[SegmentTally, ...]
    clients: dict[str, frozenset[str]]
    run_keys: dict[str, int]
    run_ms: int | None
    open_from: int | None
    damage: tuple[Damage, ...] = ()


class GroupsOfKeys:
    """The group of each key, and whether the key is a commit's."""

    def __init__(self) -> None:
        self._numbers: dict[str | None, int] = {None: 0}
        self._names: list[str | None] = [None]
        self._codes: list[int] = []

    def extend(self, keys: Keys) -> None:
        """Take in the keys that are new."""
        for key_id in range(len(self._codes), key_count(keys)):
            tag = int(keys.strings[key_id, TAG])
            group, what = (None, 2) if tag in (GROUP_TAG, TOPIC_TAG) else _group_and_kind(keys, key_id)
            number = self._numbers.setdefault(group, len(self._names))
            if number == len(self._names):
                self._names.append(group)
            self._codes.append(number * 3 + what)

    def sums(
        self, what: What | None, *, records: Table, sizes: Table
    ) -> Iterator[tuple[tuple[str | None, What], Amount]]:
        """Records and bytes of all keys, put together by group and kind; `what` if it is one for all."""
        codes = np.array(self._codes, np.int64)
        chosen = (records != 0) | (sizes != 0)
        # Exact: sums stay far below 2^53.
        counts = np.bincount(codes[chosen], records[chosen])
        weights = np.bincount(codes[chosen], sizes[chosen])
        for code in np.flatnonzero((counts != 0) | (weights != 0)).tolist():
            kind = what or (What.COMMIT, What.GROUP, What.OTHER)[code % 3]
            yield (
                (self._names[code // 3], kind),
                Amount(records=int(counts[code]), bytes=int(weights[code])),
            )


def _group_and_kind(keys: Keys, key_id: int) -> tuple[str | None, int]:
    entry = decode_entry(key_bytes(keys, key_id), None)
    if not isinstance(entry, OffsetsEntry):
        return None, 2
    return group_of(entry.key), 0 if isinstance(entry.key, OffsetCommitKey) else 1
