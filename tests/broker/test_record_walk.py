"""Walking over a batch's records says the same of them as decoding them, or leaves it to that."""

import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.broker import produced_batch
from kgroup.broker.produced_batch import BatchRules, checked_batch
from kgroup.broker.record_walk import Walked, walk
from kgroup.log.format.batch import HEADER_SIZE, LogRecord, TimestampType, encode_batch
from kgroup.log.format.batch_header import read_header

NOW_MS = 1_000_000
Given = list[tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes], ...]]]
VALUES = (
    st.none() | st.binary(max_size=3) | st.sampled_from([b"v" * 63, b"v" * 64, b"v" * 8192, b"v" * 20_000])
)
RECORDS = st.lists(
    st.tuples(
        st.sampled_from([NOW_MS, NOW_MS + 70, NOW_MS - 9_000, -1, 0, 1 << 61]),
        VALUES,
        VALUES,
        st.sampled_from([(), (), (), (("h", b"1"),)]),
    ),
    min_size=1,
    max_size=5,
)
RULES = st.builds(
    BatchRules,
    name=st.just("t-0"),
    max_message_bytes=st.just(1 << 20),
    compacted=st.booleans(),
    log_append_time=st.booleans(),
    timestamp_before_max_ms=st.sampled_from([(1 << 63) - 1, 5_000]),
    timestamp_after_max_ms=st.sampled_from([(1 << 63) - 1, 50]),
)


def batch_of(records: list[LogRecord], **header: object) -> bytes:
    return encode_batch(records, **header)  # type: ignore[arg-type]


def log_records(given: Given) -> list[LogRecord]:
    return [
        LogRecord(offset=number, timestamp_ms=time_ms, key=key, value=value, headers=headers)
        for number, (time_ms, key, value, headers) in enumerate(given)
    ]


def by_decoding(batch: bytes, rules: BatchRules) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(produced_batch, "_newest_of_plain", lambda *arguments: None)
        return checked_batch(batch, rules, NOW_MS)


def with_crc(batch: bytearray) -> bytes:
    batch[17:21] = google_crc32c.value(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)


@given(
    records=RECORDS,
    rules=RULES,
    append_time=st.booleans(),
    producer=st.sampled_from(
        [{}, {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}, {"producer_id": 5}]
    ),
)
@settings(max_examples=300, deadline=None)
def test_healthy_batches_are_taken_or_refused_alike(
    records: Given,
    rules: BatchRules,
    append_time: bool,
    producer: dict[str, int],
) -> None:
    kind = TimestampType.LOG_APPEND_TIME if append_time else TimestampType.CREATE_TIME
    batch = batch_of(log_records(records), timestamp_type=kind, **producer)
    assert checked_batch(batch, rules, NOW_MS) == by_decoding(batch, rules)


@given(records=RECORDS, rules=RULES, data=st.data())
@settings(max_examples=600, deadline=None)
def test_damaged_batches_are_refused_alike(
    records: Given,
    rules: BatchRules,
    data: st.DataObject,
) -> None:
    batch = bytearray(batch_of(log_records(records)))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(21, min(len(batch), 200) - 1))
        batch[at] = data.draw(st.integers(0, 255) | st.just(batch[at] ^ 1))
    damaged = with_crc(batch)
    assert checked_batch(damaged, rules, NOW_MS) == by_decoding(damaged, rules)


def test_it_knows_the_times_and_the_keys() -> None:
    records = [
        LogRecord(offset=number, timestamp_ms=NOW_MS + number * 100 - 500, key=b"k", value=b"v" * 70)
        for number in range(9_000)
    ]
    raw = batch_of(records)
    found = walk(raw, HEADER_SIZE, 9_000, read_header(raw).base_timestamp_ms)
    assert found == Walked(oldest_ms=NOW_MS - 500, newest_ms=NOW_MS + 899_400, keyed=True)
    keyless = batch_of([*records[:5], records[5]._replace(key=None)])
    found = walk(keyless, HEADER_SIZE, 6, read_header(keyless).base_timestamp_ms)
    assert found is not None
    assert not found.keyed


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_records_than_it_is_told_is_for_others(count: int) -> None:
    raw = batch_of(log_records([(NOW_MS, None, b"v", ()), (NOW_MS, None, b"v", ())]))
    assert walk(raw, HEADER_SIZE, count, NOW_MS) is None


def test_what_stands_behind_the_fields_of_a_record_is_for_others() -> None:
    fields = b"\0\0\0\1\2v\0"  # attributes, time, offset, no key, a value of one byte, no headers
    assert walk(bytes([2 * len(fields)]) + fields, 0, 1, NOW_MS) == Walked(NOW_MS, NOW_MS, keyed=False)
    for behind in (b"\0", b"\1"):
        longer = fields + behind
        assert walk(bytes([2 * len(longer)]) + longer, 0, 1, NOW_MS) is None
