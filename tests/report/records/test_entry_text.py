from pathlib import Path
from uuid import UUID

import pytest

from kgroup.log.files.entries import ReadRecord, read_decoded
from kgroup.log.files.sources import open_sources
from kgroup.protocol.records.entries import OffsetsEntry, RecordType, TransactionMarker, Undecodable
from kgroup.protocol.records.keys import GroupMetadataKey, OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.report.records.entry_text import entry_text

FIXTURES = Path(__file__).parents[3] / "fixtures"


def commit(**fields):
    value = OffsetCommitValue(**({"offset": 42, "metadata": "", "commit_timestamp": 0} | fields))
    key = OffsetCommitKey(group="g", topic="orders", partition=3)
    return OffsetsEntry(type=RecordType.OFFSET_COMMIT, key=key, value=value, value_version=3)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (commit(), "orders-3 @ 42"),
        (commit(leader_epoch=5, metadata="by hand"), 'orders-3 @ 42, epoch 5, "by hand"'),
        (
            OffsetsEntry(
                type=RecordType.OFFSET_COMMIT, key=commit().key, value=None, value_version=None, note="odd"
            ),
            "orders-3 deleted (odd)",
        ),
        (
            OffsetsEntry(
                type=RecordType.GROUP_METADATA,
                key=GroupMetadataKey(group="g"),
                value=None,
                value_version=None,
            ),
            "group deleted",
        ),
        (
            Undecodable(key=b"", value=None, key_version=None, value_version=None, why="too short"),
            "cannot be decoded: too short",
        ),
        (
            TransactionMarker(producer_id=9, producer_epoch=1, committed=False, coordinator_epoch=0),
            "transaction aborted: producer 9, epoch 1",
        ),
    ],
)
def test_entries_in_a_few_words(entry, text):
    assert entry_text(entry, {}) == text


def first_texts(capture, record_type, names):
    for read in read_decoded(open_sources([FIXTURES / capture])):
        entry = read.entry if isinstance(read, ReadRecord) else None
        if isinstance(entry, OffsetsEntry) and entry.type is record_type and entry.value is not None:
            yield entry_text(entry, names)


@pytest.mark.parametrize(
    ("capture", "record_type", "text"),
    [
        ("4.3.1/lives", RecordType.GROUP_METADATA, "group generation 1, sessioned, 1 member"),
        ("4.3.1/lives", RecordType.CONSUMER_GROUP_METADATA, "consumer group epoch 2"),
        (
            "4.3.1/lives",
            RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION,
            "pattern (orde|promo).* matches orders, promo-2024",
        ),
        ("4.3.1/lives", RecordType.SHARE_GROUP_METADATA, "share group epoch 2"),
        ("4.3.1/lives", RecordType.STREAMS_GROUP_TOPOLOGY, "topology epoch 0, 2 subtopologies"),
        ("4.3.1/lives", RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, "target assignment epoch 4"),
        ("3.9.1/new-coordinator", RecordType.CONSUMER_GROUP_PARTITION_METADATA, "topics are payments (3)"),
    ],
)
def test_records_of_real_brokers_in_a_few_words(capture, record_type, text):
    assert text in first_texts(capture, record_type, {})


def test_topic_ids_are_shown_by_name_where_it_is_known():
    payments = UUID("4d93bd36-5789-47d8-a2cd-a0bec49fb6bd")
    target = RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER
    (named, *_) = first_texts("3.9.1/new-coordinator", target, {payments: "payments"})
    (unnamed, *_) = first_texts("3.9.1/new-coordinator", target, {})
    assert named.endswith(" is payments-0, payments-1")
    assert unnamed.endswith(" is TZO9NleJR9iizaC-xJ-2vQ-0, TZO9NleJR9iizaC-xJ-2vQ-1")


def test_every_type_of_record_in_the_captures_has_words():
    for capture in ("4.3.1/lives", "3.9.1/new-coordinator"):
        for read in read_decoded(open_sources([FIXTURES / capture])):
            if isinstance(read, ReadRecord) and read.entry is not None:
                assert "TopicPartitions(" not in entry_text(read.entry, {})
