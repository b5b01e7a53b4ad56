"""Past log ends, from the records of real brokers' data topics and of logs made by hand."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from kgroup.log.files.index import OffsetEntry, encode_offset_index
from kgroup.log.files.log_dir import PartitionFolder, read_partition_folder
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.log.topics.log_end_history import log_end_history
from kgroup.protocol.log_listing import LogEndAt
from tests.log.truth import FIXTURES

LIVES = sorted(FIXTURES.glob("*/lives"))
NAME = f"{0:020}.log"


def read(path: Path) -> PartitionFolder:
    folder = read_partition_folder(path)
    assert folder is not None
    return folder


def one(offset: int, timestamp_ms: int, size: int = 1) -> bytes:
    """A batch of one record."""
    return encode_batch([LogRecord(offset, timestamp_ms, b"k", b"v" * size)], base_offset=offset)


def log_of(tmp_path: Path, batches: list[bytes], *, indexed: bool = True) -> PartitionFolder:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / NAME).write_bytes(b"".join(batches))
    if indexed:
        positions = [sum(map(len, batches[:number])) for number in range(len(batches))]
        entries = [OffsetEntry(number, position) for number, position in enumerate(positions) if number]
        (folder / NAME).with_suffix(".index").write_bytes(encode_offset_index(entries, 0))
    return read(folder)


@pytest.mark.parametrize("capture", LIVES, ids=lambda path: path.parent.name)
def test_a_brokers_topic_grew_by_one_record_a_second(capture: Path) -> None:
    """So its story says: `payments` gets a record for each partition in each of about 96 seconds."""
    ends = json.loads((capture / "topics.json").read_text())["topics"]["payments"]["partitions"]
    for partition in (0, 1, 2):
        history = log_end_history(read(capture / f"payments-{partition}"), 1000)
        assert [end.offset for end in history] == list(range(1, ends[str(partition)]["logEnd"] + 1))
        steps = [later.timestamp_ms - end.timestamp_ms for end, later in pairwise(history)]
        assert all(900 <= step <= 1500 for step in steps)


def test_points_are_thinned_evenly_and_the_end_of_now_stays(tmp_path: Path) -> None:
    folder = log_of(tmp_path, [one(number, 1000 * number) for number in range(101)])
    assert log_end_history(folder, 5) == (
        LogEndAt(1, 0),
        LogEndAt(26, 25_000),
        LogEndAt(51, 50_000),
        LogEndAt(76, 75_000),
        LogEndAt(101, 100_000),
    )


def test_a_long_log_is_looked_at_where_its_index_points(tmp_path: Path) -> None:
    """The batches that the index does not choose are noise here, and nobody sees it."""
    batches = [one(number, 1000 * number, size=30_000) for number in range(9)]
    for unseen in (1, 2, 3, 5, 6, 7):
        batches[unseen] = b"\xee" * len(batches[unseen])
    folder = log_of(tmp_path, batches)
    assert log_end_history(folder, 4) == (LogEndAt(1, 0), LogEndAt(5, 4000), LogEndAt(9, 8000))


def test_batches_that_are_no_newer_lengthen_the_end_before_them(tmp_path: Path) -> None:
    times = [5000, 4000, -1, 5000, 7000]
    folder = log_of(tmp_path, [one(number, time) for number, time in enumerate(times)])
    assert log_end_history(folder, 10) == (LogEndAt(4, 5000), LogEndAt(5, 7000))


def test_without_any_timestamp_nothing_is_known(tmp_path: Path) -> None:
    assert log_end_history(log_of(tmp_path, [one(0, -1), one(1, -1)]), 10) == ()


def test_a_long_log_without_an_index_has_its_last_end(tmp_path: Path) -> None:
    folder = log_of(tmp_path, [one(number, 1000 * number, size=70_000) for number in range(5)], indexed=False)
    assert log_end_history(folder, 3) == (LogEndAt(1, 0), LogEndAt(5, 4000))


@pytest.mark.parametrize("index", [b"\xff" * 64, b"\0\0\0\x01\0\0\0\x07" * 3])
def test_an_index_that_is_wrong_costs_points_and_no_more(tmp_path: Path, index: bytes) -> None:
    folder = log_of(tmp_path, [one(number, 1000 * number, size=70_000) for number in range(5)], indexed=False)
    (Path(folder.segments[0].path)).with_suffix(".index").write_bytes(index)
    assert log_end_history(folder, 3) == (LogEndAt(1, 0), LogEndAt(5, 4000))


def test_damage_is_left_out(tmp_path: Path) -> None:
    broken = bytearray(one(1, 1000))
    broken[-1] ^= 1
    folder = log_of(tmp_path, [one(0, 0), bytes(broken), one(2, 2000)])
    assert log_end_history(folder, 10) == (LogEndAt(1, 0), LogEndAt(3, 2000))


def test_no_segments_have_no_past(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / "leader-epoch-checkpoint").write_text("0\n0\n")
    assert log_end_history(read(folder), 10) == ()
