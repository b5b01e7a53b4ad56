import pytest

from kgroup.errors import DecodeError
from kgroup.protocol.definitions import definition
from kgroup.protocol.records.codec import record_schema
from kgroup.protocol.records.entries import RecordType
from kgroup.protocol.strict import StrictReader, decode_as_java

# What Java 17 makes of malformed UTF-8: `new String(bytes, UTF_8)`, U+FFFD written as ?.
JAVA = {
    "61fe62ff": "a?b?",
    "eda080": "?",
    "eda08041": "?A",
    "eda0": "?",
    "ed": "?",
    "eda041": "?A",
    "edbf41": "?A",
    "ededa080": "??",
    "c08041": "??A",
    "e08080": "???",
    "e0a041": "?A",
    "f4908080": "????",
    "f5808080": "????",
    "e28241": "?A",
    "e282": "?",
    "f09f9841": "?A",
    "f09f": "?",
    "f0": "?",
    "8041": "?A",
    "c2": "?",
    "f888808080": "?????",
    "ee8080": "\ue000",
}


@pytest.mark.parametrize(("text", "java"), JAVA.items())
def test_malformed_utf_8_becomes_as_many_replacement_characters_as_in_java(text, java):
    assert decode_as_java(bytes.fromhex(text)) == java.replace("?", "\ufffd")


CLASSES = {
    payload.name: payload.value_class
    for schema in map(record_schema, RecordType)
    for payload in (schema.key, schema.value)
}


def read(name, data, *, version, flexible):
    reader = StrictReader(bytes.fromhex(data), position=0)
    read_as = definition(name)
    assert flexible == (version in read_as.flexible_versions)
    return reader.read(read_as.of_version(CLASSES[name], version), name), reader


@pytest.mark.parametrize(
    ("name", "data", "version", "flexible", "field", "at"),
    [
        # A null where there can be none, in each of its encodings.
        ("GroupMetadataKey", "ffff", 0, False, "GroupMetadataKey.group", 0),
        ("ShareGroupTargetAssignmentMemberValue", "00", 0, True, ".topic_partitions", 0),
        ("ConsumerGroupRegularExpressionValue", "0200", 0, True, ".topics[0]", 1),
        # Longer than the bytes.
        ("GroupMetadataKey", "0002 61", 0, False, "GroupMetadataKey.group", 2),
        ("ConsumerGroupMetadataValue", "000000", 0, True, ".epoch", 0),
        ("ShareGroupTargetAssignmentMemberValue", "0500", 0, True, ".topic_partitions", 0),
        # Tagged fields: a size that is too large, a count without fields.
        ("ConsumerGroupMetadataValue", "00000001 01 05 09 61", 0, True, " tag 5", 7),
        ("ConsumerGroupMetadataValue", "00000001 02 00 08 0000000000000001", 0, True, " tag", 15),
        # Numbers that Java cannot hold.
        ("ConsumerGroupMetadataValue", "00000001 ffffffffff01", 0, True, " tagged fields", 4),
    ],
)
def test_what_kafka_refuses_is_named_by_field_and_position(name, data, version, flexible, field, at):
    with pytest.raises(DecodeError) as refused:
        read(name, data, version=version, flexible=flexible)
    assert refused.value.field.endswith(field)
    assert refused.value.at == at


def test_a_string_longer_than_kafka_allows_is_refused():
    data = "02 818002" + "61" * 0x8000
    with pytest.raises(DecodeError, match="32767 are allowed"):
        read("StreamsGroupTargetAssignmentMemberValue", data, version=0, flexible=True)


@pytest.mark.parametrize("length", ["8080808008", "ffffffff0f", "00"])
def test_a_varint_is_an_int_of_java_so_that_a_length_beyond_it_is_negative(length):
    # ByteUtils.readUnsignedVarint of 2^31 and of 2^32 - 1: as a null's, the length is below 0.
    with pytest.raises(DecodeError, match="null, which this field cannot be") as refused:
        read("ShareGroupTargetAssignmentMemberValue", length, version=0, flexible=True)
    assert refused.value.at == 0


def test_any_negative_length_of_a_nullable_field_is_null():
    data = "0000 00000001 fffe 8000 00000000"
    value, _ = read("GroupMetadataValue", data, version=0, flexible=False)
    assert (value.protocol, value.leader) == (None, None)


def test_a_known_tag_is_read_whatever_size_it_was_given():
    # As Kafka does, which then reads on behind the field.
    value, reader = read(
        "ConsumerGroupMetadataValue", "00000001 01 00 03 0000000000000005", version=0, flexible=True
    )
    assert (value.metadata_hash, reader.position) == (5, 15)


def test_the_last_of_two_equal_tags_counts():
    value, _ = read(
        "ConsumerGroupMetadataValue",
        "00000001 02 00 08 0000000000000005 00 08 0000000000000006",
        version=0,
        flexible=True,
    )
    assert value.metadata_hash == 6
