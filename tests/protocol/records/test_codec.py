import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from kgroup.errors import InputError
from kgroup.protocol.definitions import definition
from kgroup.protocol.records.codec import decode_entry, decode_key, encode_entry, record_schema
from kgroup.protocol.records.consumer_group import ConsumerGroupMetadataValue
from kgroup.protocol.records.entries import OffsetsEntry, RecordType, Undecodable
from kgroup.protocol.records.keys import ConsumerGroupMetadataKey, GroupMetadataKey, OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue
from kgroup.protocol.subscription import Assignment, Subscription
from tests.protocol.kafka_messages import message_class
from tests.protocol.mutations import mutate, one_record_of_each_kind
from tests.protocol.values_strategy import entries, required_defaults

FIXTURES = Path(__file__).parents[3] / "fixtures"
SCHEMAS = json.loads((FIXTURES / "4.4.0" / "record_schemas.json").read_text())
SCHEMAS_4_3 = json.loads((FIXTURES / "vectors" / "record_schemas.json").read_text())

# Lines that Kafka brokers wrote, from the captures.
COMMIT_KEY = bytes.fromhex("0001 000d64616d616765642d67726f7570 00066f7264657273 00000003")
COMMIT = bytes.fromhex("0003 000000000000002a 00000000 0000 0000018bcfe56800")
COMMIT_4 = bytes.fromhex("0004 000000000000002a 00000000 01 0000018bcfe56800 00")


def undecodable(key, value):
    entry = decode_entry(key, value)
    assert isinstance(entry, Undecodable)
    assert (entry.key, entry.value) == (key, value)
    assert encode_entry(entry) == (key, value)
    return entry


def decoded(key, value):
    entry = decode_entry(key, value)
    assert isinstance(entry, OffsetsEntry)
    assert encode_entry(entry) == (key, value)
    return entry


def test_a_commit_of_a_real_broker():
    assert decoded(COMMIT_KEY, COMMIT) == OffsetsEntry(
        type=RecordType.OFFSET_COMMIT,
        key=OffsetCommitKey(group="damaged-group", topic="orders", partition=3),
        value=OffsetCommitValue(
            offset=42, leader_epoch=0, metadata="", commit_timestamp=1700000000000, expire_timestamp=-1
        ),
        value_version=3,
    )


def test_the_subject_of_a_record_is_in_its_key():
    assert decode_key(COMMIT_KEY) == (RecordType.OFFSET_COMMIT, decoded(COMMIT_KEY, COMMIT).key)
    assert decode_key(COMMIT_KEY[:-5]) is None


def test_both_types_of_commit_keys_are_one_key_to_a_coordinator():
    old = decoded(b"\x00\x00" + COMMIT_KEY[2:], b"\x00\x00" + bytes(8) + b"\x00\x00" + bytes(8))
    assert old.type is RecordType.LEGACY_OFFSET_COMMIT
    assert old.key == decoded(COMMIT_KEY, None).key


def test_a_null_value_is_a_tombstone():
    entry = decoded(COMMIT_KEY, None)
    assert (entry.value, entry.value_version, entry.note) == (None, None, None)


@settings(max_examples=400)
@given(entries())
def test_every_type_and_version_comes_back_from_its_bytes(entry):
    key, value = encode_entry(entry)
    assert decode_entry(key, value) == entry


@settings(max_examples=150)
@given(entries(), st.data())
def test_a_prefix_of_a_value_is_refused_with_its_place_or_ends_at_a_field(entry, data):
    key, value = encode_entry(entry)
    if not value:
        return
    cut = value[: data.draw(st.integers(0, len(value) - 1))]
    match decode_entry(key, cut):
        case Undecodable(why=why):
            assert "at byte" in why or "has no version" in why
        case OffsetsEntry() as short:
            assert encode_entry(short) == (key, cut)


def test_random_bytes_behind_known_types_and_versions_never_raise_and_never_get_lost():
    rng = Random(20261121)
    for _ in range(10_000):
        key = rng.randrange(-1, 25).to_bytes(2, signed=True) + rng.randbytes(rng.randrange(12))
        value = rng.randrange(-1, 6).to_bytes(2, signed=True) + rng.randbytes(rng.randrange(40))
        assert encode_entry(decode_entry(key, value)) == (key, value)


def test_mutated_records_of_real_brokers_never_raise_and_never_get_lost():
    rng = Random(20261121)
    records = one_record_of_each_kind()
    assert len(records) > 20
    for _ in range(10_000):
        key, value = (bytearray(part) for part in rng.choice(records))
        for _ in range(rng.randrange(1, 4)):
            mutate(rng.choice([key, value, value]), rng)
        mutated = bytes(key), bytes(value)
        assert encode_entry(decode_entry(*mutated)) == mutated


@settings(max_examples=300)
@given(entries(), st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4))
def test_flipped_bytes_never_raise_and_never_get_lost(entry, flips):
    key, value = encode_entry(entry)
    damaged = [bytearray(key), bytearray(value or b"")]
    for where, byte in flips:
        target = damaged[int(where * 2)]
        if target:
            target[int(where * 2 % 1 * len(target))] = byte
    bytes_read = bytes(damaged[0]), bytes(damaged[1])
    assert encode_entry(decode_entry(*bytes_read)) == bytes_read


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        (None, COMMIT, "the record has no key"),
        (b"", COMMIT, "a key of 0 bytes has no record type"),
        (b"\x00", COMMIT, "a key of 1 bytes has no record type"),
        (b"\x00\x63rest", None, "unknown record type 99"),
        (b"\xff\xff??", COMMIT, "unknown record type -1"),
        (
            b"\x00\x09\x00\x01g",
            b"\x00\x00",
            "record type 9 (ShareGroupPartitionMetadata) is retired: Kafka has no schema for it any more",
        ),
        (
            b"\x00\x12\x00\x01g",
            None,
            "record type 18 (StreamsGroupPartitionMetadata) is retired: Kafka has no schema for it any more",
        ),
        (COMMIT_KEY, b"", "a value of 0 bytes has no version"),
        (COMMIT_KEY, b"\x00", "a value of 1 bytes has no version"),
        (COMMIT_KEY, b"\x00\x05" + COMMIT[2:], "OffsetCommitValue of unknown version 5; kgroup knows 0 to 4"),
        (COMMIT_KEY, b"\xff\xff" + COMMIT[2:], "OffsetCommitValue of unknown version -1"),
        (b"\x00\x00" + COMMIT_KEY[2:], COMMIT, "OffsetCommitValue of unknown version 3; kgroup knows 0 to 0"),
        (COMMIT_KEY, COMMIT[:9], "OffsetCommitValue.offset at byte 2: needs 8 bytes and 7 are left"),
        (
            bytes.fromhex("0001 fff9 73686f7274"),
            COMMIT,
            "OffsetCommitKey.group at byte 2: null, which this field cannot be",
        ),
        (
            bytes.fromhex("0001 7530 73686f7274"),
            COMMIT,
            "OffsetCommitKey.group at byte 4: needs 30000 bytes and 5 are left",
        ),
    ],
)
def test_what_kafka_refuses_keeps_its_bytes_and_says_why(key, value, why):
    assert undecodable(key, value).why.startswith(why)


def test_versions_of_what_is_undecodable_are_told_where_two_bytes_are_there():
    entry = undecodable(b"\x00\x63", b"\x00")
    assert (entry.key_version, entry.value_version) == (99, None)


def test_trailing_bytes_of_a_value_are_kept_and_noted():
    entry = decoded(COMMIT_KEY, COMMIT + b"later")
    assert entry.value == decoded(COMMIT_KEY, COMMIT).value
    assert entry.trailing == b"later"
    assert entry.note == "5 bytes more than OffsetCommitValue version 3 has"


def test_trailing_bytes_of_a_key_are_kept_and_noted_and_the_key_is_the_same():
    entry = decoded(COMMIT_KEY + b"!", COMMIT)
    assert entry.key == decoded(COMMIT_KEY, COMMIT).key
    assert entry.note == "1 bytes more than OffsetCommitKey has"


def test_an_unknown_tagged_field_is_kept_and_noted():
    entry = decoded(COMMIT_KEY, COMMIT_4[:-1] + bytes.fromhex("01 07 03 616263"))
    assert entry.value == decoded(COMMIT_KEY, COMMIT_4).value
    assert entry.note == "OffsetCommitValue has an unknown tagged field 7 of 3 bytes"


def test_a_tagged_field_at_its_default_that_was_written_all_the_same_is_written_again():
    entry = decoded(COMMIT_KEY, COMMIT_4[:-1] + bytes.fromhex("01 00 10") + bytes(16))
    assert entry.value == decoded(COMMIT_KEY, COMMIT_4).value
    assert entry.note == "OffsetCommitValue is not encoded as Kafka encodes it"


def test_a_varint_of_more_bytes_than_it_needs_is_read_and_written_again():
    entry = decoded(COMMIT_KEY, COMMIT_4[:14] + b"\x81\x00" + COMMIT_4[15:])
    assert entry.value == decoded(COMMIT_KEY, COMMIT_4).value


def test_a_varint_of_six_bytes_is_refused_as_by_kafka():
    endless = COMMIT_4[:14] + b"\x81\x80\x80\x80\x80\x00" + COMMIT_4[15:]
    assert undecodable(COMMIT_KEY, endless).why == (
        "OffsetCommitValue.metadata at byte 14: a varint of more than 5 bytes"
    )


def test_bad_utf_8_is_shown_as_java_shows_it_and_kept():
    entry = decoded(b"\x00\x02\x00\x03a\xffb", None)
    assert entry.key == GroupMetadataKey(group="a\ufffdb")
    assert entry.note == "GroupMetadataKey.group is not UTF-8: bad bytes are shown as U+FFFD"


def test_bad_utf_8_that_would_grow_past_the_longest_string_is_kept():
    key = b"\x00\x02\x7f\xff" + b"\xff" * 0x7FFF
    assert decoded(key, None).key == GroupMetadataKey(group="\ufffd" * 0x7FFF)


def test_an_array_that_is_longer_than_its_bytes_is_refused_at_its_count():
    value = bytes.fromhex("0003 0008636f6e73756d6572 00000003 ffff ffff 0000018bcfe56800 7ffffff0")
    assert undecodable(b"\x00\x02\x00\x01g", value).why == (
        "GroupMetadataValue.members at byte 28: an array of 2147483632 in the 0 bytes that are left"
    )


def test_a_field_inside_an_array_is_named_with_its_index():
    member = bytes.fromhex("00016d ffff 000163")
    value = bytes.fromhex("0003 000170 00000003 ffff ffff 0000000000000000 00000001") + member
    assert undecodable(b"\x00\x02\x00\x01g", value).why == (
        "GroupMetadataValue.members[0].client_host at byte 33: needs 2 bytes and 0 are left"
    )


def test_classic_metadata_that_is_absent_is_an_empty_struct_and_null_is_written_out():
    # As Kafka: the definition has no default, so null is not the default.
    front = bytes.fromhex("0000 00 00 0263 0268")
    rest = bytes.fromhex("01 00 0000ea60 00")
    key = b"\x00\x05\x00\x01g\x00\x01m"
    absent = decoded(key, front + rest + b"\x00").value.classic_member_metadata
    null = decoded(key, front + rest + bytes.fromhex("01 00 01 00")).value.classic_member_metadata
    assert (absent.session_timeout_ms, absent.supported_protocols) == (0, ())
    assert null is None


def test_an_unknown_tag_inside_a_tagged_struct_is_kept():
    front = bytes.fromhex("0000 00 00 0263 0268 01 00 0000ea60 00")
    classic = bytes.fromhex("01 00001770 01 01 05 02 abcd")
    value = front + bytes.fromhex("01 00") + bytes([len(classic)]) + classic
    entry = decoded(b"\x00\x05\x00\x01g\x00\x01m", value)
    assert entry.value.classic_member_metadata.session_timeout_ms == 6000
    assert "classic_member_metadata has an unknown tagged field 5 of 2 bytes" in entry.note


def test_a_value_that_does_not_fit_its_type_is_an_input_error():
    entry = OffsetsEntry(
        type=RecordType.CONSUMER_GROUP_METADATA,
        key=ConsumerGroupMetadataKey(group_id="g"),
        value=ConsumerGroupMetadataValue(epoch=1 << 31),
        value_version=0,
    )
    with pytest.raises(InputError, match="ConsumerGroupMetadataValue version 0 cannot hold"):
        encode_entry(entry)


def test_fields_that_a_version_lacks_are_left_out():
    commit = OffsetCommitValue(offset=1, leader_epoch=7, metadata="m", commit_timestamp=2)
    key = OffsetCommitKey(group="g", topic="t", partition=0)
    entry = OffsetsEntry(type=RecordType.OFFSET_COMMIT, key=key, value=commit, value_version=1)
    read = decode_entry(*encode_entry(entry))
    assert read.value == OffsetCommitValue(offset=1, leader_epoch=-1, metadata="m", commit_timestamp=2)


def test_the_oldest_group_metadata_has_no_rebalance_timeout():
    value = bytes.fromhex("0000 000170 00000003 ffff ffff 00000001")
    member = bytes.fromhex("00016d 000163 000168 00001770 00000000 00000000")
    group = decoded(b"\x00\x02\x00\x01g", value + member).value
    assert isinstance(group, GroupMetadataValue)
    assert (group.members[0].session_timeout, group.members[0].rebalance_timeout) == (6000, -1)


@pytest.mark.parametrize("record_type", RecordType)
def test_the_definitions_are_those_of_kafka(record_type):
    schema = record_schema(record_type)
    for payload in (schema.key, schema.value):
        legacy = record_type is RecordType.LEGACY_OFFSET_COMMIT
        kafka = SCHEMAS[("Legacy" if legacy else "") + payload.name]
        assert kafka["record_type"] == record_type
        latest = schema.latest_value_version if payload is schema.value else 0
        assert (kafka["lowest"], kafka["highest"]) == (0, latest)
        for version, wire in kafka["versions"].items():
            read = definition(payload.name).of_version(payload.value_class, int(version))
            assert described(read) == wire


def test_kafka_4_4_only_adds_tagged_fields():
    """So a log of 4.3 reads as it did, and one of 4.4 is nothing odd."""
    added = {}
    for name, before in SCHEMAS_4_3.items():
        now = SCHEMAS[name]
        for version, fields in before["versions"].items():
            for old, new in zip(fields, now["versions"][version], strict=True):
                if old != new:
                    assert new["tagged_fields"][: len(old["tagged_fields"])] == old["tagged_fields"]
                    added[name] = [each["name"] for each in new["tagged_fields"][len(old["tagged_fields"]) :]]
        assert now | {"versions": None} == before | {"versions": None}
    assert SCHEMAS.keys() == SCHEMAS_4_3.keys()
    assert added == {
        "StreamsGroupMetadataValue": [
            "stored_description_topology_epoch",
            "failed_description_topology_epoch",
        ]
    }


@pytest.mark.parametrize("record_type", RecordType)
def test_what_a_version_lacks_has_the_default_of_the_definition(record_type):
    payload = record_schema(record_type).value
    struct = message_class(payload.name)._struct
    defaults = required_defaults(payload.value_class)
    for version in range(payload.latest_version + 1):
        for field in struct.fields.values():
            if not field.for_version_q(version):
                assert defaults[field.name] == field.default


def described(struct):
    """A struct in the form of record_schemas.json."""
    wire = [
        {"name": field.name, "type": described_type(field, struct.is_flexible)}
        for field in struct.fields
        if field.tag is None
    ]
    if struct.is_flexible:
        tagged = [
            {"tag": field.tag, "name": field.name, "type": described_type(field, True)}
            for field in struct.fields
            if field.tag is not None
        ]
        wire.append({"tagged_fields": tagged})
    return wire


def described_type(field, flexible):
    if field.shape is not None:
        element = {"struct": described(field.shape)}
    else:
        element = simple_type(
            field.element or field.type_name, flexible, field.is_nullable and not field.is_array
        )
    if not field.is_array:
        return element
    return {"array": element, "compact": flexible, "nullable": field.is_nullable}


def simple_type(type_name, flexible, nullable):
    name = type_name.upper()
    if name not in ("STRING", "BYTES"):
        return name
    return ("COMPACT_" if flexible else "") + ("NULLABLE_" if nullable else "") + name


def test_definitions_are_read_as_kafka_python_reads_them():
    """Its own of the consumer protocol, too, which are not among Kafka's records."""
    kafka_python = {
        "ConsumerProtocolSubscription": (ConsumerProtocolSubscription, Subscription),
        "ConsumerProtocolAssignment": (ConsumerProtocolAssignment, Assignment),
    }
    for name, (message, value_class) in kafka_python.items():
        ours = definition(name)
        assert ours.latest_version == message.max_version
        for version in range(ours.latest_version + 1):
            fields = ours.of_version(value_class, version).fields
            theirs = message._struct.untagged_fields(version)
            assert [(field.name, field.is_nullable, field.is_array) for field in fields] == [
                (field.name, bool(field.nullable_for_version_q(version)), field.is_array())
                for field in theirs
            ]
            assert not message.flexible_version_q(version)
