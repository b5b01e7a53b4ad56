"""Outcomes of the transactions in a log (KIP-98), for readers that show records before their marker."""

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from kgroup.log.files.entries import decode_marker
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.files.segment import read_among_others, read_records, read_stream
from kgroup.log.files.sources import STDIN
from kgroup.log.files.spool import SpooledStream
from kgroup.log.format.batch import Batch, Damage
from kgroup.protocol.records.entries import TransactionMarker, TransactionOutcome


class TransactionOutcomes:
    """Looks ahead for the markers of a partition's transactions, when one of them is first asked for.

    A log without transactions is thus read once only, and one with them twice. Each marker takes nine
    bytes. `stdin` is needed if one of the segments is standard input.
    """

    def __init__(self, segments: Iterable[SegmentFile], stdin: SpooledStream | None = None) -> None:
        self._stdin = stdin
        self._segments: defaultdict[Path, list[SegmentFile]] = defaultdict(list)
        for segment in segments:
            self._segments[segment.folder].append(segment)
        self._markers: dict[Path, dict[int, _ProducerMarkers]] = {}

    def of(self, segment: SegmentFile, batch: Batch, offset: int) -> TransactionOutcome | None:
        """The outcome for the record at `offset` in `batch` of `segment`; None if it is in no transaction."""
        if not batch.transactional or batch.control:
            return None
        return self.of_producer(segment, batch.producer_id, offset)

    def of_producer(self, segment: SegmentFile, producer_id: int, offset: int) -> TransactionOutcome:
        """The outcome for a record of a producer's transaction at `offset` of `segment`."""
        producer = self._of_folder(segment).get(producer_id)
        return TransactionOutcome.PENDING if producer is None else producer.first_behind(offset)

    def of_all(
        self, segment: SegmentFile, producer_id: int, lowest: int, highest: int
    ) -> TransactionOutcome | None:
        """The same for all offsets from `lowest` to `highest`; None if a marker lies among them."""
        producer = self._of_folder(segment).get(producer_id)
        if producer is None:
            return TransactionOutcome.PENDING
        return producer.first_behind(lowest) if producer.has_none_between(lowest, highest) else None

    def _of_folder(self, segment: SegmentFile) -> "dict[int, _ProducerMarkers]":
        markers = self._markers.get(segment.folder)
        if markers is None:
            markers = self._markers[segment.folder] = self._read_markers(segment.folder)
        return markers

    def _read_markers(self, folder: Path) -> "dict[int, _ProducerMarkers]":
        markers: defaultdict[int, _ProducerMarkers] = defaultdict(_ProducerMarkers)
        for segment in self._segments[folder]:
            control = (item for item in self._batches(segment) if isinstance(item, Batch) and item.control)
            for item in read_records(control, segment.path):
                if isinstance(item, Damage):
                    continue  # reading the records reports it
                batch, records = item
                for record in records:
                    marker = decode_marker(batch, record)
                    if isinstance(marker, TransactionMarker):
                        markers[marker.producer_id].add(record.offset, committed=marker.committed)
        return dict(markers)

    def _batches(self, segment: SegmentFile) -> Iterator[Batch | Damage]:
        if segment.path != STDIN:
            return read_among_others(segment.path)
        assert self._stdin is not None, "standard input can be read ahead only through a SpooledStream"
        return read_stream(self._stdin.open(), segment.path)


class _ProducerMarkers:
    """The markers of one producer in log order."""

    def __init__(self) -> None:
        self._offsets = array("q")
        self._committed = bytearray()

    def add(self, offset: int, *, committed: bool) -> None:
        self._offsets.append(offset)
        self._committed.append(committed)

    def first_behind(self, offset: int) -> TransactionOutcome:
        index = bisect_right(self._offsets, offset)
        if index == len(self._offsets):
            return TransactionOutcome.PENDING
        return TransactionOutcome.COMMITTED if self._committed[index] else TransactionOutcome.ABORTED

    def has_none_between(self, lowest: int, highest: int) -> bool:
        return bisect_right(self._offsets, lowest) == bisect_right(self._offsets, highest)
