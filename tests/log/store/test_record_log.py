"""A log in memory: what is read of it, also while it grows and is cut."""

from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.log.format.batch_header import read_header
from kgroup.log.store.record_log import MemoryLog

SIZE = len(encode_batch([LogRecord(offset=0, timestamp_ms=0, key=None, value=b"v")]))


def append(log: MemoryLog, *timestamps_ms: int) -> None:
    records = [
        LogRecord(offset=number, timestamp_ms=at_ms, key=None, value=b"v")
        for number, at_ms in enumerate(timestamps_ms)
    ]
    log.append(encode_batch(records), 0)


def log_of(*batches: int) -> MemoryLog:
    """A log of batches with as many records each."""
    log = MemoryLog()
    for count in batches:
        append(log, *range(count))
    return log


def read(log: MemoryLog, offset: int, end_offset: int, max_bytes: int = 1 << 20) -> list[int]:
    """The first offset of each batch that is read."""
    raw = log.read(offset, max_bytes, end_offset)
    offsets = []
    while raw:
        header = read_header(raw)
        offsets.append(header.base_offset)
        raw = raw[header.size :]
    return offsets


def test_whole_batches_are_read_from_the_one_with_the_offset_up_to_the_end() -> None:
    log = log_of(2, 3, 1)  # 0-1, 2-4, 5
    assert read(log, 0, 6) == [0, 2, 5]
    assert read(log, 1, 6) == [0, 2, 5]
    assert read(log, 2, 6) == [2, 5]
    assert read(log, 0, 5) == [0, 2]
    assert read(log, 0, 4) == [0]
    assert read(log, 0, 0) == read(log, 6, 6) == []


def test_the_first_batch_is_read_however_large_and_then_as_many_as_fit() -> None:
    log = log_of(1, 1, 1)
    assert read(log, 0, 3, max_bytes=1) == [0]
    assert read(log, 0, 3, max_bytes=2 * SIZE - 1) == [0]
    assert read(log, 0, 3, max_bytes=2 * SIZE) == [0, 1]


def test_who_goes_through_the_log_comes_across_what_is_appended_meanwhile() -> None:
    log = log_of(1, 1)
    batches = log.batches(0)
    next(batches)
    append(log, 1)
    assert len(list(batches)) == 2


def test_deleted_records_do_not_come_back() -> None:
    log = log_of(2, 3, 1)
    log.delete_before(3)
    assert (log.start_offset, read(log, 3, 6)) == (3, [2, 5])
    log.delete_before(1)
    assert (log.start_offset, log.end_offset) == (3, 6)
    log.delete_before(6)
    assert list(log.batches(0)) == []


def test_the_first_batch_at_or_after_a_time() -> None:
    log = MemoryLog()
    for timestamps_ms in ((10, 30), (20,), (40,)):
        append(log, *timestamps_ms)
    offsets = []
    for at_ms in (0, 30, 31, 40, 41):
        first = log.first_at_or_after(at_ms)
        offsets.append(None if first is None else first.base_offset)
    assert offsets == [0, 0, 3, 3, None]
