"""Index files: those of real brokers against the segments beside them, and damaged ones."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import SourceError
from kgroup.log.files.index import (
    OffsetEntry,
    OffsetIndex,
    TimeEntry,
    TimeIndex,
    encode_offset_index,
    encode_time_index,
    read_offset_index,
    read_time_index,
)
from kgroup.log.files.log_dir import parse_segment_name
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch
from tests.log.truth import SEGMENTS, name_of

INDEX = OffsetIndex(encode_offset_index([OffsetEntry(110, 4100), OffsetEntry(140, 8300)], 100), 100)
TIMES = TimeIndex(encode_time_index([TimeEntry(1_000, 110), TimeEntry(2_000, 140)], 100), 100)


def base_offset_of(segment: Path) -> int:
    base_offset = parse_segment_name(segment.name)
    assert base_offset is not None
    return base_offset


def batches_of(segment: Path) -> list[Batch]:
    return [item for item in read_segment(segment) if isinstance(item, Batch)]


@pytest.mark.parametrize("segment", SEGMENTS, ids=name_of)
def test_a_brokers_offset_index_points_to_batches(segment: Path) -> None:
    index = read_offset_index(segment.with_suffix(".index"), base_offset_of(segment))
    assert index.problem(segment.stat().st_size) is None
    batches = batches_of(segment)
    begin = {batch.position: batch.base_offset for batch in batches}
    for entry in index:
        assert begin[entry.position] <= entry.offset
    for batch in batches:
        position = index.position_before(batch.base_offset)
        assert position in begin
        assert position <= batch.position


@pytest.mark.parametrize("segment", SEGMENTS, ids=name_of)
def test_nothing_before_an_offset_of_a_brokers_time_index_is_newer_than_it_says(segment: Path) -> None:
    index = read_time_index(segment.with_suffix(".timeindex"), base_offset_of(segment))
    assert index.problem() is None
    records = [record for batch in batches_of(segment) for record in batch.records()]
    for entry in index:
        if entry.timestamp_ms >= 0:
            before = [record.timestamp_ms for record in records if record.offset <= entry.offset]
            assert max(before, default=entry.timestamp_ms) <= entry.timestamp_ms
    for record in records:
        assert index.offset_before(record.timestamp_ms) <= record.offset


@pytest.mark.parametrize("segment", SEGMENTS, ids=name_of)
def test_indexes_encode_to_what_they_were(segment: Path) -> None:
    base_offset = base_offset_of(segment)
    offsets, times = segment.with_suffix(".index"), segment.with_suffix(".timeindex")
    assert encode_offset_index(read_offset_index(offsets, base_offset), base_offset) == offsets.read_bytes()
    assert encode_time_index(read_time_index(times, base_offset), base_offset) == times.read_bytes()


@pytest.mark.parametrize(
    ("offset", "position"), [(99, 0), (100, 0), (109, 0), (110, 4100), (139, 4100), (140, 8300), (999, 8300)]
)
def test_a_lookup_finds_the_last_entry_that_is_not_behind(offset: int, position: int) -> None:
    assert INDEX.position_before(offset) == position


@pytest.mark.parametrize(
    ("timestamp_ms", "offset"), [(0, 100), (1_000, 100), (1_001, 110), (2_000, 110), (2_001, 140)]
)
def test_a_time_lookup_never_skips_a_record_of_that_time(timestamp_ms: int, offset: int) -> None:
    """A record at or before offset 110 may have the very timestamp 1000."""
    assert TIMES.offset_before(timestamp_ms) == offset


@given(entries=st.lists(st.tuples(st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1)), max_size=20))
def test_the_zeros_of_a_preallocated_index_are_no_entries(entries: list[tuple[int, int]]) -> None:
    written = [OffsetEntry(*entry) for entry in entries]
    raw = encode_offset_index(written, 0)
    assert list(OffsetIndex(raw + bytes(8 * 50), 0)) == written
    times = [TimeEntry(timestamp_ms, offset) for offset, timestamp_ms in entries]
    assert list(TimeIndex(encode_time_index(times, 0) + bytes(12 * 50), 0)) == times


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (encode_offset_index([OffsetEntry(5, 900)], 0) + b"\1\1\1", "3 bytes after"),
        (encode_offset_index([OffsetEntry(5, 900), OffsetEntry(5, 950)], 0), "entry 1"),
        (encode_offset_index([OffsetEntry(5, 900), OffsetEntry(9, 100)], 0), "entry 1"),
        (encode_offset_index([OffsetEntry(5, 1000)], 0), "byte 1000 of 1000"),
        (encode_offset_index([OffsetEntry(-5, 10)], 0), "entry 0"),
    ],
)
def test_an_offset_index_that_cannot_be_right_says_why(raw: bytes, problem: str) -> None:
    flaw = OffsetIndex(raw, 0).problem(1000)
    assert flaw is not None
    assert problem in flaw


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (encode_time_index([TimeEntry(5, 9)], 0) + b"\1", "1 bytes after"),
        (encode_time_index([TimeEntry(5, 9), TimeEntry(4, 10)], 0), "entry 1"),
        (encode_time_index([TimeEntry(5, 9), TimeEntry(6, 8)], 0), "entry 1"),
    ],
)
def test_a_time_index_that_cannot_be_right_says_why(raw: bytes, problem: str) -> None:
    flaw = TimeIndex(raw, 0).problem()
    assert flaw is not None
    assert problem in flaw


def test_a_missing_index_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        read_offset_index(tmp_path / "0.index", 0)
