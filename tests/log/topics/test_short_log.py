"""A short log that is held answers as its files do, whatever they are asked."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.log_dir import PartitionFolder, read_partition_folder
from kgroup.log.topics.end_at import log_end_at
from kgroup.log.topics.log_end_history import log_end_history
from kgroup.log.topics.open_transactions import blocking_transaction
from kgroup.log.topics.short_log import ShortLog, ShortLogs, short_log
from kgroup.log.topics.unread import first_unread
from kgroup.log.topics.unread_parts import unread_parts
from tests.log.offsets_log import batch, marker, write
from tests.log.truth import FIXTURES

RECORD = (b"k", b"v")


def read(path: Path) -> PartitionFolder:
    folder = read_partition_folder(path)
    assert folder is not None
    return folder


def held(folder: PartitionFolder) -> ShortLog:
    log = short_log(folder)
    assert log is not None
    return log


def short_folders() -> list[PartitionFolder]:
    parents = {path.parent for path in FIXTURES.glob("*/*/*/*.log")}
    folders = [read(parent) for parent in sorted(parents)]
    return [folder for folder in folders if short_log(folder) is not None]


def places(log: ShortLog) -> list[int]:
    """Offsets at, before and behind batches, and between them."""
    edges = {0, *log.base_offsets, *log.last_offsets}
    return sorted({offset + by for offset in edges for by in (-1, 0, 1)} - {-1})[:200]


def times(log: ShortLog) -> list[int]:
    return sorted({time_ms + by for time_ms in log.max_timestamps_ms for by in (-1, 0, 1)})[:200]


def answer(ask: Callable[..., object], *arguments: object) -> object:
    """What comes back, or why nothing does."""
    try:
        return ask(*arguments)
    except SourceError as error:
        return str(error)


def assert_same_answers(folder: PartitionFolder) -> None:
    log = held(folder)
    assert log.log_start_offset() == folder.log_start_offset()
    assert log.log_end_offset() == folder.log_end_offset()
    for points in (3, 10, 1000):
        assert log_end_history(log, points) == log_end_history(folder, points)
    for offset in places(log):
        assert answer(first_unread, log, offset) == answer(first_unread, folder, offset), offset
        assert answer(unread_parts, log, offset) == answer(unread_parts, folder, offset), offset
        assert answer(blocking_transaction, log, offset) == answer(blocking_transaction, folder, offset), (
            offset
        )
    for time_ms in times(log):
        assert log_end_at(log, time_ms) == log_end_at(folder, time_ms), time_ms


@pytest.mark.parametrize("third", range(3))
def test_logs_of_brokers(third: int) -> None:
    folders = short_folders()[third::48]  # of some hundreds that are much alike
    assert len(folders) > 2
    for folder in folders:
        assert_same_answers(folder)


def test_several_segments_with_gaps_and_transactions(tmp_path: Path) -> None:
    folder = write(tmp_path, [batch(3, [RECORD]), batch(10, [RECORD] * 2, producer_id=7)]).parent
    second = write(tmp_path / "later", [batch(30, [RECORD]), marker(40, producer_id=7, committed=False)])
    shutil.copy(second, folder / f"{20:020d}.log")
    assert_same_answers(read(folder))


def test_offsets_between_two_segments_are_asked_of_the_later_one(tmp_path: Path) -> None:
    folder = write(tmp_path, [batch(0, [RECORD] * 2)]).parent
    shutil.copy(write(tmp_path / "later", [batch(30, [RECORD] * 2)]), folder / f"{20:020d}.log")
    log = held(read(folder))
    assert [found.base_offset for _, found in log.batches_from(25)] == [30]
    assert [found.base_offset for _, found in log.batches_from(15)] == [0, 30]


@pytest.mark.parametrize("changed", range(8, 60, 3))
def test_damage_is_left_to_those_who_explain_it(tmp_path: Path, changed: int) -> None:
    path = write(tmp_path, [batch(0, [RECORD] * 2), batch(2, [RECORD] * 2)])
    raw = bytearray(path.read_bytes())
    raw[changed] ^= 0x40
    path.write_bytes(bytes(raw))
    if 12 <= changed < 16:  # the leader's epoch, which no CRC covers
        assert_same_answers(read(path.parent))
    else:
        assert short_log(read(path.parent)) is None


def test_an_odd_log_is_left_to_its_files(tmp_path: Path) -> None:
    back = write(tmp_path / "back", [batch(5, [RECORD]), batch(2, [RECORD])])
    cut = write(tmp_path / "cut", [batch(0, [RECORD] * 2)])
    cut.write_bytes(cut.read_bytes()[:-1])
    empty = write(tmp_path / "empty", [])
    long = write(tmp_path / "long", [batch(number, [RECORD]) for number in range(2000)])
    for path in (back, cut, empty, long):
        assert short_log(read(path.parent)) is None, path
        assert ShortLogs().held(read(path.parent)) == read(path.parent)


def test_no_more_is_held_than_there_is_room_for(tmp_path: Path) -> None:
    folders = [read(write(tmp_path / str(number), [batch(0, [RECORD] * 2)]).parent) for number in range(3)]
    logs = ShortLogs(kept_bytes=2 * held(folders[0]).size)
    first, second = logs.held(folders[0]), logs.held(folders[1])
    assert logs.held(folders[0]) is first
    logs.held(folders[2])
    assert logs.held(folders[0]) is first, "asked about later than the second"
    assert logs.held(folders[1]) is not second
