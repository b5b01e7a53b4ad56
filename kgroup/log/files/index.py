"""The index files next to a segment: `.index` and `.timeindex`.

They are hints: the log itself is the truth, and Kafka rebuilds an index that does not fit. So nothing
here raises on damage; `problem()` says what is wrong, and lookups of a damaged index must be checked
against the segment. Formats: Kafka's OffsetIndex and TimeIndex.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

from kgroup.errors import SourceError

_OFFSET_ENTRY: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")
_ABORTED_ENTRY: Final = struct.Struct(">hqqqq")
_ABORTED_VERSION: Final = 0

# Kafka allocates 10 MiB (segment.index.bytes). What lies behind this is only found more slowly.
_BYTES_MAX: Final = 48 * 1024 * 1024


class OffsetEntry(NamedTuple):
    """The batch that begins at byte `position` of the segment ends with `offset`."""

    offset: int
    position: int


class TimeEntry(NamedTuple):
    """No record up to `offset` has a timestamp above `timestamp_ms`."""

    timestamp_ms: int
    offset: int


class OffsetIndex:
    """A `.index`: sparse, one entry for every `index.interval.bytes` (4 KiB) of log or more."""

    def __init__(self, raw: bytes, base_offset: int) -> None:
        """`base_offset` is the segment's, from its file name; entries are stored against it."""
        self._raw = _without_padding(raw, _OFFSET_ENTRY.size)
        self._odd_bytes = len(raw) % _OFFSET_ENTRY.size
        self.base_offset = base_offset

    def __len__(self) -> int:
        return len(self._raw) // _OFFSET_ENTRY.size

    def __getitem__(self, number: int) -> OffsetEntry:
        if not 0 <= number < len(self):
            raise IndexError(number)
        relative, position = _OFFSET_ENTRY.unpack_from(self._raw, number * _OFFSET_ENTRY.size)
        return OffsetEntry(self.base_offset + relative, position)

    def __iter__(self) -> Iterator[OffsetEntry]:
        for relative, position in _OFFSET_ENTRY.iter_unpack(self._raw):
            yield OffsetEntry(self.base_offset + relative, position)

    def position_before(self, offset: int) -> int:
        """A byte position in the segment where a batch begins, at or before the batch with `offset`."""
        not_after = bisect_right(self, offset, key=lambda entry: entry.offset)
        return self[not_after - 1].position if not_after else 0

    def problem(self, segment_size: int) -> str | None:
        """The reason why this index of a segment of `segment_size` bytes cannot be right, None if it can."""
        if self._odd_bytes:
            return f"{self._odd_bytes} bytes after the last whole entry"
        before = OffsetEntry(self.base_offset - 1, 0)
        for number, entry in enumerate(self):
            if entry.offset <= before.offset or entry.position <= before.position:
                return f"entry {number} ({entry.offset} at {entry.position}) is not after the one before it"
            if entry.position >= segment_size:
                return f"entry {number} points to byte {entry.position} of {segment_size}"
            before = entry
        return None


class TimeIndex:
    """A `.timeindex`: the largest timestamp so far, and the offset of the record that has it."""

    def __init__(self, raw: bytes, base_offset: int) -> None:
        """`base_offset` is the segment's, from its file name; entries are stored against it."""
        self._raw = _without_padding(raw, _TIME_ENTRY.size)
        self._odd_bytes = len(raw) % _TIME_ENTRY.size
        self.base_offset = base_offset

    def __len__(self) -> int:
        return len(self._raw) // _TIME_ENTRY.size

    def __getitem__(self, number: int) -> TimeEntry:
        if not 0 <= number < len(self):
            raise IndexError(number)
        timestamp_ms, relative = _TIME_ENTRY.unpack_from(self._raw, number * _TIME_ENTRY.size)
        return TimeEntry(timestamp_ms, self.base_offset + relative)

    def __iter__(self) -> Iterator[TimeEntry]:
        for timestamp_ms, relative in _TIME_ENTRY.iter_unpack(self._raw):
            yield TimeEntry(timestamp_ms, self.base_offset + relative)

    def offset_before(self, timestamp_ms: int) -> int:
        """An offset at or before the first record that is not older than `timestamp_ms`."""
        older = bisect_right(self, timestamp_ms - 1, key=lambda entry: entry.timestamp_ms)
        return self[older - 1].offset if older else self.base_offset

    def problem(self) -> str | None:
        """The reason why this index cannot be right, None if it can."""
        if self._odd_bytes:
            return f"{self._odd_bytes} bytes after the last whole entry"
        before: TimeEntry | None = None
        for number, entry in enumerate(self):
            if entry.offset < self.base_offset or (
                before and (entry < before or entry.offset < before.offset)
            ):
                return (
                    f"entry {number} ({entry.timestamp_ms} ms at {entry.offset}) is before the one before it"
                )
            before = entry
        return None


def read_offset_index(path: Path, base_offset: int) -> OffsetIndex:
    """Raises SourceError if the file cannot be read."""
    return OffsetIndex(_read(path), base_offset)


def read_time_index(path: Path, base_offset: int) -> TimeIndex:
    """Raises SourceError if the file cannot be read."""
    return TimeIndex(_read(path), base_offset)


def encode_offset_index(entries: Iterable[OffsetEntry], base_offset: int) -> bytes:
    """The bytes of a `.index`; offsets must lie within 2^31 of `base_offset`."""
    return b"".join(_OFFSET_ENTRY.pack(entry.offset - base_offset, entry.position) for entry in entries)


def encode_time_index(entries: Iterable[TimeEntry], base_offset: int) -> bytes:
    """The bytes of a `.timeindex`; offsets must lie within 2^31 of `base_offset`."""
    return b"".join(_TIME_ENTRY.pack(entry.timestamp_ms, entry.offset - base_offset) for entry in entries)


def encode_aborted_index(aborted: Sequence[tuple[int, int, int]]) -> bytes:
    """The bytes of a `.txnindex`: producer id, first and last offset of each aborted transaction, in order.

    A reader stops at an entry whose last stable offset is behind what it reads. The transaction that is
    open the longest decides on that; here it is the lowest offset that this or a later entry begins with.
    """
    stable_offsets = reversed(list(accumulate((first for _, first, _ in reversed(aborted)), min)))
    return b"".join(
        _ABORTED_ENTRY.pack(_ABORTED_VERSION, producer_id, first, last, stable)
        for (producer_id, first, last), stable in zip(aborted, stable_offsets, strict=True)
    )


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_BYTES_MAX)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error


def _without_padding(raw: bytes, entry_size: int) -> bytes:
    """The entries in use: an active segment's index is preallocated, zeros follow the last entry."""
    used = len(raw.rstrip(b"\0"))
    # The last bytes of an entry may be zero themselves, so round up; a timestamp -1 or 0 is not the last.
    whole = -(-used // entry_size) * entry_size
    return raw[: min(whole, len(raw) - len(raw) % entry_size)]
