"""Batches whose CRC is right and whose content is not: each is answered as by a broker of 4.3.1.

The table holds its answers to the same bytes. `OWN` marks where it answers UNKNOWN_SERVER_ERROR, from
an exception of its decoders, or takes records whose offsets do not count up: kgroup says INVALID_RECORD.
"""

from typing import Any

import google_crc32c
import pytest

from kgroup.broker.produced_batch import BatchRules, RecordError, Refusal, checked_batch, only_batch
from kgroup.log.format.batch import HEADER, Codec, LogRecord, TimestampType, decode_batch, encode_batch
from kgroup.log.format.compression import compress
from kgroup.log.format.varint import append_varint
from kgroup.protocol.error_codes import ErrorCode
from tests.broker.apis.record_requests import TOPIC, leader, produce_request
from tests.broker.world import BrokerWorld

E = ErrorCode
NOW_MS = 1_000_000_000
HOUR_MS = 3_600_000
RULES = BatchRules(name="orders-0", max_message_bytes=1_048_588, timestamp_after_max_ms=HOUR_MS)
FIELDS = (
    "base length epoch magic crc attributes last_delta base_ms max_ms producer producer_epoch sequence count"
)


def made(
    payload: bytes | None = None,
    *,
    of: int = 1,
    codec: Codec = Codec.NONE,
    at_ms: int = NOW_MS,
    key: bytes | None = b"k",
    **fields: int,
) -> bytes:
    """A batch of healthy records, or of `payload`, with some header fields changed and the CRC right."""
    records = [LogRecord(offset=n, timestamp_ms=at_ms, key=key, value=b"v") for n in range(max(of, 1))]
    raw = encode_batch(records, codec=codec)
    header = dict(zip(FIELDS.split(), HEADER.unpack_from(raw), strict=True))
    body = raw[HEADER.size :] if payload is None else payload
    header |= {"count": of, "last_delta": of - 1, "length": HEADER.size - 12 + len(body)} | fields
    batch = bytearray(HEADER.pack(*header.values())) + body
    if "crc" not in fields:
        batch[17:21] = google_crc32c.value(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)


def record(
    delta: int = 0,
    *,
    time_delta: int = 0,
    key: bytes | None = b"k",
    headers: bytes = b"\0",
    size: int | None = None,
) -> bytes:
    body = bytearray(b"\0")
    append_varint(body, time_delta)
    append_varint(body, delta)
    append_varint(body, -1 if key is None else len(key))
    body += key or b""
    append_varint(body, 1)
    body += b"v" + headers
    framed = bytearray()
    append_varint(framed, len(body) if size is None else size)
    return bytes(framed + body)


def gzip(payload: bytes) -> bytes:
    return compress(Codec.GZIP, payload)


OWN = E.INVALID_RECORD
CASES: list[tuple[str, bytes, ErrorCode]] = [
    ("healthy", made(), E.NONE),
    ("healthy, gzip", made(codec=Codec.GZIP), E.NONE),
    ("empty", b"", E.INVALID_RECORD),
    ("noise of 8 bytes", b"no batch", E.INVALID_RECORD),
    ("noise of 100 bytes", b"x" * 100, E.CORRUPT_MESSAGE),
    ("cut short", made()[:-1], E.INVALID_RECORD),
    ("wrong CRC", made()[:-1] + b"x", E.CORRUPT_MESSAGE),
    ("two batches", made() + made(), E.INVALID_RECORD),
    ("too few bytes for another", made() + b"xx", E.NONE),
    ("magic 1", made(magic=1), E.INVALID_RECORD),
    ("magic 3", made(magic=3), E.CORRUPT_MESSAGE),
    ("magic -1", made(magic=-1), E.CORRUPT_MESSAGE),
    ("length 10", made(length=10), E.CORRUPT_MESSAGE),
    ("length -5", made(length=-5), E.CORRUPT_MESSAGE),
    ("first offset 5", made(base=5), E.INVALID_RECORD),
    ("first offset 3, wrong CRC", made(base=3, crc=1), E.INVALID_RECORD),
    ("last offset -1, wrong CRC", made(last_delta=-1, crc=1), E.CORRUPT_MESSAGE),
    ("two are said to be there", made(payload=record(), of=2), E.INVALID_RECORD),
    ("count and offsets differ", made(last_delta=3), E.INVALID_RECORD),
    ("no records", made(b"", of=0), E.INVALID_RECORD),
    ("no records, but an offset", made(count=0), E.INVALID_RECORD),
    ("last offset -1", made(last_delta=-1), E.INVALID_RECORD),
    ("count -1", made(count=-1), E.INVALID_RECORD),
    ("control", made(attributes=0x20), E.INVALID_RECORD),
    ("producer without sequence", made(producer=7, producer_epoch=0), E.INVALID_RECORD),
    ("producer without epoch", made(producer=7, sequence=0), E.NONE),
    ("junk", made(b"\xff" * 30), OWN),
    ("no payload", made(b""), E.INVALID_RECORD),
    ("records after the last", made(record() + record(1)), E.INVALID_RECORD),
    ("bytes after the last", made(record() + b"xx"), E.INVALID_RECORD),
    ("offsets with a gap", made(record() + record(5), of=2), OWN),
    ("offsets backwards", made(record() + record(-3), of=2), OWN),
    ("the same offset", made(record() + record(), of=2), OWN),
    ("not from 0", made(record(3)), OWN),
    ("offsets with a gap, gzip", made(gzip(record() + record(5)), of=2, attributes=1), OWN),
    ("an hour and a bit ahead", made(at_ms=NOW_MS + HOUR_MS + 1), E.INVALID_TIMESTAMP),
    ("an hour ahead", made(at_ms=NOW_MS + HOUR_MS), E.NONE),
    ("the second is ahead", made(record() + record(1, time_delta=HOUR_MS * 2), of=2), E.INVALID_TIMESTAMP),
    ("long ago", made(at_ms=5), E.NONE),
    ("no time", made(at_ms=-1), E.NONE),
    ("largest time is too small", made(max_ms=1), E.NONE),
    ("largest time is too large", made(max_ms=NOW_MS + 10**12), E.NONE),
    ("says it has the log's time", made(attributes=8), E.NONE),
    ("gzip of nothing", made(b"junk", attributes=1), OWN),
    ("snappy of nothing", made(b"junk", attributes=2), OWN),
    ("lz4 of nothing", made(b"junk", attributes=3), OWN),
    ("zstd of nothing", made(b"junk", attributes=4), OWN),
    ("codec 5", made(attributes=5), OWN),
    ("codec 7", made(attributes=7), OWN),
    ("gzip, cut short", made(gzip(record())[:-3], attributes=1), OWN),
    ("gzip of junk", made(gzip(b"\xff" * 30), attributes=1), E.INVALID_RECORD),
    ("gzip with bytes after the last", made(gzip(record() + b"xx"), attributes=1), E.INVALID_RECORD),
    ("gzip of too few", made(gzip(record()), of=3, attributes=1), E.INVALID_RECORD),
    ("an attribute of no meaning", made(attributes=0x100), E.NONE),
    ("headers", made(record(headers=b"\x02\x02k\x02v")), E.NONE),
    ("a header whose name is no text", made(record(headers=b"\x02\x02\xff\x02v")), E.NONE),
    ("a header without name", made(record(headers=b"\x02\x01\x02v")), E.INVALID_RECORD),
    ("fewer headers than said", made(record(headers=b"\x06\x02k\x02v")), E.INVALID_RECORD),
    ("headers: -1", made(record(headers=b"\x01")), E.INVALID_RECORD),
    ("a record that is longer than it says", made(record(size=3)), E.INVALID_RECORD),
    ("a record that is shorter than it says", made(record(size=100)), E.INVALID_RECORD),
    ("a record of size -1", made(b"\x01"), E.INVALID_RECORD),
    ("too large", made(record()[:-1] + b"x" * 1_100_000), E.MESSAGE_TOO_LARGE),
]


def outcome(records: bytes, rules: BatchRules = RULES) -> bytes | Refusal:
    batch = only_batch(records, 9)
    return batch if isinstance(batch, Refusal) else checked_batch(batch, rules, NOW_MS)


@pytest.mark.parametrize(("records", "error"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_batch_is_taken_or_refused_as_by_a_broker(records: bytes, error: ErrorCode) -> None:
    checked = outcome(records)
    assert (checked.error if isinstance(checked, Refusal) else E.NONE) == error
    if not isinstance(checked, Refusal):
        decode_batch(checked).records()  # a reader gets past it


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (b"x" * 100, "Invalid magic found in record: 120"),
        (made(length=10), "Record size 10 is less than the minimum record overhead (14)"),
        (made(), None),
    ],
)
def test_the_words_of_a_refusal_are_the_brokers(records: bytes, message: str | None) -> None:
    checked = outcome(records)
    assert (checked.message if isinstance(checked, Refusal) else None) == message


def test_zstd_is_newer_than_the_first_versions_of_produce() -> None:
    batch = made(codec=Codec.ZSTD)
    assert only_batch(batch, 6) == Refusal(error=E.UNSUPPORTED_COMPRESSION_TYPE)
    assert only_batch(batch, 7) == batch


@pytest.mark.parametrize("max_ms", [1, NOW_MS + 10**12])
def test_the_largest_timestamp_is_that_of_the_records(max_ms: int) -> None:
    checked = outcome(made(max_ms=max_ms, attributes=8 if max_ms == 1 else 0))
    assert isinstance(checked, bytes)
    batch = decode_batch(checked)
    assert batch.timestamp_type is TimestampType.CREATE_TIME
    assert batch.max_timestamp_ms == (1 if max_ms == 1 else NOW_MS)


def test_a_topic_may_take_its_own_time() -> None:
    checked = outcome(
        made(at_ms=5), BatchRules(name="orders-0", max_message_bytes=1000, log_append_time=True)
    )
    assert isinstance(checked, bytes)
    batch = decode_batch(checked)
    assert (batch.timestamp_type, batch.max_timestamp_ms) == (TimestampType.LOG_APPEND_TIME, NOW_MS)
    assert [each.timestamp_ms for each in batch.records()] == [NOW_MS]


def test_each_record_at_fault_is_named() -> None:
    compacted = BatchRules(name="orders-0", max_message_bytes=1000, compacted=True)
    why = "Compacted topic cannot accept message without key in topic partition orders-0"
    refusal = outcome(made(of=4, key=None), compacted)
    assert isinstance(refusal, Refusal)
    assert refusal.records == tuple(RecordError(index=n, message=why) for n in range(4))
    assert refusal.message == (
        "One or more records have been rejected due to 4 record errors in total, and only showing the first "
        f"three errors at most: [RecordError(batchIndex=0, message='{why}'), RecordError(batchIndex=1, "
        f"message='{why}'), RecordError(batchIndex=2, message='{why}')]"
    )


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP], ids=["walked", "decoded"])
@pytest.mark.parametrize(
    ("age_ms", "error"),
    [
        (HOUR_MS, E.NONE),
        (HOUR_MS + 1, E.INVALID_TIMESTAMP),
        (-2 * HOUR_MS, E.NONE),
        (-2 * HOUR_MS - 1, E.INVALID_TIMESTAMP),
    ],
)
def test_a_record_may_be_as_old_and_as_new_as_its_topic_lets_it_be(
    age_ms: int, error: ErrorCode, codec: Codec
) -> None:
    rules = BatchRules(
        name="orders-0",
        max_message_bytes=1000,
        timestamp_before_max_ms=HOUR_MS,
        timestamp_after_max_ms=2 * HOUR_MS,
    )
    checked = outcome(made(at_ms=NOW_MS - age_ms, codec=codec), rules)
    assert (checked.error if isinstance(checked, Refusal) else E.NONE) == error


def test_an_empty_key_is_a_key_to_a_compacted_topic() -> None:
    """Kafka: LogValidator.validateKey asks `record.hasKey()`."""
    compacted = BatchRules(name="orders-0", max_message_bytes=1000, compacted=True)
    assert isinstance(outcome(made(key=b""), compacted), bytes)
    assert isinstance(outcome(made(key=None), compacted), Refusal)


def test_of_a_missing_key_and_a_bad_time_the_time_is_the_error_and_both_are_named() -> None:
    """As Kafka's LogValidator.processRecordErrors: one bad timestamp makes it INVALID_TIMESTAMP."""
    rules = BatchRules(
        name="orders-0", max_message_bytes=1000, compacted=True, timestamp_after_max_ms=HOUR_MS
    )
    refusal = outcome(made(record(key=None) + record(1, time_delta=2 * HOUR_MS), of=2), rules)
    assert isinstance(refusal, Refusal)
    assert refusal.error == E.INVALID_TIMESTAMP
    assert refusal.message == "One or more records have been rejected due to invalid timestamp"
    assert [each.index for each in refusal.records] == [0, 1]


def answer(world: BrokerWorld, records: bytes) -> Any:
    (topic,) = world.ask(produce_request(records), leader(world)).responses
    return topic.partition_responses[0]


def test_a_producer_hears_which_records_are_refused_and_where_the_log_starts() -> None:
    world = BrokerWorld()
    world.now_ms = NOW_MS
    world.cluster.create_topic(TOPIC, 1, 1, {}, world.now_ms)
    refused = answer(world, made(at_ms=NOW_MS + 2 * HOUR_MS))
    assert (refused.error_code, refused.base_offset, refused.log_start_offset) == (E.INVALID_TIMESTAMP, -1, 0)
    assert refused.error_message == "One or more records have been rejected due to invalid timestamp"
    (error,) = refused.record_errors
    assert (error.batch_index, error.batch_index_error_message) == (
        0,
        f"Timestamp {NOW_MS + 2 * HOUR_MS} of message with offset 0 is out of range. "
        f"The timestamp should be within [{NOW_MS - (2**63 - 1)}, {NOW_MS + HOUR_MS}]",
    )
    assert answer(world, b"no batch").log_start_offset == -1
    assert answer(world, made()).error_code == E.NONE
    assert world.cluster.topics[TOPIC].partitions[0].log.end_offset == 1
