"""Turns segments into blocks of fully described records, for display."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgroup.log.format.batch import Batch, Damage, decode_batch
from kgroup.scan.kernels.bytes_at import Bytes
from kgroup.scan.kernels.keys import Keys, grown, new_keys
from kgroup.scan.kernels.records import CELLS, HEADS, Head, Table, list_records, number_topic_ids
from kgroup.scan.reading.drive import CHUNK_BYTES, ROWS, SegmentReader, Slice, Taken

_NO_SOURCES: NDArray[np.int64] = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """Records and empty batches in log order. Good until the next block is asked for.

    `cells[Cell.…, item]`, of which `count` are in use, and `heads[Head.…, batch]` are numbers, and places in
    `buffer`.
    """

    cells: Table
    count: int
    heads: Table
    buffer: Bytes
    headers: Bytes

    def batch(self, number: int) -> Batch:
        """A batch as the plain path has it."""
        at, size = int(self.heads[Head.AT, number]), int(self.heads[Head.SIZE, number])
        raw = self.headers[at : at + size].tobytes()
        return decode_batch(raw, int(self.heads[Head.POSITION, number]))


class RecordReader(SegmentReader[RecordBlock | Batch]):
    """Reads slices of one offsets partition, in log order, into blocks; what the kernel cannot take comes
    as the batches of the plain path. `topic_ids` has the ids that `Cell.TOPIC_ID` counts.
    """

    def __init__(self, *, chunk_bytes: int = CHUNK_BYTES, rows: int = ROWS) -> None:
        super().__init__(chunk_bytes=chunk_bytes, rows=rows)
        self.topic_ids: Keys = new_keys(1024)

    def _taken(self, count: int, taken: Taken) -> Iterator[RecordBlock]:
        window = taken.window
        cells = np.empty((CELLS, count + taken.batches), np.int64)
        heads = np.empty((HEADS, taken.batches), np.int64)
        sources = taken.unpacked.sources(taken.start, taken.batches) if taken.unpacked else _NO_SOURCES
        items, _ = list_records(
            taken.buffer, taken.start, taken.end, window.buffer, sources, self._rows, cells, heads
        )
        item = number_topic_ids(self.topic_ids, taken.buffer, cells, 0, items)
        while item < items:
            self.topic_ids = grown(self.topic_ids)
            item = number_topic_ids(self.topic_ids, taken.buffer, cells, item, items)
        heads[Head.POSITION] = heads[Head.AT] + window.origin
        yield RecordBlock(cells, items, heads, taken.buffer, window.buffer)

    def _plain(self, part: Slice, batch: Batch) -> Iterator[RecordBlock | Batch | Damage]:
        self.batches += 1
        yield batch

    def _plain_ends(self) -> Iterator[RecordBlock]:
        return iter(())
