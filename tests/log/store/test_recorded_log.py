"""A copy of a partition: offsets and bytes are kept, a death costs nothing, old segments fold."""

from pathlib import Path
from uuid import UUID

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.index import read_offset_index, read_time_index
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch
from kgroup.log.format.batch_header import read_header
from kgroup.log.store.file_handles import FileHandles
from kgroup.log.store.recorded_log import RecordedLog
from tests.log.recorder.batches import commit

TOPIC_ID = UUID(int=7)
SIZE = len(commit(0))


def opened(
    folder: Path, *, first: int = 100, segment_bytes: int = 10 * SIZE, warnings: list[str] | None = None
) -> RecordedLog:
    told = [] if warnings is None else warnings
    return RecordedLog(
        folder / "__consumer_offsets-3",
        TOPIC_ID,
        first_offset=first,
        segment_bytes=segment_bytes,
        warn=told.append,
        handles=FileHandles(),
    )


def append(log: RecordedLog, *batches: bytes) -> None:
    log.append_run(b"".join(batches), [read_header(batch) for batch in batches])


def bases(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in (folder / "__consumer_offsets-3").glob("*.log"))


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((folder / "__consumer_offsets-3").glob("*.log")))


def test_it_begins_where_the_log_begins_and_keeps_bytes_and_offsets(tmp_path: Path) -> None:
    log = opened(tmp_path)
    assert (log.end_offset, log.is_empty) == (100, True)
    append(log, commit(100), commit(101), commit(105))
    assert (log.end_offset, log.is_empty, log.last_epoch) == (106, False, 3)
    assert bytes_of(tmp_path) == commit(100) + commit(101) + commit(105)
    assert bases(tmp_path) == [100]


def test_a_run_fills_segments_named_after_their_first_batch(tmp_path: Path) -> None:
    log = opened(tmp_path, segment_bytes=3 * SIZE)
    append(log, *[commit(offset) for offset in (100, 101, 102, 110, 111, 112, 113)])
    assert bases(tmp_path) == [100, 110, 113]
    assert [path.stat().st_size for path in sorted((tmp_path / "__consumer_offsets-3").glob("*.log"))] == [
        3 * SIZE,
        3 * SIZE,
        SIZE,
    ]


def test_offsets_too_far_for_an_index_begin_a_segment(tmp_path: Path) -> None:
    log = opened(tmp_path)
    append(log, commit(100), commit(100 + (1 << 31)))
    assert bases(tmp_path) == [100, 100 + (1 << 31)]


@pytest.mark.parametrize("cut", range(1, SIZE))
def test_a_torn_tail_is_cut_and_fetched_again(tmp_path: Path, cut: int) -> None:
    log = opened(tmp_path)
    append(log, commit(100), commit(101))
    log.close()
    (segment,) = (tmp_path / "__consumer_offsets-3").glob("*.log")
    segment.write_bytes(segment.read_bytes()[:-cut])
    again = opened(tmp_path)
    assert again.end_offset == 101
    append(again, commit(101), commit(102))
    assert bytes_of(tmp_path) == commit(100) + commit(101) + commit(102)


def test_opened_again_it_goes_on_and_knows_its_segments_by_their_indexes(tmp_path: Path) -> None:
    log = opened(tmp_path, segment_bytes=200 * SIZE)
    append(log, *[commit(offset, at_ms=offset) for offset in range(100, 700)])
    before = [(s.base_offset, s.end_offset, s.size, s.max_timestamp_ms) for s in log.closed_segments()]
    log.close()
    again = opened(tmp_path, segment_bytes=200 * SIZE)
    assert [
        (s.base_offset, s.end_offset, s.size, s.max_timestamp_ms) for s in again.closed_segments()
    ] == before
    assert again.end_offset == 700
    assert [read_header(raw).base_offset for raw in again.batches(0)] == list(range(100, 700))


def test_an_index_that_does_not_fit_is_not_believed(tmp_path: Path) -> None:
    log = opened(tmp_path, segment_bytes=200 * SIZE)
    append(log, *[commit(offset) for offset in range(100, 500)])
    log.close()
    first = tmp_path / "__consumer_offsets-3" / f"{100:020}.index"
    healthy = first.read_bytes()
    raw = bytearray(healthy)
    raw[-5] += 1  # the last offset
    first.write_bytes(raw)
    again = opened(tmp_path, segment_bytes=200 * SIZE)
    assert again.closed_segments()[0].end_offset == 300
    assert first.read_bytes() == healthy
    assert [read_header(b).base_offset for b in again.batches(0)] == list(range(100, 500))


def test_its_indexes_are_those_of_a_broker(tmp_path: Path) -> None:
    log = opened(tmp_path, segment_bytes=1 << 20)
    append(log, *[commit(offset, at_ms=offset) for offset in range(100, 300)])
    append(log, *[commit(offset, at_ms=offset) for offset in range(300, 500)])
    path = tmp_path / "__consumer_offsets-3" / f"{100:020}.log"
    offsets = read_offset_index(path.with_suffix(".index"), 100)
    assert offsets.problem(path.stat().st_size) is None
    assert len(offsets) > 5
    starts = {item.position: item.last_offset for item in read_segment(path) if isinstance(item, Batch)}
    assert all(starts[entry.position] == entry.offset for entry in offsets)
    assert read_time_index(path.with_suffix(".timeindex"), 100).problem() is None


def test_what_another_topic_left_under_this_name_is_put_aside(tmp_path: Path) -> None:
    log = opened(tmp_path)
    append(log, commit(100))
    log.close()
    warnings: list[str] = []
    other = RecordedLog(
        tmp_path / "__consumer_offsets-3",
        UUID(int=8),
        first_offset=0,
        segment_bytes=1 << 20,
        warn=warnings.append,
        handles=FileHandles(),
    )
    assert (other.end_offset, other.is_empty) == (0, True)
    assert "of another topic of this name" in warnings[0]
    (aside,) = tmp_path.glob("*-stray")
    assert (aside / f"{100:020}.log").read_bytes() == commit(100)


def test_a_topic_of_before_ids_has_none(tmp_path: Path) -> None:
    for _ in range(2):
        log = RecordedLog(
            tmp_path / "__consumer_offsets-3",
            None,
            first_offset=0,
            segment_bytes=1 << 20,
            warn=lambda text: None,
            handles=FileHandles(),
        )
        append(log, commit(log.end_offset))
        log.sync()
        log.close()
    assert bytes_of(tmp_path) == commit(0) + commit(1)


def test_a_full_disk_leaves_whole_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    log = opened(tmp_path)
    append(log, commit(100))
    write = os.write

    def half(file: int, data: bytes) -> int:
        if len(data) > SIZE:
            return write(file, data[: SIZE + 7])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(SourceError, match="No space left on device"):
            append(log, commit(101), commit(102))
    assert log.end_offset == 101
    append(log, commit(101))
    assert bytes_of(tmp_path) == commit(100) + commit(101)


# ---- folding --------------------------------------------------------------------------------------


def filled(folder: Path) -> RecordedLog:
    """Ten closed segments of two keys, `a` thirty times and `b` once, and one that is being written."""
    log = opened(folder, first=0, segment_bytes=3 * SIZE)
    append(log, commit(0, b"b"), *[commit(offset, b"a") for offset in range(1, 31)])
    return log


def test_of_folded_segments_the_newest_record_of_each_key_stays(tmp_path: Path) -> None:
    log = filled(tmp_path)
    for _ in log.fold(9, now_ms=2000):
        pass
    assert [read_header(raw).base_offset for raw in log.batches(0)] == [0, 26, 27, 28, 29, 30]
    assert bases(tmp_path) == [0, 27, 30]
    log.close()
    again = opened(tmp_path)
    assert [read_header(raw).base_offset for raw in again.batches(0)] == [0, 26, 27, 28, 29, 30]
    assert again.end_offset == 31


def test_the_segment_that_is_written_is_never_folded(tmp_path: Path) -> None:
    log = filled(tmp_path)
    for _ in log.fold(99, now_ms=2000):
        pass
    assert [read_header(raw).base_offset for raw in log.batches(0)] == [0, 29, 30]


def test_it_can_be_appended_to_while_it_folds(tmp_path: Path) -> None:
    log = filled(tmp_path)
    for offset, _ in enumerate(log.fold(9, now_ms=2000), 31):
        append(log, commit(offset, b"a"))
    end = log.end_offset
    assert end > 60
    assert [read_header(raw).base_offset for raw in log.batches(0)] == [0, *range(26, end)]


def test_a_death_at_any_moment_of_folding_loses_nothing_that_counts(tmp_path: Path) -> None:
    import shutil

    log = filled(tmp_path / "life")
    folder = tmp_path / "life"
    for moment, _ in enumerate(log.fold(9, now_ms=2000)):
        copy = tmp_path / f"death-{moment}"
        shutil.copytree(folder, copy)
        again = opened(copy)
        left = set(again.batches(0))
        assert {commit(0, b"b"), commit(26, b"a"), commit(30, b"a")} <= left
        assert not list((copy / "__consumer_offsets-3").glob("*.cleaned"))


@pytest.mark.parametrize("calls", range(1, 12))
def test_a_death_while_segments_are_swapped_loses_nothing_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    log = filled(tmp_path)
    seen = 0
    replace, unlink = Path.replace, Path.unlink

    def dying(function):
        def call(*arguments, **more):
            nonlocal seen
            seen += 1
            if seen == calls:
                raise KeyboardInterrupt
            return function(*arguments, **more)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", dying(replace))
        patch.setattr(Path, "unlink", dying(unlink))
        with pytest.raises(KeyboardInterrupt):
            for _ in log.fold(9, now_ms=2000):
                pass
    again = opened(tmp_path, first=0)
    offsets = [read_header(raw).base_offset for raw in again.batches(0)]
    assert offsets == sorted(set(offsets))
    assert {0, 26, 27, 28, 29, 30} <= set(offsets)
    assert again.end_offset == 31
