"""Segments batch by batch: real ones against Kafka's own reading, and damaged ones."""

import io
import os
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.segment import read_records, read_segment, read_stream
from kgroup.log.format.batch import Batch, Damage, LogRecord, encode_batch
from tests.log.truth import (
    CAPTURES,
    DAMAGED,
    DAMAGED_CASES,
    FIXTURES,
    SEGMENTS,
    name_of,
    read_as_truth,
    truth_of,
)

HEALTHY = DAMAGED / "healthy/__consumer_offsets-5/00000000000000000000.log"
# The records themselves are odd in these, the batches are not: nothing is damaged at the level of the log.
ODD_RECORDS = {
    "bad-subscription",
    "empty-value",
    "future-group-value",
    "future-offset-value",
    "gzip-bomb",
    "members-array-huge",
    "negative-key-version",
    "negative-string",
    "null-key",
    "short-key",
    "short-value",
    "string-past-end",
    "trailing-bytes-in-value",
    "unknown-key-null-value",
    "unknown-key-version",
}
DAMAGED_LOGS = {
    name: case for name, case in DAMAGED_CASES.items() if "damage_at" in case and name not in ODD_RECORDS
}


def batch_of(offset: int, value: bytes = b"v") -> bytes:
    return encode_batch([LogRecord(offset=offset, timestamp_ms=5, key=b"k", value=value)])


def read(segment: Path) -> list[tuple[Batch, list[LogRecord]] | Damage]:
    return list(read_records(read_segment(segment), str(segment)))


def damage_in(segment: Path) -> list[Damage]:
    return [item for item in read(segment) if isinstance(item, Damage)]


def offsets_in(segment: Path) -> list[int]:
    return [record.offset for item in read(segment) if not isinstance(item, Damage) for record in item[1]]


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    return tmp_path / "00000000000000000000.log"


@pytest.mark.parametrize("capture", CAPTURES, ids=name_of)
def test_every_record_of_a_capture_is_what_kafka_reads(capture: Path) -> None:
    assert list(read_as_truth(capture)) == list(truth_of(capture))


@pytest.mark.parametrize("segment", SEGMENTS[::7], ids=name_of)
def test_slices_at_batch_boundaries_are_the_segment(segment: Path) -> None:
    whole = list(read_segment(segment))
    cuts = [0, *(item.position for item in whole[1::3]), segment.stat().st_size]
    sliced = [item for start, end in pairwise(cuts) for item in read_segment(segment, start=start, end=end)]
    assert sliced == whole


@pytest.mark.parametrize("segment", SEGMENTS[::11], ids=name_of)
def test_a_stream_is_read_like_the_file(segment: Path) -> None:
    assert list(read_stream(io.BytesIO(segment.read_bytes()), "a pipe")) == list(read_segment(segment))


@pytest.mark.parametrize(("name", "case"), DAMAGED_CASES.items(), ids=DAMAGED_CASES)
def test_all_healthy_batches_of_a_damaged_segment_come_out(name: str, case: dict[str, Any]) -> None:
    items = read(DAMAGED / case["file"])
    healthy = [item[0] for item in items if not isinstance(item, Damage)]
    assert len(healthy) == case.get("healthy_batches", len(healthy))
    damage_at = case.get("damage_at", case["bytes"])
    before = [batch for batch in healthy if batch.position < damage_at]
    assert len(before) == case.get("healthy_before", len(healthy))


@pytest.mark.parametrize(("name", "case"), DAMAGED_LOGS.items(), ids=DAMAGED_LOGS)
def test_damage_is_reported_where_it_begins(name: str, case: dict[str, Any]) -> None:
    (damage,) = damage_in(DAMAGED / case["file"])
    assert damage.position == case["damage_at"]
    assert damage.segment == str(DAMAGED / case["file"])
    assert damage.why


@pytest.mark.parametrize("name", sorted(ODD_RECORDS | {"healthy", "healthy-gzip"}))
def test_odd_records_in_healthy_batches_are_no_damage(name: str) -> None:
    assert damage_in(DAMAGED / DAMAGED_CASES[name]["file"]) == []


@pytest.mark.parametrize("name", sorted(DAMAGED_LOGS.keys() - {"offsets-go-back"}))
def test_batches_and_damage_cover_every_byte_once(name: str) -> None:
    path = DAMAGED / DAMAGED_LOGS[name]["file"]
    end = 0
    for item in read_segment(path):
        assert item.position == end
        end += item.size
    assert end == path.stat().st_size


@pytest.mark.parametrize("name", sorted(DAMAGED_CASES.keys() - {"empty-file"}))
def test_a_damaged_stream_is_reported_like_the_file(name: str) -> None:
    path = DAMAGED / DAMAGED_CASES[name]["file"]

    def places(items: object) -> list[tuple[type, int, int]]:
        return [(type(item), item.position, item.size) for item in items]  # type: ignore[attr-defined]

    assert places(read_stream(io.BytesIO(path.read_bytes()), "-")) == places(read_segment(path))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("bit-flip-in-crc", "header says 0x7448d136, the bytes give 0x7449d136"),
        ("bad-magic", "magic: 5"),
        ("negative-magic", "magic: -1"),
        ("zero-tail", "65536 zero bytes"),
        ("zero-page-inside", "4096 zero bytes"),
        ("length-huge", "2147483659 bytes is cut short after 5836"),
        ("truncated-mid-header", "506 bytes is cut short after 30"),
        ("unknown-codec", "unknown compression codec 6"),
        ("bad-gzip-payload", "87 bytes of gzip do not unpack"),
        ("count-too-large", "header says 5 records"),
        ("offsets-go-back", "offsets go back: 8 after 152"),
        ("text-file", "no batch in the whole file"),
        ("empty-file", "the file is empty"),
    ],
)
def test_the_report_says_what_is_wrong(name: str, why: str) -> None:
    (damage,) = damage_in(DAMAGED / DAMAGED_CASES[name]["file"])
    assert why in damage.why


def test_each_of_several_damaged_batches_is_reported_by_itself(segment: Path) -> None:
    batches = [bytearray(batch_of(offset)) for offset in range(5)]
    for damaged in batches[1:4]:
        damaged[-1] ^= 1
    segment.write_bytes(b"".join(batches))
    size = len(batches[0])
    assert [(damage.position, damage.size) for damage in damage_in(segment)] == [
        (size, size),
        (2 * size, size),
        (3 * size, size),
    ]
    assert offsets_in(segment) == [0, 4]


def test_a_length_that_swallows_healthy_batches_loses_none(segment: Path) -> None:
    """The length of the first batch is changed so that it ends exactly where the fourth one begins."""
    batches = [bytearray(batch_of(offset)) for offset in range(5)]
    batches[0][8:12] = (3 * len(batches[0]) - 12).to_bytes(4, "big")
    segment.write_bytes(b"".join(batches))
    assert offsets_in(segment) == [1, 2, 3, 4]
    (damage,) = damage_in(segment)
    assert (damage.position, damage.size) == (0, len(batches[0]))


@pytest.mark.parametrize("offset", [1, 11, 21, 22, 60, 61])
def test_a_segment_that_lost_its_first_bytes_is_read_from_the_second_batch_on(
    segment: Path, offset: int
) -> None:
    raw = b"".join(batch_of(offset) for offset in range(3))
    segment.write_bytes(raw[offset:])
    assert offsets_in(segment) == [1, 2]
    (damage,) = damage_in(segment)
    assert (damage.position, damage.size) == (0, len(batch_of(0)) - offset)


def test_a_batch_that_lost_its_last_byte_to_the_next_one_costs_neither(segment: Path) -> None:
    """The lost byte is a zero, as is the first of the next batch: both are whole, one inside the other."""
    first, second = batch_of(0), batch_of(1)
    assert first[-1] == second[0] == 0
    segment.write_bytes(first[:-1] + second)
    assert offsets_in(segment) == [0, 1]
    (damage,) = damage_in(segment)
    assert (damage.position, damage.size) == (len(first) - 1, 0)
    assert "1 bytes are missing" in damage.why


def test_a_batch_across_the_search_chunk_is_found(segment: Path) -> None:
    """Damage of every length around 256 KiB, the bytes that a search looks at together."""
    for size in (262_083, 262_084, 262_143, 262_144, 262_145, 524_288):
        segment.write_bytes(batch_of(0) + b"\x99" * size + batch_of(1) + batch_of(2))
        assert offsets_in(segment) == [0, 1, 2]


def test_healthy_batches_in_a_sea_of_forged_headers_are_found(segment: Path) -> None:
    """Every 61 bytes claim a batch of a megabyte: the cost must not be the product of the two."""
    forged = bytearray(batch_of(3)[:61])
    forged[8:12] = (1_000_000).to_bytes(4, "big")
    segment.write_bytes(bytes(forged) * 30_000 + batch_of(7) + batch_of(8))
    assert offsets_in(segment) == [7, 8]
    (damage,) = damage_in(segment)
    assert damage.size == 61 * 30_000


def test_an_empty_segment_with_its_index_is_healthy(segment: Path) -> None:
    segment.touch()
    assert damage_in(segment) != []
    segment.with_suffix(".index").touch()
    assert damage_in(segment) == []


def test_memory_does_not_grow_with_the_segment(segment: Path) -> None:
    """64 MiB: real batches, a hole of zeros, noise, and a length that claims 2 GiB."""
    block = batch_of(0, b"x" * 500_000)
    with segment.open("wb") as file:
        for _ in range(40):
            file.write(block)
        file.seek(20_000_000, os.SEEK_CUR)
        file.write(os.urandom(20_000_000))
        file.write(batch_of(1)[:8] + b"\x7f\xff\xff\xff")
        for _ in range(4):
            file.write(block)
    tracemalloc.start()
    tracemalloc.reset_peak()
    try:
        healthy = sum(1 for item in read_segment(segment) if isinstance(item, Batch))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert healthy == 44
    assert peak < 12_000_000


def test_a_missing_file_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"gone\.log: No such file or directory"):
        list(read_segment(tmp_path / "gone.log"))


def test_a_directory_is_a_source_error() -> None:
    with pytest.raises(SourceError, match="Is a directory"):
        list(read_segment(FIXTURES))


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb") as pipe:
        pipe.write(HEALTHY.read_bytes())
    try:
        assert len(list(read_segment(f"/dev/fd/{read_end}"))) == 60
    finally:
        os.close(read_end)
