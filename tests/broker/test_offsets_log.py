"""A coordinator's records as Kafka writes them."""

from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.broker.commit_bytes import encode_fast
from kgroup.broker.offsets_log import decode_records, encode_records
from kgroup.errors import InputError
from kgroup.group.coordinator.step import OffsetsRecord
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch, encode_batch
from kgroup.log.format.batch_header import placed
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType, TransactionMarker
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue

CAPTURES = Path(__file__).parents[2] / "fixtures" / "4.3.1"
int64 = st.integers(-(2**63), 2**63 - 1)


@given(
    key=st.builds(
        OffsetCommitKey, group=st.text(max_size=20), topic=st.text(max_size=20), partition=st.integers(0, 99)
    ),
    value=st.none()
    | st.builds(
        OffsetCommitValue,
        offset=int64,
        leader_epoch=st.integers(-(2**31), 2**31 - 1),
        metadata=st.text(max_size=200),
        commit_timestamp=int64,
        topic_id=st.none() | st.uuids(),
    ),
)
def test_the_fast_way_to_bytes_equals_the_plain_one(
    key: OffsetCommitKey, value: OffsetCommitValue | None
) -> None:
    version = None if value is None else 4
    entry = OffsetsEntry(type=RecordType.OFFSET_COMMIT, key=key, value=value, value_version=version)
    if value is not None and value.topic_id == UUID(int=0):
        return  # Kafka writes the zero id where there is none
    assert encode_fast(entry) == encode_entry(entry)


def with_metadata(metadata: str) -> OffsetsEntry:
    value = OffsetCommitValue(
        offset=1, leader_epoch=2, metadata=metadata, commit_timestamp=3, topic_id=UUID(int=4)
    )
    return OffsetsEntry(
        type=RecordType.OFFSET_COMMIT,
        key=OffsetCommitKey(group="g", topic="t", partition=0),
        value=value,
        value_version=4,
    )


@pytest.mark.parametrize("length", [0, 1, 125, 126, 127, 128, 129, 16_382, 16_383])
@pytest.mark.parametrize("letter", ["m", "\u00fc", "mm"])
def test_metadata_of_any_length_has_the_right_bytes(length: int, letter: str) -> None:
    entry = with_metadata(letter * length)
    assert encode_fast(entry) == encode_entry(entry)


def test_metadata_that_no_string_of_kafka_holds_is_refused() -> None:
    """No client can have sent it: a request's strings have the same limit, 32,767 bytes."""
    assert encode_fast(with_metadata("m" * 32_767)) == encode_entry(with_metadata("m" * 32_767))
    for metadata in ("m" * 32_768, "\u00fc" * 16_384):
        with pytest.raises(InputError, match="a string of 32768 bytes; 32767 are allowed"):
            encode_fast(with_metadata(metadata))


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_older_versions_are_written_as_such(version: int) -> None:
    expires = {"expire_timestamp": 77} if version == 1 else {}
    value = OffsetCommitValue(
        offset=1, leader_epoch=-1, metadata="m", commit_timestamp=3, topic_id=None, **expires
    )
    entry = OffsetsEntry(
        type=RecordType.OFFSET_COMMIT,
        key=OffsetCommitKey(group="g", topic="t", partition=0),
        value=value,
        value_version=version,
    )
    assert encode_fast(entry) == encode_entry(entry)


def batches(segment: Path) -> list[Batch]:
    return [batch for batch in read_segment(segment) if isinstance(batch, Batch)]


@pytest.mark.parametrize(
    "segment", sorted(CAPTURES.glob("lives/__consumer_offsets-*/*.log")), ids=lambda path: path.parent.name
)
def test_batches_of_a_real_broker_come_out_byte_by_byte(segment: Path) -> None:
    """Decode what Kafka 4.3.1's coordinator wrote, encode it as ours would: the same bytes."""
    raw, written_by_kafka = segment.read_bytes(), batches(segment)
    assert written_by_kafka
    for batch in written_by_kafka:
        # Nothing of this capture was cleaned: all of it is as the coordinator wrote it.
        assert batch.delete_horizon_ms is None
        written = raw[batch.position : batch.position + batch.size]
        entries = list(decode_records(written, 0))
        assert len(entries) == batch.count > 0
        records = []
        for entry in entries:
            assert isinstance(entry.entry, OffsetsEntry | TransactionMarker)
            records.append(
                OffsetsRecord(
                    entry=entry.entry,
                    timestamp_ms=entry.timestamp_ms,
                    producer_id=batch.producer_id,
                    producer_epoch=batch.producer_epoch,
                )
            )
        encoded = list(encode_records(records))
        assert len(encoded) == 1
        assert placed(encoded[0], batch.base_offset, batch.leader_epoch) == written


def test_a_transaction_has_batches_of_its_own_and_a_control_batch_for_its_marker() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=0)
    value = OffsetCommitValue(offset=1, metadata="", commit_timestamp=5)
    commit = OffsetsEntry(type=RecordType.OFFSET_COMMIT, key=key, value=value, value_version=4)
    marker = TransactionMarker(producer_id=7, producer_epoch=0, committed=True, coordinator_epoch=3)
    records = [
        OffsetsRecord(entry=commit, timestamp_ms=5),
        OffsetsRecord(entry=commit, timestamp_ms=6),
        OffsetsRecord(entry=commit, timestamp_ms=7, producer_id=7, producer_epoch=0),
        OffsetsRecord(entry=marker, timestamp_ms=8, producer_id=7, producer_epoch=0),
    ]
    decoded = [list(decode_records(raw, 0)) for raw in encode_records(records)]
    assert [len(batch) for batch in decoded] == [2, 1, 1]
    assert [batch[0].producer_id for batch in decoded] == [None, 7, 7]
    assert decoded[2][0].entry == marker


def test_a_marker_of_an_unknown_kind_says_nothing() -> None:
    from kgroup.log.format.record import LogRecord

    record = LogRecord(offset=0, timestamp_ms=1, key=b"\0\0\0\x05", value=b"")
    raw = encode_batch([record], transactional=True, control=True, producer_id=1, producer_epoch=0)
    assert list(decode_records(raw, 0)) == []
