"""Batches of an offsets topic as a leader sends them."""

from kgroup.log.format.batch import LogRecord, encode_batch


def commit(offset: int, key: bytes = b"k", value: bytes | None = b"v", *, at_ms: int = 1000) -> bytes:
    return encode_batch([LogRecord(offset, at_ms, key, value)], base_offset=offset, leader_epoch=3)


def cleaned(first: int, last: int, left: list[int]) -> bytes:
    """A batch of these offsets of which the cleaner has left some records."""
    records = [LogRecord(offset, 1000, b"k%d" % offset, b"v") for offset in left]
    return encode_batch(records, base_offset=first, last_offset=last, leader_epoch=3, base_timestamp_ms=1000)
