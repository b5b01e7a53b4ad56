"""A cleaned log says the same with fewer records, in Kafka's own terms."""

from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import LogRecord, decode_batch, encode_batch
from kgroup.log.store.cleaner import DELETE_RETENTION_MS, clean, clean_memory, is_dirty
from kgroup.log.store.record_log import MemoryLog
from kgroup.log.store.segment_log import SegmentLog

TOPIC_ID = UUID(int=7)
NOW_MS = 10 * DELETE_RETENTION_MS
PLAIN = -1

Write = tuple[int, str, int | None]  # producer (or PLAIN), key, value (None: delete)
End = tuple[int, bool]  # producer, committed


def new_log(folder: Path) -> SegmentLog:
    return SegmentLog(folder / "__consumer_offsets-0", TOPIC_ID, segment_bytes=400)


def write(
    log: SegmentLog | MemoryLog, producer: int, key: str, value: int | None, timestamp_ms: int = NOW_MS
) -> None:
    record = LogRecord(
        offset=0,
        timestamp_ms=timestamp_ms,
        key=key.encode(),
        value=None if value is None else str(value).encode(),
    )
    transactional = producer != PLAIN
    log.append(encode_batch([record], transactional=transactional, producer_id=producer, producer_epoch=0), 0)


def end(log: SegmentLog | MemoryLog, producer: int, committed: bool) -> None:
    record = LogRecord(
        offset=0, timestamp_ms=NOW_MS, key=b"\0\0\0\x01" if committed else b"\0\0\0\0", value=b"\0" * 6
    )
    batch = encode_batch([record], transactional=True, control=True, producer_id=producer, producer_epoch=0)
    log.append(batch, 0)


def state(log: SegmentLog | MemoryLog) -> tuple[dict[str, str], dict[int, dict[str, int]]]:
    """What a reader makes of it: the value that counts of each key, and what is still open."""
    counts: dict[str, tuple[int, bytes | None]] = {}
    pending: dict[int, dict[str, tuple[int, bytes | None]]] = {}
    for raw in log.batches(0):
        batch = decode_batch(raw)
        for record in batch.records():
            key = (record.key or b"").decode()
            if batch.control:
                settled = pending.pop(batch.producer_id, {})
                for name, write in settled.items() if record.key == b"\0\0\0\x01" else ():
                    counts[name] = max(counts.get(name, (-1, None)), write, key=lambda each: each[0])
            elif batch.transactional:
                pending.setdefault(batch.producer_id, {})[key] = (record.offset, record.value)
            else:
                counts[key] = (record.offset, record.value)
    values = {key: value.decode() for key, (_, value) in counts.items() if value is not None}
    return values, {
        producer: {key: write[0] for key, write in writes.items()} for producer, writes in pending.items()
    }


@settings(max_examples=60, deadline=None)
@given(
    happened=st.lists(
        st.tuples(
            st.sampled_from([PLAIN, PLAIN, 1, 2]), st.sampled_from("abc"), st.none() | st.integers(0, 9)
        )
        | st.tuples(st.sampled_from([1, 2]), st.booleans()),
        max_size=80,
    ),
    soon=st.booleans(),
)
def test_cleaning_changes_nothing_that_counts(
    tmp_path_factory: pytest.TempPathFactory, happened: list[Write | End], soon: bool
) -> None:
    folder = tmp_path_factory.mktemp("log")
    log = new_log(folder)
    for event in happened:
        if len(event) == 3:
            write(log, *event)
        else:
            end(log, *event)
    before, end_offset = state(log), log.end_offset
    for _ in clean(log, NOW_MS if soon else NOW_MS + DELETE_RETENTION_MS):
        pass
    assert state(log) == before
    log.close()
    again = new_log(folder)
    assert (state(again), again.end_offset) == (before, end_offset)
    in_memory = MemoryLog()
    for event in happened:
        if len(event) == 3:
            write(in_memory, *event)
        else:
            end(in_memory, *event)
    clean_memory(in_memory, NOW_MS if soon else NOW_MS + DELETE_RETENTION_MS)
    assert (state(in_memory), in_memory.end_offset) == (before, end_offset)


def test_a_log_in_memory_is_cleaned_to_its_end() -> None:
    log = MemoryLog()
    for number in range(40):
        write(log, PLAIN, f"key{number % 2}", number, timestamp_ms=NOW_MS + number)
    clean_memory(log, NOW_MS)
    assert [decode_batch(raw).base_offset for raw in log.batches(0)] == [38, 39]
    assert log.batch_count == 2
    batch = log.first_at_or_after(NOW_MS + 20)
    assert batch is not None
    assert batch.base_offset == 38
    write(log, PLAIN, "key0", 40)
    assert log.end_offset == 41


def test_old_commits_go_and_offsets_stay_what_they_were(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for number in range(40):
        write(log, PLAIN, f"key{number % 2}", number)
    assert is_dirty(log)
    closed_end = log.closed_segments()[-1].end_offset
    for _ in clean(log, NOW_MS):
        pass
    offsets = [decode_batch(raw).base_offset for raw in log.batches(0)]
    assert [offset for offset in offsets if offset < closed_end] == [closed_end - 2, closed_end - 1]
    assert not is_dirty(log)
    for path in sorted((tmp_path / "__consumer_offsets-0").glob("*.log"))[-2:]:
        assert list(read_segment(path))


def test_a_deletion_goes_a_day_after_it_was_made(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    write(log, PLAIN, "gone", 1)
    write(log, PLAIN, "gone", None)
    for number in range(10):
        write(log, PLAIN, "other", number)

    def keys() -> set[bytes | None]:
        return {record.key for raw in log.batches(0) for record in decode_batch(raw).records()}

    for _ in clean(log, NOW_MS + DELETE_RETENTION_MS - 1):
        pass
    assert b"gone" in keys()
    for _ in clean(log, NOW_MS + DELETE_RETENTION_MS):
        pass
    assert b"gone" not in keys()


def left(log: MemoryLog) -> list[tuple[int, bool]]:
    """Of each batch its offset, and whether it is a marker."""
    return [(batch.base_offset, batch.control) for batch in map(decode_batch, log.batches(0))]


def test_an_aborted_write_does_not_outlive_the_one_before_it() -> None:
    log = MemoryLog()
    write(log, PLAIN, "other", 0)
    write(log, PLAIN, "key", 1)
    write(log, 7, "key", 2)
    end(log, 7, False)
    clean_memory(log, NOW_MS)
    assert left(log) == [(0, False), (1, False), (3, True)]
    assert state(log) == ({"other": "0", "key": "1"}, {})


def test_a_committed_write_outlives_the_one_before_it() -> None:
    log = MemoryLog()
    write(log, PLAIN, "key", 1)
    write(log, 7, "key", 2)
    end(log, 7, True)
    clean_memory(log, NOW_MS)
    assert left(log) == [(1, False), (2, True)]


def test_a_marker_without_records_goes_a_day_after_it_was_made() -> None:
    """A reader that has seen the records before they were cleaned still has to hear how it ended."""
    log = MemoryLog()
    write(log, 7, "key", 1)
    end(log, 7, True)
    write(log, PLAIN, "key", 2)
    clean_memory(log, NOW_MS + DELETE_RETENTION_MS - 1)
    assert left(log) == [(1, True), (2, False)]
    clean_memory(log, NOW_MS + DELETE_RETENTION_MS)
    assert left(log) == [(2, False)]


def test_a_marker_stays_as_long_as_a_record_of_its_transaction() -> None:
    log = MemoryLog()
    write(log, 7, "key", 1)
    end(log, 7, True)
    write(log, PLAIN, "other", 2)
    clean_memory(log, NOW_MS + 5 * DELETE_RETENTION_MS)
    assert left(log) == [(0, False), (1, True), (2, False)]


def test_a_cleaned_batch_keeps_all_but_its_records() -> None:
    log = MemoryLog()
    records = [
        LogRecord(offset=number, timestamp_ms=NOW_MS, key=key, value=b"v")
        for number, key in enumerate([b"a", b"b", b"c"])
    ]
    log.append(
        encode_batch(records, transactional=True, producer_id=7, producer_epoch=3, base_sequence=5),
        leader_epoch=4,
    )
    end(log, 7, True)
    write(log, PLAIN, "a", 1)
    write(log, PLAIN, "c", 1)
    clean_memory(log, NOW_MS)
    batch = decode_batch(next(log.batches(0)))
    assert [record.offset for record in batch.records()] == [1]
    assert (batch.base_offset, batch.last_offset, batch.leader_epoch) == (0, 2, 4)
    assert (batch.transactional, batch.producer_id, batch.producer_epoch, batch.base_sequence) == (
        True,
        7,
        3,
        5,
    )


class Segments:
    """A log of closed segments of these sizes, one offset each, of which the first are cleaned."""

    def __init__(self, cleaned_to: int, *sizes: int) -> None:
        self.cleaned_to = cleaned_to
        self._sizes = sizes

    def closed_segments(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(base_offset=offset, size=size) for offset, size in enumerate(self._sizes)]


@pytest.mark.parametrize(
    ("cleaned_to", "sizes", "dirty"),
    [(1, (50, 50), True), (1, (51, 49), False), (1, (49, 51), True), (2, (50, 50), False), (0, (), False)],
)
def test_a_log_is_cleaned_when_half_of_it_is_dirty(
    cleaned_to: int, sizes: tuple[int, ...], dirty: bool
) -> None:
    """min.cleanable.dirty.ratio is 0.5: LogCleanerManager takes logs from that on."""
    assert is_dirty(Segments(cleaned_to, *sizes)) is dirty  # type: ignore[arg-type]
