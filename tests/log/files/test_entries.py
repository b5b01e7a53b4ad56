"""From segments to what their records say, on the plain path."""

import io
from collections.abc import Iterable

import pytest

from kgroup.log.files.entries import ReadRecord, decode_marker, read_decoded, read_entries
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import Damage, LogRecord, decode_batch, encode_batch
from kgroup.protocol.records.entries import (
    LoggedEntry,
    OffsetsEntry,
    RecordType,
    TransactionMarker,
    Undecodable,
)
from tests.log.truth import DAMAGED, DAMAGED_CASES, FIXTURES

TRANSACTIONS = FIXTURES / "3.9.1/lives/__consumer_offsets-48"


def entries_of(items: Iterable[LoggedEntry | Damage]) -> list[LoggedEntry]:
    return [item for item in items if isinstance(item, LoggedEntry)]


def marker(key: bytes | None, value: bytes | None) -> TransactionMarker | Undecodable:
    record = LogRecord(offset=4, timestamp_ms=0, key=key, value=value)
    raw = encode_batch([record], control=True, transactional=True, producer_id=7, producer_epoch=2)
    batch = decode_batch(raw)
    return decode_marker(batch, batch.records()[0])


def test_an_entry_has_its_place_in_the_log() -> None:
    entries = entries_of(read_entries(open_sources([TRANSACTIONS])))
    assert {entry.partition for entry in entries} == {48}
    assert [entry.offset for entry in entries] == list(range(13))
    assert {entry.leader_epoch for entry in entries} == {0}
    first = entries[0].entry
    assert isinstance(first, OffsetsEntry)
    assert first.type is RecordType.GROUP_METADATA
    assert entries[0].timestamp_ms > 1_700_000_000_000


def test_transactional_entries_name_their_producer_and_markers_end_them() -> None:
    entries = entries_of(read_entries(open_sources([TRANSACTIONS])))
    ends = [
        (entry.offset, entry.entry.producer_id, entry.entry.producer_epoch, entry.entry.committed)
        for entry in entries
        if isinstance(entry.entry, TransactionMarker)
    ]
    assert ends == [(3, 0, 0, True), (7, 0, 1, False), (10, 1, 0, True), (12, 2, 0, True)]
    assert {entry.offset for entry in entries if entry.producer_id is not None} == {*range(1, 13)} - {4}


def test_batches_of_old_formats_have_no_leader_epoch() -> None:
    entries = entries_of(read_entries(open_sources([FIXTURES / "1.1.1/format-0.9"])))
    assert len(entries) == 203
    assert {(entry.leader_epoch, entry.timestamp_ms, entry.producer_id) for entry in entries} == {
        (None, -1, None)
    }


def test_a_batch_that_the_cleaner_emptied_is_read_and_has_no_entry() -> None:
    sources = open_sources([FIXTURES / "3.9.1/compacted/__consumer_offsets-11"])
    empty = [item for item in read_decoded(sources) if isinstance(item, ReadRecord) and item.record is None]
    assert [(item.batch.base_offset, item.batch.count, item.entry) for item in empty] == [(169, 0, None)]
    assert 169 not in {entry.offset for entry in entries_of(read_entries(sources))}


def test_standard_input_is_read_once_from_its_start() -> None:
    raw = (TRANSACTIONS / "00000000000000000000.log").read_bytes()
    entries = entries_of(read_entries(open_sources(["-"]), stdin=io.BytesIO(raw)))
    assert [entry.offset for entry in entries] == list(range(13))
    assert {entry.partition for entry in entries} == {-1}


@pytest.mark.parametrize("name", ["bad-gzip-payload", "count-too-small", "endless-varint", "noise-inside"])
def test_damage_comes_between_the_entries_around_it(name: str) -> None:
    case = DAMAGED_CASES[name]
    items = list(read_entries(open_sources([DAMAGED / case["file"]])))
    (damage,) = (number for number, item in enumerate(items) if isinstance(item, Damage))
    assert items[damage].position == case["damage_at"]
    assert len(items) > damage + 1 or case["healthy_batches"] == case["healthy_before"]


@pytest.mark.parametrize("name", ["unknown-key-version", "short-value", "null-key", "members-array-huge"])
def test_an_undecodable_record_is_an_entry_with_its_bytes(name: str) -> None:
    entries = entries_of(read_entries(open_sources([DAMAGED / DAMAGED_CASES[name]["file"]])))
    (undecodable,) = (entry for entry in entries if isinstance(entry.entry, Undecodable))
    assert undecodable.offset == 153
    assert undecodable.entry.why


COMMIT = b"\0\0\0\1"


def test_a_marker_says_how_the_transaction_ended() -> None:
    assert marker(COMMIT, b"\0\0\0\0\0\5") == TransactionMarker(
        producer_id=7, producer_epoch=2, committed=True, coordinator_epoch=5
    )
    aborted = marker(b"\0\0\0\0", b"\0\0\0\0\0\5")
    assert isinstance(aborted, TransactionMarker)
    assert not aborted.committed


def test_a_marker_of_a_later_version_is_read_as_far_as_it_is_known() -> None:
    assert isinstance(marker(b"\0\1\0\1", b"\0\1\0\0\0\5more"), TransactionMarker)


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        (b"\0\0\0\2", b"\0\0\0\0\0\5", "control record of type 2"),
        (b"\0\0\0", b"\0\0\0\0\0\5", "too short"),
        (COMMIT, b"\0\0\0\0\0", "too short"),
        (None, b"\0\0\0\0\0\5", "too short"),
        (COMMIT, None, "too short"),
    ],
)
def test_a_control_record_that_ends_no_transaction_is_undecodable(
    key: bytes | None, value: bytes | None, why: str
) -> None:
    undecodable = marker(key, value)
    assert isinstance(undecodable, Undecodable)
    assert why in undecodable.why
    assert (undecodable.key, undecodable.value) == (key, value)
