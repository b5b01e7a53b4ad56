"""What a consumer makes of the batches that a fetch brought."""

from collections.abc import Iterable, Sequence

from kgroup.log.format.batch import Batch, LogRecord
from kgroup.protocol.requests.client import FetchedRecord

AbortedStart = tuple[int, int]
"""A producer id, and the first offset of a transaction of it that was aborted."""


def read_batches(
    batches: Iterable[tuple[Batch, Sequence[LogRecord]]], aborted: Iterable[AbortedStart]
) -> tuple[tuple[FetchedRecord, ...], int | None]:
    """Records for the user, and the offset behind the last batch; None: there was no batch.

    Markers are not for users. `aborted` is what the answer names (with read_committed, KIP-98): a producer's
    transactional batches from such an offset on, up to its next marker, are not either.
    """
    begun = sorted(aborted, key=lambda each: each[1], reverse=True)
    aborting: set[int] = set()
    records: list[FetchedRecord] = []
    next_offset: int | None = None
    for batch, decoded in batches:
        next_offset = batch.last_offset + 1
        while begun and begun[-1][1] <= batch.last_offset:
            aborting.add(begun.pop()[0])
        if batch.control:
            aborting.discard(batch.producer_id)
        elif not (batch.transactional and batch.producer_id in aborting):
            records.extend(
                FetchedRecord(
                    offset=each.offset, timestamp_ms=each.timestamp_ms, key=each.key, value=each.value
                )
                for each in decoded
            )
    return tuple(records), next_offset
