"""Contents of a group's unread offsets: a lag of 12 may be no record at all.

Everything from the committed offset to the log's end is read, so this takes time in proportion to the lag.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from kgroup.errors import SourceError
from kgroup.log.files.log_dir import PartitionFolder
from kgroup.log.format.batch import Damage
from kgroup.log.topics.short_log import ShortLog
from kgroup.log.topics.unread import PlacedBatch, batches_from, ends_in_commit, records_of


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadParts:
    """Offsets from the committed one on, or from the log's start if that is later, to the log's end.

    `records` are those that a reader gets whatever its `isolation.level`, `aborted` and `undecided` those of
    transactions that were aborted and that are still open, `markers` the ends of transactions. `gaps` are
    offsets without a record, as compaction leaves them. `last_stable_offset` is the first one of an open
    transaction, beyond which readers of committed data cannot go, or the log's end.
    """

    records: int = 0
    aborted: int = 0
    undecided: int = 0
    markers: int = 0
    gaps: int = 0
    last_stable_offset: int


def unread_parts(
    folder: PartitionFolder | ShortLog, offset: int, end: int | None = None
) -> UnreadParts | None:
    """Sort by kind what a group with this committed offset has not read; None if there is no log here.

    `end` is where the log ends if that is not where the folder's segments do, as of a copy. Transactions that
    began before the offset and are open count only by what they wrote after it. Raises SourceError, with the
    place, if a file cannot be read or is damaged there.
    """
    start, end = folder.log_start_offset(), folder.log_end_offset() if end is None else end
    if start is None or end is None:
        return None
    offset = max(offset, start)
    records = aborted = markers = 0
    open_: dict[int, tuple[int, int]] = {}  # producer -> its first offset here, and how many records
    for placed, first, count in _counted(folder, offset):
        batch = placed.batch
        if batch.control:
            markers += count
            number = open_.pop(batch.producer_id, (0, 0))[1]
            if ends_in_commit(placed):
                records += number
            else:
                aborted += number
        elif batch.transactional:
            began, number = open_.get(batch.producer_id, (first, 0))
            open_[batch.producer_id] = began, number + count
        else:
            records += count
    undecided = sum(number for _, number in open_.values())
    return UnreadParts(
        records=records,
        aborted=aborted,
        undecided=undecided,
        markers=markers,
        gaps=max(end - offset, 0) - records - aborted - undecided - markers,
        last_stable_offset=min((began for began, _ in open_.values()), default=max(end, offset)),
    )


def _counted(folder: PartitionFolder | ShortLog, offset: int) -> Iterator[tuple[PlacedBatch, int, int]]:
    """Batches from the offset on, the first offset that counts of each, and how many records do."""
    for placed in batches_from(folder, offset):
        if isinstance(placed, Damage):
            raise SourceError(f"{placed.segment}: byte {placed.position}: {placed.why}")
        batch = placed.batch
        if batch.last_offset < offset:
            continue
        if batch.count is not None and batch.base_offset >= offset:
            if batch.count:
                yield placed, batch.base_offset, batch.count
            continue
        offsets = [record.offset for record in records_of(placed) if record.offset >= offset]
        if offsets:
            yield placed, offsets[0], len(offsets)
