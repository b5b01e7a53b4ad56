"""Buffers for data a segment lacks in the kernel's form: unpacked batches, listed records."""

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from kgroup.errors import DecodeError
from kgroup.log.files.entries import decode_marker
from kgroup.log.format.batch import Batch
from kgroup.log.format.compression import Codec, decompress_small
from kgroup.log.format.record import LogRecord
from kgroup.protocol.records.entries import TransactionMarker, Undecodable
from kgroup.scan.kernels.batches import BUFFER_SLACK, HEADER_SIZE, OVERHEAD
from kgroup.scan.kernels.bytes_at import Bytes
from kgroup.scan.kernels.rows import (
    ABORTED,
    COMMITTED,
    DROPPED,
    KEY_ID,
    KIND,
    LEADER_EPOCH,
    OFFSET,
    PRODUCER_ID,
    Rows,
)

_ATTRIBUTES = slice(21, 23)
_CODEC = 0x07
_KEEP_CHUNKS = 4


class Unpacked:
    """v2 batches one after another, as they would lie in the segment if they were not compressed.

    `filled` bytes of `buffer` are in use. The CRCs in the headers are those of the compressed batches.
    """

    def __init__(self, chunk_bytes: int) -> None:
        self.filled = 0
        self.buffer: Bytes = np.empty(BUFFER_SLACK, np.uint8)
        self._chunk_bytes = chunk_bytes
        self._starts: list[int] = []
        self._sources: list[int] = []
        self._end_of_sources = 0

    def clear(self) -> None:
        """Forget all batches."""
        self.filled = 0
        self._starts.clear()
        self._sources.clear()

    def append(self, window: Bytes, position: int) -> None:
        """Add the whole batch at `position` of `window`.

        Raises DecodeError if it cannot be unpacked, or is so large that it is only to be read bit by bit.
        """
        header = window[position : position + HEADER_SIZE].tobytes()
        end = position + OVERHEAD + int.from_bytes(header[8:12], "big")
        payload = window[position + HEADER_SIZE : end]
        attributes = int.from_bytes(header[_ATTRIBUTES], "big")
        if attributes & _CODEC and len(payload):
            unpacked = decompress_small(Codec(attributes & _CODEC), payload.tobytes())
            if unpacked is None:
                raise DecodeError("batch payload", at=0, why="large")
            payload = np.frombuffer(unpacked, np.uint8)
        start, size = self.filled, HEADER_SIZE + len(payload)
        self._make_room(size)
        self.buffer[start : start + HEADER_SIZE] = np.frombuffer(header, np.uint8)
        plain = (size - OVERHEAD).to_bytes(4, "big")
        self.buffer[start + 8 : start + 12] = np.frombuffer(plain, np.uint8)
        self.buffer[start + _ATTRIBUTES.stop - 1] = attributes & 0xFF & ~_CODEC
        self.buffer[start + HEADER_SIZE : start + size] = payload
        self.filled += size
        self._starts.append(start)
        self._sources.append(position)
        self._end_of_sources = end

    def source_of(self, at: int, otherwise: int) -> int:
        """The window's position of the batch at `at`, or of the next one; `otherwise` if there is none."""
        if not self._starts:
            return otherwise
        index = bisect_left(self._starts, at)
        return self._sources[index] if index < len(self._sources) else self._end_of_sources

    def sources(self, start: int, batches: int) -> NDArray[np.int64]:
        """The window's positions of this many batches, the first of which is at `start` here."""
        index = bisect_left(self._starts, start)
        return np.array(self._sources[index : index + batches], np.int64)

    def _make_room(self, size: int) -> None:
        """Make room for this much more, in a buffer that is not much larger than needed."""
        needed = self.filled + size + BUFFER_SLACK
        kept = _KEEP_CHUNKS * self._chunk_bytes
        # One large batch after the other goes into the same memory, which a small one gives up.
        if needed <= len(self.buffer) and (needed > kept or self.filled or len(self.buffer) <= kept):
            return
        usual = min(max(needed, 2 * len(self.buffer), self._chunk_bytes + BUFFER_SLACK), kept)
        larger = np.empty(max(needed, usual), np.uint8)
        larger[: self.filled] = self.buffer[: self.filled]
        self.buffer = larger


class Listed:
    """Records that the plain path took out of their batches, in log order, with what their batch says."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._table: list[tuple[int, ...]] = []
        self._control: list[tuple[int, TransactionMarker | Undecodable]] = []

    def __len__(self) -> int:
        return len(self._table)

    def is_full(self, rows: int) -> bool:
        """Whether to make rows of them before there are more."""
        return len(self._table) >= rows or len(self._text) >= 1 << 20

    def append(self, batch: Batch, record: LogRecord) -> None:
        """Add one record."""
        if batch.control:
            self._control.append((len(self._table), decode_marker(batch, record)))
        key_position = len(self._text)
        self._text += record.key or b""
        value_position = len(self._text)
        self._text += record.value or b""
        self._table.append(
            (
                record.offset,
                record.timestamp_ms,
                max(batch.producer_id, -1) if batch.transactional else -1,
                batch.leader_epoch,
                key_position,
                -1 if record.key is None else len(record.key),
                value_position,
                -1 if record.value is None else len(record.value),
            )
        )

    def as_arrays(self) -> tuple[Bytes, NDArray[np.int64]]:
        """Their bytes, and a row of eight columns for each.

        Log offset, timestamp, producer id, leader epoch, then position and size (-1: null) of key and value.
        """
        self._text += bytes(BUFFER_SLACK)
        return np.frombuffer(self._text, np.uint8), np.array(self._table, np.int64)

    def mark_control(self, rows: Rows) -> tuple[tuple[int, Undecodable], ...]:
        """Make markers of the rows of control records; return those that are of another kind, with their row.

        To be called when the rows have been made of the records, in the same order.
        """
        others = []
        for row, entry in self._control:
            if isinstance(entry, Undecodable):
                rows[KIND, row] = DROPPED
                others.append((row, entry))
                continue
            rows[KIND, row] = COMMITTED if entry.committed else ABORTED
            rows[KEY_ID, row] = -1
            rows[PRODUCER_ID, row] = entry.producer_id
            rows[OFFSET, row] = entry.coordinator_epoch
            rows[LEADER_EPOCH, row] = entry.producer_epoch
        return tuple(others)

    def clear(self) -> None:
        """Forget all records."""
        self._text = bytearray()  # the arrays keep the other one
        self._table.clear()
        self._control.clear()
