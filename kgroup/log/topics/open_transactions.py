"""The open transaction that stops readers of committed data.

Such a reader gets no further than the last stable offset, the first one of the earliest transaction that is
still open (KIP-98); whatever was written behind it waits with it, also what belongs to no transaction.
"""

from dataclasses import dataclass
from typing import Final

from kgroup.errors import SourceError
from kgroup.log.files.log_dir import PartitionFolder
from kgroup.log.format.batch import NO_TIMESTAMP, Damage
from kgroup.log.topics.short_log import ShortLog
from kgroup.log.topics.unread import PlacedBatch, batches_from, ends_in_commit, records_of
from kgroup.protocol.log_listing import OpenTransaction

_LOOK_BACK: Final = 1000  # offsets, in which a transaction shows that the group is in the midst of


@dataclass(frozen=True, slots=True)
class _Begun:
    """The start of a transaction, as far as was looked, its first unread offset, and its first batch."""

    offset: int
    unread_from: int | None
    placed: PlacedBatch


def blocking_transaction(folder: PartitionFolder | ShortLog, offset: int) -> OpenTransaction | None:
    """The open transaction that keeps a group at this committed offset from every record it has not read.

    None if the group could read something, if it is past the transaction's first offset, as only a reader of
    uncommitted data gets, or if there is no log here. Markers, aborted records and the gaps of compaction are
    nothing to read. The log is read from the offset on, up to the first record that a reader of committed
    data gets. Raises SourceError, with the place, if a file cannot be read or damage may hide the answer.
    """
    start = folder.log_start_offset()
    if start is None:
        return None
    offset = max(offset, start)
    open_: dict[int, _Begun] = {}
    readable: int | None = None
    for placed in batches_from(folder, max(offset - _LOOK_BACK, start)):
        if isinstance(placed, Damage):
            raise SourceError(f"{placed.segment}: byte {placed.position}: {placed.why}")
        batch = placed.batch
        unread_from = max(batch.base_offset, offset) if batch.last_offset >= offset else None
        if batch.control:
            ended = open_.pop(batch.producer_id, None)
            unread_from = ended.unread_from if ended is not None and ends_in_commit(placed) else None
        elif batch.transactional:
            begun = open_.get(batch.producer_id)
            if begun is None:
                open_[batch.producer_id] = _Begun(batch.base_offset, unread_from, placed)
            elif begun.unread_from is None:
                open_[batch.producer_id] = _Begun(begun.offset, unread_from, begun.placed)
            continue
        if unread_from is not None:
            readable = unread_from if readable is None else min(readable, unread_from)
        if readable is not None and not any(offset <= begun.offset < readable for begun in open_.values()):
            return None
    first = min(open_.values(), key=lambda begun: begun.offset, default=None)
    if first is None or first.offset < offset:
        return None
    return _described(first.placed)


def _described(placed: PlacedBatch) -> OpenTransaction:
    batch = placed.batch
    written_ms = records_of(placed)[0].timestamp_ms
    return OpenTransaction(
        first_offset=batch.base_offset,
        since_ms=None if written_ms == NO_TIMESTAMP else written_ms,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
    )
