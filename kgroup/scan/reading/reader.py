"""Turns segments into blocks of rows, which the reductions take."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

from kgroup.log.files.segment import read_records
from kgroup.log.format.batch import Batch, Damage
from kgroup.protocol.records.entries import OffsetsEntry, Undecodable
from kgroup.scan.kernels.batches import read_listed
from kgroup.scan.kernels.bytes_at import Bytes
from kgroup.scan.kernels.keys import grown
from kgroup.scan.kernels.rows import KIND, ODD, Rows
from kgroup.scan.reading.drive import CHUNK_BYTES, ROWS, SegmentReader, Slice, Taken
from kgroup.scan.reading.odd import judge_odd
from kgroup.scan.reading.unpack import Listed

__all__ = ["CHUNK_BYTES", "ROWS", "Others", "RowBlock", "RowReader", "Slice"]

Others = tuple[tuple[int, OffsetsEntry | Undecodable], ...]


@dataclass(frozen=True, slots=True)
class RowBlock:
    """The first `count` rows of `rows`, pointing into `buffer`. Good until the next block is asked for.

    No row is odd any more; `others` has the odd ones that turned out to be no commit (`DROPPED`).
    """

    rows: Rows
    count: int
    buffer: Bytes
    others: Others = ()


class RowReader(SegmentReader[RowBlock]):
    """Reads slices of one offsets partition, in log order, into blocks of rows with the key ids of `keys`."""

    def __init__(self, *, check_crc: bool = True, chunk_bytes: int = CHUNK_BYTES, rows: int = ROWS) -> None:
        super().__init__(check_crc=check_crc, chunk_bytes=chunk_bytes, rows=rows)
        self._listed = Listed()

    def _taken(self, count: int, taken: Taken) -> Iterator[RowBlock]:
        if count:
            yield self._block(count, taken.buffer)

    def _plain(self, part: Slice, batch: Batch) -> Iterator[RowBlock | Damage]:
        listed = self._listed
        for item in read_records(iter([batch]), str(part.path)):
            if isinstance(item, Damage):
                yield from self._plain_ends()
                yield item
                continue
            self.batches += 1
            for record in item[1]:
                listed.append(batch, record)
                if listed.is_full(self._rows.shape[1]):
                    yield from self._plain_ends()

    def _plain_ends(self) -> Iterator[RowBlock]:
        listed = self._listed
        if not len(listed):
            return
        buffer, table = listed.as_arrays()
        index = row = 0
        while index < len(table):
            index, row = read_listed(buffer, table, index, self._rows, row, self.keys)
            if index < len(table):
                self.keys = grown(self.keys)
        others = listed.mark_control(self._rows)
        yield self._block(row, buffer, others)
        listed.clear()

    def _block(self, count: int, buffer: Bytes, others: Others = ()) -> RowBlock:
        if not (self._rows[KIND, :count] == ODD).any():
            return RowBlock(self._rows, count, buffer, others)
        judged = judge_odd(self._rows, count, buffer, self.keys)
        self.keys = judged.keys
        return RowBlock(
            self._rows, count, judged.buffer, tuple(sorted(others + judged.others, key=itemgetter(0)))
        )
