"""Records just as Kafka writes them are read the short way; the long one and kafka-python agree with it."""

from dataclasses import is_dataclass, replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from kafka.protocol.schemas.fields.codecs.encode_buffer import EncodeBuffer

from kgroup.errors import DecodeError, InputError
from kgroup.protocol import payload
from kgroup.protocol.payload import Payload
from kgroup.protocol.records import codec
from kgroup.protocol.records.codec import decode_entry, encode_entry, record_schema
from kgroup.protocol.records.consumer_group import ClassicMemberMetadata, ConsumerGroupMemberMetadataValue
from kgroup.protocol.records.entries import OffsetsEntry, Undecodable
from kgroup.protocol.records.values import GroupMetadataValue
from kgroup.protocol.value_reader import FieldCodec, StructCodec, read_varint, struct_reader
from kgroup.protocol.value_writer import write_varint
from tests.protocol.kafka_messages import TaggedNullableStruct, message_class, new_message
from tests.protocol.mutations import mutate, one_record_of_each_kind
from tests.protocol.values_strategy import entries

Read = list[tuple[OffsetsEntry | Undecodable, tuple[bytes | None, bytes | None]]]


def read(records: list[tuple[bytes | None, bytes | None]]) -> Read:
    """The entries of records, and their bytes again."""
    codec._decode_key.cache_clear()
    decoded = [decode_entry(*record) for record in records]
    return [(entry, encode_entry(entry)) for entry in decoded]


def read_the_long_way(records: list[tuple[bytes | None, bytes | None]]) -> Read:
    """The same, each value through the reader that knows what is odd."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(payload._VersionCodec, "decode", payload._VersionCodec._decode_strictly)
        answer = read(records)
    codec._decode_key.cache_clear()
    return answer


def test_both_say_the_same_of_records_of_real_brokers_and_of_what_damage_makes_of_them() -> None:
    rng = Random(20261123)
    records: list[tuple[bytes | None, bytes | None]] = []
    for key, value in one_record_of_each_kind() * 60:
        damaged = bytearray(key), bytearray(value)
        mutate(damaged[rng.random() < 0.8], rng)
        records += [(key, value), (bytes(damaged[0]), bytes(damaged[1])), (key, None)]
    assert read(records) == read_the_long_way(records)


def test_a_text_that_many_records_have_is_there_once() -> None:
    hosts = []
    for key, value in one_record_of_each_kind() * 2:
        entry = decode_entry(key, value)
        if isinstance(entry, OffsetsEntry) and isinstance(entry.value, ConsumerGroupMemberMetadataValue):
            hosts.append(entry.value.client_host)
    assert len(hosts) > 1 and all(host is hosts[0] for host in hosts)


def test_what_brokers_write_goes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    records: list[tuple[bytes | None, bytes | None]] = list(one_record_of_each_kind())
    expected = read(records)
    monkeypatch.setattr(payload._VersionCodec, "_decode_strictly", None)
    assert read(records) == expected


@settings(max_examples=200)
@given(entries())
def test_every_type_and_version_is_read_the_short_way(entry: OffsetsEntry) -> None:
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(payload._VersionCodec, "_decode_strictly", None)
        assert read([encode_entry(entry)])[0][0] == entry


def as_message(struct: Any, version: int, value: Any) -> Any:
    """kafka-python's object of a value."""
    fields = {}
    for field in struct.fields.values():
        if field.for_version_q(version):
            held = getattr(value, field.name)
            if isinstance(held, tuple):
                held = [
                    as_message(field.array_of, version, one) if is_dataclass(one) else one for one in held
                ]
            elif is_dataclass(held):
                held = as_message(field, version, held)
            fields[field.name] = held
    return new_message(struct, version, fields)


@settings(max_examples=300)
@given(entries())
def test_every_type_and_version_is_written_as_kafka_python_writes_it(entry: OffsetsEntry) -> None:
    payloads = [(record_schema(entry.type).key, entry.key, 0)]
    if entry.value is not None:
        assert entry.value_version is not None
        payloads.append((record_schema(entry.type).value, entry.value, entry.value_version))
    for of_class, value, version in payloads:
        message = message_class(of_class.name)
        if any(isinstance(field, TaggedNullableStruct) for field in message._struct.fields.values()):
            continue  # kafka-python cannot
        is_flexible = message.flexible_version_q(version)
        out = EncodeBuffer(256)
        message._struct.encode_into(
            as_message(message._struct, version, value),
            out,
            version=version,
            compact=is_flexible,
            tagged=is_flexible,
        )
        assert of_class.encode(value, version) == bytes(out.buf[: out.pos])


VERSION = b"\x00\x00"
MEMBER_METADATA = b"\x00\x05"
GROUP_3 = b"\x00\x03" + b"\x00\x00" + bytes(4) + b"\xff\xff" * 2 + bytes(8) + bytes(4)


@pytest.mark.parametrize(
    ("odd", "data"),
    [
        ("an array longer than the rest", GROUP_3[:-4] + b"\x00\x00\x00\x01"),
        ("null where there is none", GROUP_3[:2] + b"\xff\xff" + GROUP_3[4:]),
        ("a length below -1", GROUP_3[:8] + b"\xff\xfe" + GROUP_3[10:]),
        ("text that is no UTF-8", GROUP_3[:2] + b"\x00\x01\xff" + GROUP_3[4:]),
        ("cut short", GROUP_3[:-1]),
        ("cut within a string", GROUP_3[:2] + b"\x00\x05abc"),
    ],
)
def test_what_is_odd_of_fixed_lengths_goes_the_long_way(odd: str, data: bytes) -> None:
    codec = Payload(GroupMetadataValue)._codec(3)
    assert codec._read(GROUP_3, 2)[1] == len(GROUP_3)
    with pytest.raises(payload.ODD):
        codec._read(data, 2)


def test_tags_are_taken_in_order_known_and_not_at_their_default() -> None:
    of_member = Payload(ConsumerGroupMemberMetadataValue)
    reader = of_member._codec(0)._read
    written, *_ = (value for key, value in one_record_of_each_kind() if key[:2] == MEMBER_METADATA)
    absent = ClassicMemberMetadata(session_timeout_ms=0, supported_protocols=())
    value = replace(of_member.decode(written, 0).value, classic_member_metadata=absent)
    plain = VERSION + of_member.encode(value, 0)
    assert reader(plain, 2) == (value, len(plain))
    assert reader(plain[:-1] + b"\x01\x00\x01\x00", 2)[0].classic_member_metadata is None
    with_classic = b"\x01\x00\x07\x01\x00\x00\x00\x07\x01\x00"  # a timeout of 7, no protocols
    assert reader(plain[:-1] + with_classic, 2)[0].classic_member_metadata.session_timeout_ms == 7
    for odd in (
        b"\x01\x00\x07\x01" + bytes(4) + b"\x01\x00",  # its default
        b"\x01\x00\x06" + with_classic[3:],  # of another size than it says
        b"\x01\x00\x07\x02" + with_classic[4:],  # neither there nor null
        b"\x01\x01\x00",  # unknown
        b"\x02" + with_classic[1:] * 2,  # twice
        b"\x80\x00",  # none, in more bytes than it takes
    ):
        with pytest.raises(payload.ODD):
            reader(plain[:-1] + odd, 2)


def test_a_string_is_as_long_as_kafka_allows_whatever_its_length_is_written_in() -> None:
    of_member = Payload(ConsumerGroupMemberMetadataValue)
    written, *_ = (value for key, value in one_record_of_each_kind() if key[:2] == MEMBER_METADATA)
    longest = replace(of_member.decode(written, 0).value, rack_id="r" * 0x7FFF)
    encoded = VERSION + of_member.encode(longest, 0)
    assert of_member._codec(0)._read(encoded, 2) == (longest, len(encoded))
    too_long = replace(longest, rack_id="r" * 0x8000)
    with pytest.raises(InputError, match="a string of 32768 bytes; 32767 are allowed"):
        of_member.encode(too_long, 0)
    length, longer = bytearray(), bytearray()
    write_varint(0x7FFF + 1, length)
    write_varint(0x8000 + 1, longer)
    data = encoded.replace(bytes(length) + b"r", bytes(longer) + b"rr", 1)
    with pytest.raises(payload.ODD):
        of_member._codec(0)._read(data, 2)
    with pytest.raises(DecodeError, match="a string of 32768 bytes; 32767 are allowed"):
        of_member.decode(data, 0)


def test_an_id_that_is_cut_short_is_odd_though_it_has_only_zeros() -> None:
    fields = (FieldCodec(name="topic_id", type_name="uuid"),)
    reader = struct_reader(StructCodec(value_class=dict, is_flexible=False, fields=fields))
    assert reader(bytes(16), 0) == ({"topic_id": None}, 16)
    with pytest.raises(payload.ODD):
        reader(bytes(15), 0)


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 16_383, 16_384, 2**31 - 1])
def test_varints_are_as_short_as_can_be(number: int) -> None:
    out = bytearray(b"!")
    write_varint(number, out)
    assert read_varint(bytes(out), 1) == (number, len(out))
    longer = bytes([*out[:-1], out[-1] | 0x80, 0])
    with pytest.raises(ValueError, match=r"^$"):
        read_varint(longer, 1)


@pytest.mark.parametrize("raw", [b"\xff\xff\xff\xff\x08", b"\x80\x80\x80\x80\x80\x01"])
def test_varints_that_java_would_cut_off_are_odd(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        read_varint(raw, 0)
