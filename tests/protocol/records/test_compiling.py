"""The first messages of a kind are read without kafka-python's compiled functions, the others with them."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.protocol import payload
from kgroup.protocol.records import codec
from kgroup.protocol.records.codec import decode_entry, encode_entry, record_schema
from kgroup.protocol.records.entries import OffsetsEntry, Undecodable
from tests.protocol.mutations import mutate, one_record_of_each_kind
from tests.protocol.values_strategy import entries

Read = list[tuple[OffsetsEntry | Undecodable, tuple[bytes | None, bytes | None]]]


def forget() -> None:
    """Let the codecs begin anew."""
    for cached in (record_schema, codec._decode_key):
        cached.cache_clear()


def read(records: list[tuple[bytes, bytes | None]], compiled_after: int) -> Read:
    """The entries of records, and their bytes again, where functions are compiled after so many uses."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(payload, "COMPILED_AFTER", compiled_after)
        forget()
        decoded = [decode_entry(*record) for record in records]
        answer = [(entry, encode_entry(entry)) for entry in decoded]
    forget()
    return answer


def test_both_say_the_same_of_records_of_real_brokers_and_of_what_damage_makes_of_them() -> None:
    rng = Random(20261123)
    records: list[tuple[bytes, bytes | None]] = []
    for key, value in one_record_of_each_kind() * 60:
        damaged = bytearray(key), bytearray(value)
        mutate(damaged[rng.random() < 0.8], rng)
        records += [(key, value), (bytes(damaged[0]), bytes(damaged[1])), (key, None)]
    assert read(records, 1) == read(records, 1 << 30)


@settings(max_examples=200)
@given(st.lists(entries(), min_size=1, max_size=4))
def test_both_write_and_read_every_type_and_version(some: list[OffsetsEntry]) -> None:
    records = [encode_entry(entry) for entry in some] * 2
    assert read(records, 1) == read(records, 1 << 30)


def test_a_kind_is_compiled_when_it_has_been_used_often(monkeypatch: pytest.MonkeyPatch) -> None:
    group_metadata = b"\x00\x02"  # commits have a reader of their own
    key, value = next(record for record in one_record_of_each_kind() if record[0].startswith(group_metadata))
    made: list[object] = []
    monkeypatch.setattr(payload._VersionCodec, "_compile", lambda codec: made.append(codec.shape))
    monkeypatch.setattr(payload, "COMPILED_AFTER", 3)
    forget()
    for _ in range(2):
        decode_entry(key, value)
    assert not made
    decode_entry(key, value)
    assert made
    forget()
