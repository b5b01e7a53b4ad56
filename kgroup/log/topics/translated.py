"""Translates a position in one log to another with the same records at other offsets, such as a mirror.

Mirrors copy records in order and give them offsets of their own. Records are recognised by what they say:
time, key and value. Where both logs have a record equally often, the n-th here is the n-th there; where they
do not, as after a retry, a place lies between what is recognised around it.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple, Protocol

from kgroup.log.format.record import LogRecord


class Recognised(NamedTuple):
    """A data record by its offset and what it says, as a digest."""

    offset: int
    content: bytes


class _Unlike(Protocol):
    """A hash object."""

    def update(self, data: bytes, /) -> None: ...


def content_of(record: LogRecord, *, timed: bool = True) -> bytes:
    """A record's content, as 16 bytes. Without `timed` its time does not count: brokers may set their own."""
    digest = blake2b(digest_size=16)
    if timed:
        digest.update(record.timestamp_ms.to_bytes(8, "big", signed=True))
    for part in (record.key, record.value):
        _add(digest, part)
    return digest.digest()


def _add(digest: _Unlike, part: bytes | None) -> None:
    # The size comes first, so that no two pairs of key and value read alike.
    digest.update((-1 if part is None else len(part)).to_bytes(8, "big", signed=True))
    digest.update(part or b"")


@dataclass(frozen=True, slots=True)
class Place:
    """A place among the records of the other log: behind at least `low` and at most `high` of them.

    `missing` are the records behind the place that the other log does not have.
    """

    low: int
    high: int
    missing: int

    @property
    def is_exact(self) -> bool:
        """Whether it is known to the record."""
        return self.low == self.high


class Mirrored:
    """Two logs of one partition, by their data records in order of offsets."""

    def __init__(self, source: Sequence[Recognised], mirror: Sequence[Recognised]) -> None:
        self._source = source
        self._mirror = mirror
        self._offsets = [record.offset for record in source]
        self._mirror_offsets = [record.offset for record in mirror]
        self._here = {record.content for record in source}
        self._there = {record.content for record in mirror}
        self.anchors = _anchors(source, mirror)
        """Indexes of records that are the same in both, rising; None if their order differs."""

    def place(self, offset: int) -> Place | None:
        """The mirror position of a reader that has read everything below `offset` in the source.

        None if no record is recognised, or the order differs: then nothing is known.
        """
        if not self.anchors:
            return None
        index = bisect_left(self._offsets, offset)
        missing = sum(record.content not in self._there for record in self._source[index:])
        at = bisect_left(self.anchors, (index, -1))
        before = self.anchors[at - 1] if at else None
        after = self.anchors[at] if at < len(self.anchors) else None
        low = before[1] + 1 if before else 0
        high = after[1] if after else len(self._mirror)
        # What the source has deleted before the place, the mirror may have, and nobody has read it.
        is_deleted = before is None and bool(self._offsets) and offset < self._offsets[0]
        same = None if is_deleted else self._same(index, before, after)
        return Place(low, high, missing) if same is None else Place(same, same, missing)

    @property
    def keeps_offsets(self) -> bool:
        """Whether records have the offsets in the mirror that they have in the source."""
        return bool(self.anchors) and all(
            self._offsets[ours] == self._mirror_offsets[theirs] for ours, theirs in self.anchors or ()
        )

    def behind(self, offset: int) -> int:
        """The number of records of the mirror below `offset`."""
        return bisect_left(self._mirror_offsets, offset)

    def mirror_offset(self, index: int, end: int) -> int:
        """The offset of the mirror's record with that index, or its log end."""
        return self._mirror_offsets[index] if index < len(self._mirror_offsets) else end

    def _same(self, index: int, before: tuple[int, int] | None, after: tuple[int, int] | None) -> int | None:
        """The place, if what lies between the anchors is the same on both sides, as far as both have it."""
        here = slice(before[0] + 1 if before else 0, after[0] if after else len(self._source))
        there = slice(before[1] + 1 if before else 0, after[1] if after else len(self._mirror))
        source = [record.content for record in self._source[here]]
        mirror = [record.content for record in self._mirror[there]]
        count = min(len(source), len(mirror))
        done = index - here.start
        if before is None:
            # One of the two may begin later, so their ends are compared.
            ours, theirs = len(source) - count, len(mirror) - count
            is_same = source[ours:] == mirror[theirs:] and self._is_extra(source[:ours], mirror[:theirs])
            return there.stop - min(len(source) - done, count) if is_same else None
        if after is None:
            is_same = source[:count] == mirror[:count] and self._is_extra(source[count:], mirror[count:])
            return there.start + min(done, count) if is_same else None
        return there.start + done if source == mirror else None

    def _is_extra(self, source: Sequence[bytes], mirror: Sequence[bytes]) -> bool:
        """Whether what one side has and the other not is indeed unknown there, and no second copy."""
        return self._there.isdisjoint(source) and self._here.isdisjoint(mirror)


def _anchors(source: Iterable[Recognised], mirror: Iterable[Recognised]) -> list[tuple[int, int]] | None:
    ours, theirs = _indexes(source), _indexes(mirror)
    pairs = sorted(
        pair
        for content, indexes in ours.items()
        if len(indexes) == len(theirs.get(content, ()))
        for pair in zip(indexes, theirs[content], strict=True)
    )
    rises = all(first[1] < second[1] for first, second in pairwise(pairs))
    return pairs if rises else None


def _indexes(records: Iterable[Recognised]) -> dict[bytes, list[int]]:
    indexes: dict[bytes, list[int]] = defaultdict(list)
    for index, record in enumerate(records):
        indexes[record.content].append(index)
    return indexes
