import json
from random import Random
from uuid import UUID

import pytest

from kgroup.log.files.entries import ReadRecord, decode_record
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.format.batch import Batch, Codec, Damage, LogRecord, TimestampType
from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.entries import TransactionOutcome
from kgroup.report.records.entry_text import entry_text
from kgroup.report.records.record_json import damage_json, record_json
from tests.protocol.mutations import mutate, one_record_of_each_kind

PATH = "logs/__consumer_offsets-7/00000000000000000000.log"
SEGMENT = SegmentFile(path=PATH, topic="__consumer_offsets", partition=7, base_offset=0)
TOPIC_ID = UUID("4d93bd36-5789-47d8-a2cd-a0bec49fb6bd")
COMMIT_KEY = bytes.fromhex("0001 0001 67 0001 74 00000003")


def batch(**fields):
    described = {
        "position": 0,
        "size": 100,
        "magic": 2,
        "base_offset": 5,
        "last_offset": 5,
        "count": 1,
        "codec": Codec.NONE,
        "timestamp_type": TimestampType.CREATE_TIME,
        "max_timestamp_ms": 12,
        "crc": 1,
        "records": list,
    }
    return Batch(**(described | fields))


def read_of(key, value, of=None):
    record = LogRecord(offset=5, timestamp_ms=12, key=key, value=value)
    of = of or batch()
    return ReadRecord(segment=SEGMENT, batch=of, record=record, entry=decode_record(of, record))


def shown(key, value, *, of=None, **options):
    as_json = record_json(read_of(key, value, of), **options)
    assert json.loads(json.dumps(as_json)) == as_json
    return as_json


def test_a_record_stands_in_the_order_of_truth_jsonl():
    as_json = shown(COMMIT_KEY, bytes.fromhex("0000 0000000000000009 0001 6d 000000000000000c"))
    assert list(as_json) == [
        "partition", "segment", "offset", "timestamp", "keySize", "valueSize",
        "keyVersion", "valueVersion", "kind", "type", "key", "value", "batch",
    ]  # fmt: skip
    assert as_json["key"] == {"group": "g", "topic": "t", "partition": 3}
    assert as_json["value"] == {"offset": 9, "metadata": "m", "commitTimestamp": 12}


def test_a_transactional_record_says_how_it_ended():
    as_json = shown(COMMIT_KEY, None, transaction=TransactionOutcome.ABORTED)
    assert (as_json["kind"], as_json["value"], as_json["transaction"]) == ("tombstone", None, "aborted")


def test_a_topic_id_has_its_name_where_it_is_known():
    key = bytes.fromhex("0007 0001 67 0001 6d")
    value = bytes.fromhex("0000 02") + TOPIC_ID.bytes + bytes.fromhex("02 00000001 00 00")
    assert shown(key, value)["value"] == {
        "topicPartitions": [{"topicId": "TZO9NleJR9iizaC-xJ-2vQ", "partitions": [1]}]
    }
    named = shown(key, value, topic_names={TOPIC_ID: "orders"})["value"]
    assert named["topicPartitions"][0]["topicName"] == "orders"


def test_a_zero_topic_id_is_shown_as_kafka_shows_it():
    key = bytes.fromhex("0007 0001 67 0001 6d")
    value = bytes.fromhex("0000 02") + bytes(16) + bytes.fromhex("01 00 00")
    assert shown(key, value)["value"]["topicPartitions"][0]["topicId"] == "AAAAAAAAAAAAAAAAAAAAAA"


def test_tagged_fields_are_there_unless_they_are_at_their_default():
    key = bytes.fromhex("0001 0001 67 0001 74 00000000")
    front = bytes.fromhex("0004 0000000000000001 00000000 01 0000000000000002")
    assert "topicId" not in shown(key, front + b"\x00")["value"]
    tagged = front + bytes.fromhex("01 00 10") + TOPIC_ID.bytes
    assert shown(key, tagged)["value"]["topicId"] == "TZO9NleJR9iizaC-xJ-2vQ"


def test_classic_metadata_that_is_absent_is_not_shown_and_null_is():
    key = bytes.fromhex("0005 0001 67 0001 6d")
    front = bytes.fromhex("0000 00 00 0263 0268 01 00 0000ea60 00")
    assert "classicMemberMetadata" not in shown(key, front + b"\x00")["value"]
    assert shown(key, front + bytes.fromhex("01 00 01 00"))["value"]["classicMemberMetadata"] is None


def test_what_is_odd_is_noted():
    value = bytes.fromhex("0000 0000000000000009 0000 000000000000000c")
    assert shown(COMMIT_KEY, value + b"xy")["note"] == "2 bytes more than OffsetCommitValue version 0 has"


@pytest.mark.parametrize(
    ("key", "value", "fields"),
    [
        (None, b"\x00\x01", {"kind": "no-key", "keySize": -1, "valueHex": "0001"}),
        (b"\x00", b"\x00\x01", {"kind": "undecoded", "keyVersion": -1, "keyHex": "00", "valueVersion": 1}),
        (b"\x00\x63", None, {"kind": "undecoded", "keyVersion": 99, "valueVersion": None, "valueHex": None}),
        (COMMIT_KEY, b"", {"kind": "undecoded", "keyVersion": 1, "valueSize": 0, "valueHex": ""}),
    ],
)
def test_what_cannot_be_decoded_keeps_its_bytes(key, value, fields):
    as_json = shown(key, value)
    assert as_json | fields == as_json


def test_the_version_of_a_value_without_two_bytes_is_absent():
    assert "valueVersion" not in shown(COMMIT_KEY, b"\x00")


def test_a_marker_says_what_it_does():
    as_json = shown(
        bytes.fromhex("0000 0001"), bytes.fromhex("0000 00000007"), of=batch(control=True, transactional=True)
    )
    assert (as_json["kind"], as_json["control"], as_json["coordinatorEpoch"]) == ("control", "COMMIT", 7)


def test_an_emptied_batch_has_no_offset_of_its_own():
    read = ReadRecord(segment=SEGMENT, batch=batch(count=0), record=None, entry=None)
    assert list(record_json(read)) == ["partition", "segment", "kind", "batch"]


def test_old_formats_have_no_fields_of_producers():
    old = batch(magic=0, count=None, timestamp_type=TimestampType.NO_TIMESTAMP_TYPE, max_timestamp_ms=-1)
    of_old = shown(COMMIT_KEY, None, of=old)["batch"]
    assert of_old["timestampType"] == "NoTimestampType"
    assert "producerId" not in of_old and "crc" not in of_old


def test_damage_has_its_place_and_its_path():
    assert damage_json(Damage(segment=PATH, position=9, size=4, why="noise")) == {
        "partition": 7,
        "segment": "00000000000000000000.log",
        "kind": "error",
        "position": 9,
        "bytes": 4,
        "error": "noise",
        "path": PATH,
    }


def test_whatever_damage_makes_of_a_record_can_be_shown():
    rng = Random(20261121)
    records = one_record_of_each_kind()
    for _ in range(4_000):
        key, value = (bytearray(part) for part in rng.choice(records))
        mutate(value, rng)
        as_json = shown(bytes(key), bytes(value))
        assert as_json["kind"] in ("record", "undecoded")
        assert entry_text(decode_entry(bytes(key), bytes(value)), {})
