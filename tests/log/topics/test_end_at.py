"""Log ends of the past: by the timestamps that Kafka read from real logs, and of logs made by hand."""

import json
import shutil
from pathlib import Path

import pytest

from kgroup.log.files.log_dir import PartitionFolder, read_partition_folder
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.log.topics.end_at import log_end_at, log_ends_at
from tests.log.truth import CAPTURES, FIXTURES, name_of

COMPACTED = FIXTURES / "3.9.1/compacted/__consumer_offsets-11"


def read(path: Path) -> PartitionFolder:
    folder = read_partition_folder(path)
    assert folder is not None
    return folder


def true_times(capture: Path) -> dict[int, list[tuple[int, int]]]:
    """By partition, the offset and timestamp of every record, control records too, as Kafka reads them."""
    times: dict[int, list[tuple[int, int]]] = {}
    for line in (capture / "truth.jsonl").read_text().splitlines():
        truth = json.loads(line)
        if "offset" in truth:
            times.setdefault(truth["partition"], []).append((truth["offset"], truth["timestamp"]))
    return times


def expected_end(times: list[tuple[int, int]], time_ms: int, end: int | None) -> int | None:
    newer = next((index for index, (_, timestamp) in enumerate(times) if timestamp > time_ms), None)
    if newer is None:
        return end
    return times[newer][0] if newer > 0 or times[0][0] == 0 else None


@pytest.mark.parametrize("capture", CAPTURES, ids=name_of)
def test_at_many_times_of_a_brokers_logs(capture: Path) -> None:
    for partition, times in true_times(capture).items():
        folder = read(capture / f"__consumer_offsets-{partition}")
        first, last = min(time for _, time in times), max(time for _, time in times)
        for time_ms in (first - 1, *range(first, last + 1, max(1, (last - first) // 12)), last):
            expected = expected_end(times, time_ms, folder.log_end_offset())
            assert log_end_at(folder, time_ms) == expected, (partition, time_ms)


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("left", [None, b"", b"\xff" * 24])
def test_without_indexes_or_with_wrong_ones_the_segments_say_it(
    tmp_path: Path, suffix: str, left: bytes | None
) -> None:
    times = true_times(COMPACTED.parent)[11]
    folder = Path(shutil.copytree(COMPACTED, tmp_path / COMPACTED.name))
    for path in folder.glob(f"*{suffix}"):
        path.unlink()
        if left is not None:
            path.write_bytes(left)
    for _, time_ms in times[:: len(times) // 10]:
        assert log_end_at(read(folder), time_ms) == expected_end(times, time_ms, 1578)


def log_of(tmp_path: Path, times: list[int], first_offset: int = 0) -> PartitionFolder:
    folder = tmp_path / "orders-0"
    folder.mkdir(exist_ok=True)
    records = [LogRecord(offset, time, b"k", b"v") for offset, time in enumerate(times, first_offset)]
    (folder / f"{first_offset:020}.log").write_bytes(b"".join(encode_batch([record]) for record in records))
    return read(folder)


@pytest.mark.parametrize("capture", CAPTURES, ids=name_of)
def test_many_times_at_once_are_as_one_by_one(capture: Path) -> None:
    for partition, times in true_times(capture).items():
        folder = read(capture / f"__consumer_offsets-{partition}")
        times_ms = sorted({time + step for _, time in times[::7] for step in (-1, 0, 1)})
        assert log_ends_at(folder, times_ms) == [log_end_at(folder, time_ms) for time_ms in times_ms]


def test_segment_after_segment(tmp_path: Path) -> None:
    log_of(tmp_path, [1000, 2000])
    log_of(tmp_path, [3000], first_offset=2)
    folder = log_of(tmp_path, [4000, 5000], first_offset=3)
    times_ms = [500, 1000, 1500, 2000, 2999, 3000, 3500, 4000, 4999, 5000, 9999]
    assert log_ends_at(folder, times_ms) == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_before_the_first_record_of_a_whole_log_it_was_empty(tmp_path: Path) -> None:
    assert log_end_at(log_of(tmp_path, [1000, 2000]), 999) == 0


def test_before_the_first_record_that_is_left_nobody_knows(tmp_path: Path) -> None:
    folder = log_of(tmp_path, [1000, 2000], first_offset=50)
    assert [log_end_at(folder, time_ms) for time_ms in (999, 1000, 2000)] == [None, 51, 52]


def test_a_record_of_the_past_that_came_late_does_not_take_the_end_back(tmp_path: Path) -> None:
    folder = log_of(tmp_path, [1000, 3000, 2000, 4000])
    assert [log_end_at(folder, time_ms) for time_ms in (1000, 2500, 3000, 3999)] == [1, 1, 3, 3]
