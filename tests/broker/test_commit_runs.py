"""Commits that are kept together are the same as each by itself: in the log, and for those who read them."""

from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgroup.broker.offsets_log import decode_records, encode_records
from kgroup.group.coordinator.offsets import FetchTopic, Offsets
from kgroup.group.coordinator.step import CommitRun, OffsetsRecord, Step
from kgroup.log.format.batch import LogRecord, decode_batch, encode_batch
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.protocol.requests.coordinator import CommitPartition

TOPIC_ID = UUID(int=5)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
PARTITIONS = st.builds(
    CommitPartition,
    partition_index=st.integers(0, 3) | INT32,
    committed_offset=INT64,
    committed_leader_epoch=INT32,
    committed_metadata=st.sampled_from(["", "", "", None, "m", "\u20ac" * 90]),
)
RUNS = st.builds(
    CommitRun,
    group=st.sampled_from(["g", "", "\u00e4" * 50]),
    topic=st.sampled_from(["t", "t" * 200]),
    topic_id=st.sampled_from([None, TOPIC_ID]),
    partitions=st.lists(PARTITIONS, min_size=1, max_size=90),
    timestamp_ms=st.integers(1_000, 1_200),
    expire_timestamp=st.sampled_from([-1, -1, 70_000]),
    producer_id=st.just(-1),
    producer_epoch=st.just(-1),
)


def run(count: int, **fields: object) -> CommitRun:
    partitions = [
        CommitPartition(
            partition_index=number % 7,
            committed_offset=number * 3,
            committed_leader_epoch=2,
            committed_metadata="",
        )
        for number in range(count)
    ]
    given = {"group": "g", "topic": "t", "topic_id": TOPIC_ID, "timestamp_ms": 1_000} | fields
    return CommitRun(partitions=partitions, **given)  # type: ignore[arg-type]


def each_by_itself(runs: list[CommitRun]) -> bytes:
    """One batch of all records, by the codecs that know every entry and every record."""
    records = []
    for number, record in enumerate(Step(append=tuple(runs)).records()):
        assert isinstance(record.entry, OffsetsEntry)
        key, value = encode_entry(record.entry)
        records.append(LogRecord(offset=number, timestamp_ms=record.timestamp_ms, key=key, value=value))
    return encode_batch(records, base_sequence=0)


@given(runs=st.lists(RUNS, min_size=1, max_size=4))
@example(runs=[run(1)])
@example(runs=[run(63), run(2), run(100, timestamp_ms=1_500)])
@example(runs=[run(64), run(1), run(1)])
@example(runs=[run(8_100), run(92)])
@example(runs=[run(8_193)])
@settings(max_examples=150, deadline=None)
def test_the_bytes_are_those_of_the_single_records(runs: list[CommitRun]) -> None:
    assert list(encode_records(runs)) == [each_by_itself(runs)]


@given(runs=st.lists(RUNS, min_size=1, max_size=3), producer_id=st.sampled_from([-1, 7]))
@settings(max_examples=100, deadline=None)
def test_a_coordinator_has_the_same_offsets_as_one_that_reads_them_from_the_log(
    runs: list[CommitRun], producer_id: int
) -> None:
    runs = [each._replace(producer_id=producer_id) for each in runs]
    together, one_by_one = Offsets(4096), Offsets(4096)
    offset = 0
    for each in runs:
        together.apply_run(each, offset)
        offset += len(each.partitions)
    for raw in encode_records(runs):
        for number, logged in enumerate(decode_records(raw, 0)):
            assert isinstance(logged.entry, OffsetsEntry)
            key, value = logged.entry.key, logged.entry.value
            assert isinstance(key, OffsetCommitKey)
            assert isinstance(value, OffsetCommitValue)
            one_by_one.apply(key, value, logged.producer_id, number)
    for offsets in (together, one_by_one):
        offsets.apply_marker(7, committed=True)
    for group in ("g", "", "\u00e4" * 50):
        assert together.fetch_all(group, True) == one_by_one.fetch_all(group, True)
        asked = tuple(
            FetchTopic(name="t", topic_id=id_, partition_indexes=[0, 1, 2, 3, 9]) for id_ in (None, TOPIC_ID)
        )
        assert together.fetch(group, asked, False) == one_by_one.fetch(group, asked, False)


def test_a_batch_has_no_more_records_than_brokers_take_unless_one_request_has() -> None:
    batches = [decode_batch(raw) for raw in encode_records([run(5_000), run(3_192), run(1), run(9_000)])]
    assert [batch.count for batch in batches] == [8_192, 1, 9_000]


def test_records_of_other_kinds_share_a_batch_with_them() -> None:
    single = OffsetsRecord(entry=next(run(1).records()).entry, timestamp_ms=2_000)
    [raw] = encode_records([run(2), single, run(70)])
    batch = decode_batch(raw)
    assert [record.offset for record in batch.records()] == list(range(73))
    assert (batch.base_timestamp_ms, batch.max_timestamp_ms) == (1_000, 2_000)


@pytest.mark.parametrize("producer_id", [-1, 7])
def test_a_transaction_has_its_producer_in_the_header(producer_id: int) -> None:
    [raw] = encode_records([run(3, producer_id=producer_id, producer_epoch=2)])
    batch = decode_batch(raw)
    assert (batch.producer_id, batch.producer_epoch, batch.transactional) == (
        producer_id,
        2,
        producer_id != -1,
    )
