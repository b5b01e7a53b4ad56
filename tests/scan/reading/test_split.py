"""Slices: they cover the segment, begin where batches begin, and change nothing about what is read."""

import os
from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch
from kgroup.scan.reductions.scan import merge, newest, scan, split
from tests.log.offsets_log import batch, commit, write
from tests.scan.test_parity import CAPTURES, DAMAGED, columnar, segments

TARGETS = (1, 700, 5000)
CHEAP_DAMAGED = [case for case in DAMAGED if case.name != "gzip-bomb"]


def starts_of(path: Path) -> set[int]:
    return {item.position for item in read_segment(path) if isinstance(item, Batch)}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("capture", CAPTURES[::4], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_slices_lie_end_to_end_and_begin_at_batches(capture: Path, target: int) -> None:
    for path, partition in segments(capture):
        slices = split(path, partition, target)
        size = path.stat().st_size
        assert [part.start for part in slices] == [0, *(part.end for part in slices[:-1])]
        assert slices[-1].end == size
        assert {part.start for part in slices} <= starts_of(path) | {0}
        assert all(part.end - part.start >= target for part in slices[:-1])


@pytest.mark.parametrize(
    "capture", [*CAPTURES[::5], *CHEAP_DAMAGED], ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_any_split_gives_the_same_rows_and_the_same_newest(capture: Path) -> None:
    for path, partition in segments(capture):
        whole = split(path, partition, 1 << 40)
        rows, others, _ = columnar(scan(whole))
        expected = newest(whole)
        for target in TARGETS:
            slices = split(path, partition, target)
            assert columnar(scan(slices))[:2] == (rows, others)
            parts = merge([newest([part]) for part in slices])
            assert parts.commits.to_pylist() == expected.commits.to_pylist()
            assert parts.pending.to_pylist() == expected.pending.to_pylist()
            assert parts.others == expected.others
            assert (parts.records, parts.batches, parts.bytes) == (
                expected.records,
                expected.batches,
                expected.bytes,
            )


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    batches = [batch(n * 3, [commit("g", "t", p, n) for p in range(3)]) for n in range(200)]
    return write(tmp_path, batches)


def indexed(path: Path, entries: list[tuple[int, int]], padding: int = 0) -> None:
    raw = b"".join(
        offset.to_bytes(4, "big") + position.to_bytes(4, "big", signed=True) for offset, position in entries
    )
    path.with_suffix(".index").write_bytes(raw + bytes(padding))


def test_boundaries_come_from_the_index(segment: Path) -> None:
    starts = sorted(starts_of(segment))
    indexed(segment, [(0, starts[50]), (0, starts[120])], padding=80)
    assert [part.start for part in split(segment, 0, 100)] == [0, starts[50], starts[120]]


@pytest.mark.parametrize(
    "entries",
    [[(0, -8)], [(0, 13)], [(0, 14_001)], [(0, 1 << 30)], [(5, 9000), (4, 100)]],
    ids=["negative", "inside the first batch", "inside a batch", "behind the end", "going back"],
)
def test_an_index_that_is_wrong_is_not_believed(segment: Path, entries: list[tuple[int, int]]) -> None:
    without = split(segment, 0, 5000)
    assert len(without) > 2
    indexed(segment, entries)
    assert split(segment, 0, 5000) == without


def test_an_empty_file_is_one_empty_slice(tmp_path: Path) -> None:
    path = write(tmp_path, [])
    assert [(part.start, part.end) for part in split(path, 3, 100)] == [(0, 0)]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nothing\.log"):
        split(tmp_path / "nothing.log", 0, 100)


def test_a_pipe_is_told_from_a_file() -> None:
    read_end, write_end = os.pipe()
    try:
        with pytest.raises(SourceError, match=f"/dev/fd/{read_end}: a pipe, which cannot be read in parts"):
            split(f"/dev/fd/{read_end}", 0, 1000)
    finally:
        os.close(read_end)
        os.close(write_end)
