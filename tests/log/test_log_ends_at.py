"""Where a data log ended at given times, in real brokers' logs and in ones made by hand."""

from pathlib import Path

import pytest

from kgroup.log.batch import Batch, encode_batch
from kgroup.log.index import OffsetEntry, TimeEntry, encode_offset_index, encode_time_index
from kgroup.log.log_ends_at import log_ends_at
from kgroup.log.partition import PartitionFolder, read_partition_folder
from kgroup.log.record import LogRecord
from kgroup.log.segment import read_segment
from tests.log.truth import FIXTURES

LIVES = sorted(FIXTURES.glob("*/lives"))


def read(path: Path) -> PartitionFolder:
    folder = read_partition_folder(path)
    assert folder is not None
    return folder


def log_of(tmp_path: Path, *segments: tuple[int, list[int]], indexed: bool = True) -> PartitionFolder:
    """Segments of (base offset, timestamps), a batch of one record for each."""
    folder = tmp_path / "orders-0"
    folder.mkdir()
    for base, times in segments:
        batches = [
            encode_batch([LogRecord(base + number, time, b"k", b"v")], base_offset=base + number)
            for number, time in enumerate(times)
        ]
        path = folder / f"{base:020}.log"
        path.write_bytes(b"".join(batches))
        path.with_suffix(".index").touch()
        if indexed:
            size = len(batches[0])
            offsets = [OffsetEntry(base + number, number * size) for number in range(1, len(batches))]
            largest = [
                TimeEntry(max(times[: number + 1]), base + number) for number in range(1, len(batches))
            ]
            path.with_suffix(".index").write_bytes(encode_offset_index(offsets, base))
            path.with_suffix(".timeindex").write_bytes(encode_time_index(largest, base))
    return read(folder)


@pytest.mark.parametrize("capture", LIVES, ids=lambda path: path.parent.name)
def test_in_a_brokers_topic_the_end_is_behind_the_last_batch_written_before(capture: Path) -> None:
    folder = read(capture / "payments-0")
    batches = [item for item in read_segment(folder.segments[0].path) if isinstance(item, Batch)]
    times = sorted({batch.max_timestamp_ms + step for batch in batches for step in (0, 1)})
    expected = [
        max((batch.last_offset + 1 for batch in batches if batch.max_timestamp_ms < time), default=0)
        for time in times
    ]
    assert len(times) > 100
    assert log_ends_at(folder, times) == expected


@pytest.mark.parametrize("indexed", [True, False])
def test_several_segments_with_and_without_indexes(tmp_path: Path, indexed: bool) -> None:
    folder = log_of(tmp_path, (0, [1000, 2000, 3000]), (3, [4000, 5000]), (5, [6000]), indexed=indexed)
    asked = [500, 1000, 1001, 3000, 3500, 4500, 5500, 6000, 6001, 9999]
    assert log_ends_at(folder, asked) == [0, 0, 1, 2, 3, 4, 5, 5, 6, 6]


def test_before_what_retention_left_nothing_is_known(tmp_path: Path) -> None:
    folder = log_of(tmp_path, (7, [4000, 5000]))
    assert log_ends_at(folder, [1000, 4000, 4001, 5001]) == [None, None, 8, 9]


def test_times_that_go_back_in_the_log_do_not_move_the_end_back(tmp_path: Path) -> None:
    folder = log_of(tmp_path, (0, [1000, 5000, 2000, 6000]))
    assert log_ends_at(folder, [1500, 3000, 5500, 7000]) == [1, 1, 3, 4]


@pytest.mark.parametrize("index", [b"\xff" * 12, b"\0" * 11 + b"\x01\x05"])
def test_a_damaged_index_is_not_believed(tmp_path: Path, index: bytes) -> None:
    folder = log_of(tmp_path, (0, [1000, 2000, 3000]))
    Path(folder.segments[0].path).with_suffix(".timeindex").write_bytes(index)
    assert log_ends_at(folder, [2500]) == [2]


def test_an_empty_folder_has_no_past(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / "leader-epoch-checkpoint").write_text("0\n0\n")
    assert log_ends_at(read(folder), [1, 2]) == [None, None]
