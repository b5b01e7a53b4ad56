"""A log whose disk fails under it: memory and disk agree, and nothing is acknowledged that is not there."""

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from kgroup.errors import SourceError
from kgroup.log.format.batch import LogRecord, decode_batch, encode_batch
from kgroup.log.store.opening import Opening
from kgroup.log.store.segment_log import SegmentLog

TOPIC_ID = UUID(int=7)
SEGMENT = "00000000000000000000.log"


def batch(value: str) -> bytes:
    return encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=value.encode())])


def values(log: SegmentLog) -> list[str]:
    return [
        (record.value or b"").decode() for raw in log.batches(0) for record in decode_batch(raw).records()
    ]


def no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SegmentLog]:
    log = SegmentLog(tmp_path / "orders-0", TOPIC_ID, 2_000)
    log.append(batch("a"), 0)
    yield log
    log.close()


def again(tmp_path: Path) -> SegmentLog:
    return SegmentLog(tmp_path / "orders-0", TOPIC_ID, 2_000)


def test_half_a_batch_that_could_not_be_cut_off_is_before_the_next_is_written(
    log: SegmentLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    written: list[int] = []

    def half(file: int, data: bytes) -> int:
        if written:
            no_space()
        written.append(write(file, data[:30]))
        return 30

    with monkeypatch.context() as broken:
        broken.setattr("os.write", half)
        broken.setattr("os.truncate", no_space)
        with pytest.raises(SourceError, match="No space left on device"):
            log.append(batch("b"), 0)
        assert (log.end_offset, values(log)) == (1, ["a"])
        broken.setattr("os.ftruncate", no_space)
        with pytest.raises(SourceError, match="No space left on device"):
            log.append(batch("b"), 0)
    assert (tmp_path / "orders-0" / SEGMENT).stat().st_size == len(batch("a")) + 30
    assert log.append(batch("c"), 0).base_offset == 1
    assert values(log) == ["a", "c"]
    assert values(again(tmp_path)) == ["a", "c"]


@pytest.mark.parametrize("gone", ["removed", "shortened", "written by another"])
def test_nothing_goes_into_a_file_that_something_else_has_changed(
    log: SegmentLog, tmp_path: Path, gone: str
) -> None:
    path = tmp_path / "orders-0" / SEGMENT
    if gone == "removed":
        path.unlink()
    elif gone == "shortened":
        os.truncate(path, 20)
    else:
        path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(
        SourceError, match=f"{path}: was (removed|made .* bytes long, after .*), by something else"
    ):
        log.append(batch("b"), 0)
    assert log.end_offset == 1


@pytest.mark.parametrize("change", ["cut", "magic", "length"])
def test_a_log_that_rots_while_it_is_open_is_named_where_it_does(
    log: SegmentLog, tmp_path: Path, change: str
) -> None:
    log.append(batch("b"), 0)
    path = tmp_path / "orders-0" / SEGMENT
    start = len(batch("a"))
    raw = bytearray(path.read_bytes())
    if change == "cut":
        del raw[start + 65 :]
    elif change == "magic":
        raw[start + 16] = 9
    else:
        raw[start + 8] = 0x70
    path.write_bytes(raw)
    with pytest.raises(SourceError, match=f"{path} at byte {start}: "):
        log.read(1, 1 << 20, 2)
    assert len(log.read(0, 1, 2)) == start  # what lies before it can be read


def test_a_disk_that_does_not_read_is_named(
    log: SegmentLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.pread", broken)
    with pytest.raises(SourceError, match=f"{SEGMENT}: Input/output error"):
        log.read(0, 1, 1)
    with pytest.raises(SourceError, match=f"{SEGMENT}: Input/output error"):
        log.first_at_or_after(0)


def test_a_log_that_is_open_can_be_read_when_its_file_is_gone(log: SegmentLog, tmp_path: Path) -> None:
    (tmp_path / "orders-0" / SEGMENT).unlink()
    assert values(log) == ["a"]


# ---- a disk that does not sync ---------------------------------------------------------------------


def test_what_could_not_be_synced_is_taken_back(
    log: SegmentLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.sync()
    log.append(batch("b"), 0)
    for _ in range(30):
        log.append(batch("x" * 100), 0)  # into further segments
    with monkeypatch.context() as broken:
        broken.setattr("os.fsync", no_space)
        with pytest.raises(SourceError, match="No space left on device"):
            log.sync()
    log.revert()
    assert (log.end_offset, log.recovery_point, values(log)) == (1, 1, ["a"])
    assert log.append(batch("c"), 0).base_offset == 1
    log.sync()
    assert values(again(tmp_path)) == ["a", "c"]


def test_what_was_there_before_is_not_taken_back(log: SegmentLog, tmp_path: Path) -> None:
    """Of what an earlier process wrote, much may have been acknowledged without an fsync."""
    log.close()
    opened = again(tmp_path)
    assert opened.recovery_point == 0
    opened.append(batch("b"), 0)
    opened.revert()
    assert values(opened) == ["a"]


def test_until_it_can_be_taken_back_nothing_is_appended(
    log: SegmentLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.sync()
    log.append(batch("b"), 0)
    with monkeypatch.context() as broken:
        broken.setattr("os.truncate", no_space)
        for act in (log.revert, lambda: log.append(batch("c"), 0)):
            with pytest.raises(
                SourceError, match="cannot be taken back to offset 1: No space left on device"
            ):
                act()
    assert log.append(batch("c"), 0).base_offset == 1
    assert values(again(tmp_path)) == ["a", "c"]


def test_the_recovery_point_is_what_was_synced(log: SegmentLog, tmp_path: Path) -> None:
    assert (log.recovery_point, log.end_offset) == (0, 1)
    log.sync()
    log.append(batch("b"), 0)
    assert (log.recovery_point, log.end_offset) == (1, 2)


def test_segments_that_are_not_written_any_more_may_be_synced_apart(log: SegmentLog) -> None:
    for _ in range(30):
        log.append(batch("x" * 100), 0)
    closed = log.closed_unsynced()
    assert closed and log.recovery_point == 0
    for segment in closed:
        log.synced(segment)
    assert log.closed_unsynced() == []
    assert 0 < log.recovery_point < log.end_offset


def test_the_recovery_point_waits_for_the_oldest_segment(log: SegmentLog) -> None:
    for _ in range(40):
        log.append(batch("x" * 100), 0)
    oldest, *others = log.closed_unsynced()
    assert others
    for segment in others:
        log.synced(segment)
    assert log.recovery_point == 0
    log.synced(oldest)
    assert log.recovery_point == others[-1].end_offset


def test_what_lies_before_the_recovery_point_is_not_looked_at_again(log: SegmentLog, tmp_path: Path) -> None:
    """As Kafka: damage below it is the readers' affair, who check each batch."""
    log.append(batch("b"), 0)
    log.close()
    path = tmp_path / "orders-0" / SEGMENT
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    told: list[str] = []
    ends = []
    for point in (2, 1):
        opening = Opening(recovery_point=point, warn=told.append)
        ends.append(SegmentLog(tmp_path / "orders-0", TOPIC_ID, opening=opening).end_offset)
    assert (ends, len(told)) == ([2, 1], 1)
