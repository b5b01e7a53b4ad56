"""Append-only logs, one per partition: in memory here, on disk in `segment_log`."""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from typing import NamedTuple, Protocol

from kgroup.log.format.batch_header import BatchHeader, placed, read_header
from kgroup.log.store.stretch import Stretch, in_memory


class TimedOffset(NamedTuple):
    """The first batch whose newest record is at or after a time."""

    base_offset: int
    batch: bytes


class RecordLog(Protocol):
    """The batches of one partition, in offset order, from `start_offset` up to `end_offset` (exclusive).

    `append` has written when it returns: on disk to the file, which survives the death of the process;
    `sync` brings it to the disk itself, which survives the death of the machine.
    Raises SourceError when the disk refuses.
    """

    start_offset: int
    end_offset: int

    def append(self, batch: bytes, leader_epoch: int) -> BatchHeader:
        """Add a batch at the end; returns its header with the offset that it got."""

    def read(self, offset: int, max_bytes: int, end_offset: int) -> bytes:
        """Whole batches from the one that holds `offset`, below `end_offset`.

        At least one, if there is any, however big; then as many as fit in `max_bytes`.
        """

    def stretch(
        self, offset: int, max_bytes: int, end_offset: int, batches_max: int = sys.maxsize
    ) -> Stretch:
        """The same to be read bit by bit, of at most this many batches: each costs a look at its header."""

    def batches(self, offset: int) -> Iterator[bytes]:
        """Every batch from the one that holds `offset`."""

    def first_at_or_after(self, timestamp_ms: int) -> TimedOffset | None:
        """The first batch with a record at or after `timestamp_ms`."""

    def delete_before(self, offset: int) -> None:
        """Move `start_offset` up; the records before it are gone."""

    def sync(self) -> None:
        """Make what was appended survive a loss of power."""

    def revert(self) -> None:
        """Take back what was appended since the last `sync`, or since the log was opened."""

    def note_aborted(self, aborted: Sequence[tuple[int, int, int]]) -> None:
        """Write down producer id, first and last offset of all aborted transactions, for Kafka's reader."""

    def close(self) -> None:
        """Let go of files."""

    def delete(self) -> None:
        """Remove the log and its files."""


class MemoryLog:
    """A log that is gone with the process."""

    def __init__(self) -> None:
        self.start_offset = 0
        self.end_offset = 0
        self._last_offsets: list[int] = []
        self._max_timestamps: list[int] = []  # of this batch and all before it
        self._batches: list[bytes] = []

    def append(self, batch: bytes, leader_epoch: int) -> BatchHeader:
        """Add a batch at the end; returns its header with the offset that it got."""
        stored = placed(batch, self.end_offset, leader_epoch)
        header = read_header(stored)
        newest = self._max_timestamps[-1] if self._max_timestamps else -1
        self._batches.append(stored)
        self._last_offsets.append(header.last_offset)
        self._max_timestamps.append(max(newest, header.max_timestamp_ms))
        self.end_offset = header.last_offset + 1
        return header

    def read(self, offset: int, max_bytes: int, end_offset: int) -> bytes:
        """Whole batches from the one that holds `offset`, below `end_offset`; at least one."""
        return self.stretch(offset, max_bytes, end_offset).whole()

    def stretch(
        self, offset: int, max_bytes: int, end_offset: int, batches_max: int = sys.maxsize
    ) -> Stretch:
        """The same to be read bit by bit."""
        first = bisect_left(self._last_offsets, offset)
        last = bisect_right(self._last_offsets, end_offset - 1)
        chosen: list[bytes] = []
        size = 0
        for batch in islice(self._batches, first, max(first, last)):
            if chosen and (size + len(batch) > max_bytes or len(chosen) == batches_max):
                break
            chosen.append(batch)
            size += len(batch)
        return in_memory(chosen)

    def batches(self, offset: int) -> Iterator[bytes]:
        """Every batch from the one that holds `offset`."""
        number = bisect_left(self._last_offsets, offset)
        while number < len(self._batches):  # those too that are appended meanwhile
            yield self._batches[number]
            number += 1

    def first_at_or_after(self, timestamp_ms: int) -> TimedOffset | None:
        """The first batch with a record at or after `timestamp_ms`."""
        number = bisect_left(self._max_timestamps, timestamp_ms)
        if number == len(self._batches):
            return None
        batch = self._batches[number]
        return TimedOffset(read_header(batch).base_offset, batch)

    def delete_before(self, offset: int) -> None:
        """Move `start_offset` up; batches that end before it are gone."""
        self.start_offset = max(self.start_offset, offset)
        gone = bisect_left(self._last_offsets, self.start_offset)
        del self._last_offsets[:gone], self._max_timestamps[:gone], self._batches[:gone]

    @property
    def batch_count(self) -> int:
        """The number of batches it holds."""
        return len(self._batches)

    def replace(self, batches: list[bytes]) -> None:
        """These are what is left of all batches, as cleaning leaves them: in order, with their offsets."""
        headers = [read_header(batch) for batch in batches]
        self._batches = batches
        self._last_offsets = [header.last_offset for header in headers]
        self._max_timestamps = list(accumulate((header.max_timestamp_ms for header in headers), max))

    def cut(self, end_offset: int) -> None:
        """Drop every batch that is not whole below `end_offset`, which is the end then."""
        kept = bisect_left(self._last_offsets, end_offset)
        del self._last_offsets[kept:], self._max_timestamps[kept:], self._batches[kept:]
        self.end_offset = end_offset

    def sync(self) -> None:
        """Nothing to do: memory survives nothing."""

    def revert(self) -> None:
        """Nothing to do: `sync` has never failed."""

    def note_aborted(self, aborted: Sequence[tuple[int, int, int]]) -> None:
        """Nothing to do: the batches say it, too."""

    def close(self) -> None:
        """Nothing to let go of."""

    def delete(self) -> None:
        """Forget everything."""
        self._last_offsets, self._max_timestamps, self._batches = [], [], []
