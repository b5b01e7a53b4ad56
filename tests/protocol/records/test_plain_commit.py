"""The quick reader of commits beside the codec that it stands in for."""

from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.protocol.payload import Payload
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.plain_commit import read_plain_commit, read_plain_commit_key
from kgroup.protocol.records.values import OffsetCommitValue
from tests.protocol.mutations import mutate
from tests.protocol.values_strategy import instances

CODEC = Payload(OffsetCommitValue)
KEY_CODEC = Payload(OffsetCommitKey)
VERSIONS = range(CODEC.latest_version + 1)


def encoded(value: OffsetCommitValue, version: int) -> bytes:
    return version.to_bytes(2) + CODEC.encode(value, version)


@pytest.mark.parametrize("version", VERSIONS)
@given(st.data())
def test_a_plain_commit_is_read_as_the_codec_reads_it(version: int, data: st.DataObject) -> None:
    raw = encoded(data.draw(instances(CODEC, version)), version)
    commit = read_plain_commit(raw, version)
    assert commit is None or commit == CODEC.decode(raw, version).value


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("metadata", ["", "in short", "Grüße", "x" * 126])
@pytest.mark.parametrize("topic_id", [None, UUID(int=7)])
def test_what_brokers_write_needs_no_codec(version: int, metadata: str, topic_id: UUID | None) -> None:
    commit = OffsetCommitValue(
        offset=2**63 - 1,
        leader_epoch=5 if version >= 3 else -1,
        metadata=metadata,
        commit_timestamp=1_700_000_000_000,
        expire_timestamp=1_700_000_100_000 if version == 1 else -1,
        topic_id=topic_id if version >= 4 else None,
    )
    assert read_plain_commit(encoded(commit, version), version) == commit


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_not_plain_is_left_to_the_codec(version: int) -> None:
    rng = Random(version)
    commit = OffsetCommitValue(
        offset=1, metadata="text", commit_timestamp=2, topic_id=UUID(int=7) if version >= 4 else None
    )
    for _ in range(2_000):
        raw = bytearray(encoded(commit, version))
        mutate(raw, rng)
        raw[:2] = version.to_bytes(2)
        read = read_plain_commit(bytes(raw), version)
        if read is not None:
            decoded = CODEC.decode(bytes(raw), version)
            assert (read, len(raw), True) == (decoded.value, decoded.end, decoded.canonical)


@pytest.mark.parametrize(("version", "length_at"), [(0, 10), (1, 10), (2, 10), (3, 14)])
def test_metadata_of_a_negative_length_is_left_to_the_codec(version: int, length_at: int) -> None:
    """A Java string's length has a sign: 0xffff is null, and not 65535 bytes."""
    raw = encoded(OffsetCommitValue(offset=1, metadata="", commit_timestamp=2), version)
    long = raw[:length_at] + b"\xff\xff" + b"x" * 0xFFFF + raw[length_at + 2 :]
    assert read_plain_commit(long, version) is None


@given(instances(KEY_CODEC, 0))
def test_a_plain_key_is_read_as_the_codec_reads_it(key: OffsetCommitKey) -> None:
    raw = b"\x00\x01" + KEY_CODEC.encode(key, 0)
    assert read_plain_commit_key(raw) == KEY_CODEC.decode(raw, 0).value


def test_a_key_that_is_not_plain_is_left_to_the_codec() -> None:
    rng = Random(1)
    plain = b"\x00\x01" + KEY_CODEC.encode(OffsetCommitKey(group="a group", topic="orders", partition=-3), 0)
    for _ in range(4_000):
        raw = bytearray(plain)
        mutate(raw, rng)
        raw[:2] = plain[:2]
        read = read_plain_commit_key(bytes(raw))
        if read is not None:
            decoded = KEY_CODEC.decode(bytes(raw), 0)
            assert (read, len(raw), True) == (decoded.value, decoded.end, decoded.canonical)


@pytest.mark.parametrize("raw", [b"", b"\x00\x01", b"\x00\x01\xff\xff" + bytes(10), bytes(3)])
def test_a_key_that_is_cut_short_or_null_is_not_plain(raw: bytes) -> None:
    assert read_plain_commit_key(raw) is None
