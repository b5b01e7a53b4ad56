"""Placeholder records of an unknown producer: only their number and time matter."""

from collections.abc import Iterator
from typing import Final

from kgroup.log.format.batch import LogRecord, encode_batch

_IN_BATCH: Final = 5_000


def plain_batches(records: int, now_ms: int, value: bytes) -> Iterator[bytes]:
    """This many records of one value, in batches that any client can fetch."""
    while records > 0:
        size = min(records, _IN_BATCH)
        yield encode_batch(
            [LogRecord(offset=number, timestamp_ms=now_ms, key=None, value=value) for number in range(size)]
        )
        records -= size
