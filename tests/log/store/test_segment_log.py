"""Appendable logs: memory and disk alike, and what a crash leaves behind."""

import os
from collections.abc import Callable
from pathlib import Path
from struct import Struct
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.errors import SourceError
from kgroup.log.files.checkpoints import read_leader_epochs, read_topic_id
from kgroup.log.files.index import read_offset_index, read_time_index
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch, LogRecord, encode_batch
from kgroup.log.format.batch_header import read_header
from kgroup.log.store.opening import Opening
from kgroup.log.store.record_log import MemoryLog, RecordLog
from kgroup.log.store.segment_log import SegmentLog

TOPIC_ID = UUID(int=7)
ABORTED_ENTRY = Struct(">hqqqq")
"""Kafka's AbortedTxn: version, producer id, first and last offset, last stable offset."""
MakeLog = Callable[[], RecordLog]


def batch(count: int = 1, timestamp_ms: int = 1000, size: int = 10) -> bytes:
    return encode_batch(
        [
            LogRecord(offset=n, timestamp_ms=timestamp_ms + n, key=b"k", value=b"v" * size)
            for n in range(count)
        ]
    )


@pytest.fixture(params=["memory", "disk"])
def make_log(request: pytest.FixtureRequest, tmp_path: Path) -> MakeLog:
    if request.param == "memory":
        return MemoryLog
    return lambda: SegmentLog(tmp_path / "orders-0", TOPIC_ID, segment_bytes=2000)


def offsets(raw: bytes) -> list[tuple[int, int]]:
    spans, position = [], 0
    while position < len(raw):
        header = read_header(raw, position)
        spans.append((header.base_offset, header.last_offset))
        position += header.size
    return spans


def test_batches_get_the_next_offsets_and_the_leaders_epoch(make_log: MakeLog) -> None:
    log = make_log()
    first, second = log.append(batch(3), leader_epoch=4), log.append(batch(2), leader_epoch=5)
    assert (first.base_offset, first.last_offset, first.leader_epoch) == (0, 2, 4)
    assert (second.base_offset, second.last_offset, second.leader_epoch) == (3, 4, 5)
    assert log.end_offset == 5


def test_a_batch_that_reaches_beyond_the_end_is_not_read(make_log: MakeLog) -> None:
    """Not even in part, and not even as the first, which no size is too small for."""
    log = make_log()
    for count in (2, 3, 1):
        log.append(batch(count), 0)
    whole = [(0, 1), (2, 4), (5, 5)]
    for end, read in enumerate((0, 0, 1, 1, 1, 2, 3)):
        assert offsets(log.read(0, 1 << 20, end)) == whole[:read]
    assert offsets(log.read(2, 1, 4)) == []


@settings(max_examples=30, deadline=None)
@given(
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=60),
    offset=st.integers(0, 200),
    max_bytes=st.integers(0, 900),
    end=st.integers(0, 300),
)
def test_memory_and_disk_read_the_same(
    tmp_path_factory: pytest.TempPathFactory, counts: list[int], offset: int, max_bytes: int, end: int
) -> None:
    logs: list[RecordLog] = [
        MemoryLog(),
        SegmentLog(tmp_path_factory.mktemp("log") / "t-0", TOPIC_ID, segment_bytes=1500),
    ]
    answers = []
    for log in logs:
        for number, count in enumerate(counts):
            log.append(batch(count, timestamp_ms=number * 10, size=30), 0)
        read = log.read(offset, max_bytes, min(end, log.end_offset))
        answers.append((read, list(log.batches(offset)), log.first_at_or_after(offset)))
    assert answers[0] == answers[1]
    read = offsets(answers[0][0])
    if read:
        assert read[0][1] >= offset  # the batch that holds what was asked for, or the first after it
        assert len(read) == 1 or len(answers[0][0]) <= max_bytes


def test_a_stretch_is_read_when_it_is_wanted_and_never_from_another_file(tmp_path: Path) -> None:
    log = SegmentLog(tmp_path / "orders-0", TOPIC_ID, segment_bytes=2000)
    for number in range(40):
        log.append(batch(2, timestamp_ms=number, size=100), 0)
    stretch = log.stretch(0, 1 << 20, log.end_offset)
    everything = log.read(0, 1 << 20, log.end_offset)
    assert (stretch.size, stretch.batches) == (len(everything), 40)
    assert stretch.whole() == stretch.whole() == everything
    assert log.stretch(0, 1 << 20, log.end_offset, batches_max=3).batches == 3
    pieces = stretch.pieces()
    assert next(pieces)
    log.delete_before(log.end_offset - 1)
    with pytest.raises(SourceError, match="removed or replaced while it was sent"):
        list(pieces)


@pytest.mark.parametrize("is_removed", [False, True])
def test_who_goes_through_the_log_goes_on_in_what_has_taken_the_place_of_a_segment(
    tmp_path: Path, is_removed: bool
) -> None:
    log = SegmentLog(tmp_path / "orders-0", TOPIC_ID, segment_bytes=2000)
    for number in range(40):
        log.append(batch(2, timestamp_ms=number, size=100), 0)
    everything = list(log.batches(0))
    going_through = log.batches(0)
    assert [next(going_through), next(going_through)] == everything[:2]
    first, second = log.closed_segments()[:2]
    if is_removed:
        log.delete_before(second.base_offset)
        left = [raw for raw in everything if read_header(raw).base_offset >= second.base_offset]
    else:
        log.replace(first, [everything[0], everything[4]])
        left = [
            everything[4],
            *(raw for raw in everything if read_header(raw).base_offset >= second.base_offset),
        ]
    assert list(going_through) == left


def test_deleting_records_moves_the_start_and_drops_what_lies_before(make_log: MakeLog) -> None:
    log = make_log()
    for _ in range(40):
        log.append(batch(2, size=100), 0)
    log.delete_before(41)
    assert log.start_offset == 41
    assert offsets(log.read(41, 1, log.end_offset)) == [(40, 41)]


@pytest.mark.parametrize(("noted", "start"), [(None, 0), (2, 2), (6, 6), (7, 0), (99, 0)])
def test_a_log_start_that_was_noted_counts_unless_it_lies_beyond_the_end(
    tmp_path: Path, noted: int | None, start: int
) -> None:
    """Somebody has changed the checkpoint then: nothing is hidden on its word, and it is reported.

    A broker of 4.3.1 does the same up to the end. Past it, it has deleted all and begins at the noted offset.
    """
    folder = tmp_path / "orders-0"
    log = SegmentLog(folder, TOPIC_ID)
    for _ in range(3):
        log.append(batch(2), 0)
    log.close()
    warnings: list[str] = []
    opening = Opening(clean=True, start_offset=noted, end_offset=6, warn=warnings.append)
    again = SegmentLog(folder, TOPIC_ID, opening=opening)
    assert (again.start_offset, again.end_offset) == (start, 6)
    said = f"{folder}: its log is said to start at {noted}, past its end, 6: all that is there is kept"
    assert [each.startswith(said) for each in warnings] == [True] * (noted is not None and noted > 6)
    assert offsets(again.read(start, 1 << 20, 6)) == [(0, 1), (2, 3), (4, 5)][start // 2 :]
    assert again.append(batch(1), 0).base_offset == 6


def test_a_log_is_as_it_was_when_opened_again(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    log = SegmentLog(folder, TOPIC_ID, segment_bytes=2000)
    for number in range(50):
        log.append(batch(2, timestamp_ms=number, size=100), leader_epoch=number // 25)
    everything = list(log.batches(0))
    log.close()
    again = SegmentLog(folder, TOPIC_ID, segment_bytes=2000)
    assert list(again.batches(0)) == everything
    assert (again.end_offset, again.truncated_bytes) == (100, 0)
    assert read_topic_id(folder / "partition.metadata") == TOPIC_ID
    assert read_leader_epochs(folder / "leader-epoch-checkpoint") == [(0, 0), (1, 50)]


def test_segments_and_indexes_are_what_the_reader_of_kafkas_files_expects(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    log = SegmentLog(folder, TOPIC_ID, segment_bytes=20_000)
    for number in range(300):
        log.append(batch(1, timestamp_ms=number, size=100), 0)
    segments = sorted(folder.glob("*.log"))
    assert len(segments) > 1
    for path in segments:
        batches = list(read_segment(path))
        assert all(isinstance(each, Batch) for each in batches)
        ends = {each.last_offset: each.position for each in batches if isinstance(each, Batch)}
        index = read_offset_index(path.with_suffix(".index"), int(path.stem))
        assert len(index) > 1
        assert all(ends[index[n].offset] == index[n].position for n in range(len(index)))
        times = read_time_index(path.with_suffix(".timeindex"), int(path.stem))
        assert len(times) == len(index)


@pytest.mark.parametrize("left", [1, 20, 60, 61, 80])
def test_a_torn_tail_is_cut_off(tmp_path: Path, left: int) -> None:
    folder = tmp_path / "orders-0"
    log = SegmentLog(folder, TOPIC_ID)
    log.append(batch(3), 0)
    log.append(batch(3), 0)
    log.close()
    segment = folder / "00000000000000000000.log"
    whole = segment.stat().st_size // 2
    with segment.open("r+b") as file:
        file.truncate(whole + left)
    again = SegmentLog(folder, TOPIC_ID)
    assert (again.end_offset, again.truncated_bytes) == (3, left)
    assert segment.stat().st_size == whole
    assert again.append(batch(1), 1).base_offset == 3


def test_a_last_batch_with_a_wrong_crc_is_cut_off(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    log = SegmentLog(folder, TOPIC_ID)
    log.append(batch(1), 0)
    log.append(batch(1), 0)
    log.close()
    segment = folder / "00000000000000000000.log"
    raw = bytearray(segment.read_bytes())
    raw[-1] ^= 1
    segment.write_bytes(raw)
    assert SegmentLog(folder, TOPIC_ID).end_offset == 1


def test_damage_before_the_last_segment_is_an_error_and_nothing_is_cut(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    log = SegmentLog(folder, TOPIC_ID, segment_bytes=300)
    for _ in range(9):
        log.append(batch(1, size=100), 0)
    log.close()
    first = sorted(folder.glob("*.log"))[0]
    size = first.stat().st_size
    raw = bytearray(first.read_bytes())
    raw[16] = 9  # a magic that nobody knows
    first.write_bytes(raw)
    with pytest.raises(SourceError, match=r"00000000000000000000\.log at byte 0: no batch"):
        SegmentLog(folder, TOPIC_ID, segment_bytes=300)
    assert first.stat().st_size == size


def test_the_folder_of_a_deleted_topic_is_not_taken_for_its_namesake(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    SegmentLog(folder, TOPIC_ID).append(batch(5), 0)
    assert SegmentLog(folder, UUID(int=8)).end_offset == 0


# ---- a disk that is full, or broken ----------------------------------------------------------------


def full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_leader_epoch_that_cannot_be_noted_leaves_nothing_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "orders-0"
    log = SegmentLog(folder, TOPIC_ID)
    log.append(batch(2), leader_epoch=0)
    with monkeypatch.context() as broken:
        broken.setattr("kgroup.log.store.segment_log.replace_text", full)
        with pytest.raises(SourceError, match="No space left on device"):
            log.append(batch(2), leader_epoch=1)
    assert log.append(batch(2), leader_epoch=1).base_offset == 2
    assert offsets(b"".join(log.batches(0))) == [(0, 1), (2, 3)]
    assert read_leader_epochs(folder / "leader-epoch-checkpoint") == [(0, 0), (1, 2)]
    log.close()
    again = SegmentLog(folder, TOPIC_ID)
    assert (again.end_offset, again.truncated_bytes) == (4, 0)


def test_an_index_that_cannot_be_written_costs_no_record_and_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "orders-0"
    log = SegmentLog(folder, TOPIC_ID)
    with monkeypatch.context() as broken:
        broken.setattr("kgroup.log.store.segment_log.encode_time_index", full)
        for number in range(100):
            log.append(batch(1, timestamp_ms=number, size=100), 0)
    for number in range(100, 200):
        log.append(batch(1, timestamp_ms=number, size=100), 0)
    assert offsets(b"".join(log.batches(0))) == [(each, each) for each in range(200)]
    segment = folder / "00000000000000000000.log"
    index = read_offset_index(segment.with_suffix(".index"), 0)
    times = read_time_index(segment.with_suffix(".timeindex"), 0)
    assert len(index) == len(times) > 2
    assert [entry.offset for entry in index] == sorted({entry.offset for entry in index})


def test_half_a_batch_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = SegmentLog(tmp_path / "orders-0", TOPIC_ID)
    log.append(batch(1), 0)
    segment = tmp_path / "orders-0" / "00000000000000000000.log"
    whole = segment.stat().st_size
    write = os.write

    def half(file: int, data: bytes) -> int:
        if len(data) == whole:
            return write(file, data[:20])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("os.write", half)
        with pytest.raises(SourceError, match="No space left on device"):
            log.append(batch(1), 0)
    assert segment.stat().st_size == whole
    assert log.append(batch(1), 0).base_offset == 1


def test_a_disk_that_does_not_sync_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = SegmentLog(tmp_path / "orders-0", TOPIC_ID)
    log.sync()  # nothing is open yet
    log.append(batch(1), 0)
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(SourceError, match=r"00000000000000000000\.log: No space left on device"):
        log.sync()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SourceError, match="file"):
        SegmentLog(tmp_path / "file" / "orders-0", TOPIC_ID)


def test_indexes_that_a_crash_left_behind_are_made_again_on_opening(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    log = SegmentLog(folder, TOPIC_ID, segment_bytes=10_000)
    for number in range(150):
        log.append(batch(1, timestamp_ms=number, size=100), 0)
    log.close()
    first = min(folder.glob("*.index"))
    whole = first.read_bytes()
    assert whole
    for left in (b"", whole[:-1]):
        first.write_bytes(left)
        SegmentLog(folder, TOPIC_ID, segment_bytes=10_000).close()
        assert first.read_bytes() == whole
    first.unlink()
    SegmentLog(folder, TOPIC_ID, segment_bytes=10_000).close()
    assert first.read_bytes() == whole


def test_a_closed_segment_that_cannot_be_replaced_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SegmentLog(tmp_path / "orders-0", TOPIC_ID, segment_bytes=500)
    for _ in range(20):
        log.append(batch(1, size=100), 0)
    before = list(log.batches(0))
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(SourceError, match="cleaned: No space left on device"):
        log.replace(log.closed_segments()[0], [])
    assert list(log.batches(0)) == before


def test_a_batch_may_fill_a_segment_exactly(tmp_path: Path) -> None:
    """Kafka's LogSegment.shouldRoll: a segment is full when the next batch would exceed segment.bytes."""
    log = SegmentLog(tmp_path / "orders-0", TOPIC_ID, segment_bytes=2 * len(batch()))
    for _ in range(5):
        log.append(batch(), 0)
    assert [segment.base_offset for segment in log.closed_segments()] == [0, 2]
    assert log.end_offset == 5


def test_an_aborted_transaction_is_noted_in_the_segment_of_its_marker(tmp_path: Path) -> None:
    """As Kafka's LogSegment.updateTxnIndex, which is called for the segment that the marker went into."""
    folder = tmp_path / "orders-0"
    log = SegmentLog(folder, TOPIC_ID, segment_bytes=2 * len(batch()))
    for _ in range(6):
        log.append(batch(), 0)
    log.note_aborted([(7, 1, 3), (8, 4, 5)])
    entries = {
        path.stem: [each[1:4] for each in ABORTED_ENTRY.iter_unpack(path.read_bytes())]
        for path in sorted(folder.glob("*.txnindex"))
    }
    assert entries == {f"{2:020}": [(7, 1, 3)], f"{4:020}": [(8, 4, 5)]}


def test_a_deleted_log_is_gone(tmp_path: Path) -> None:
    log = SegmentLog(tmp_path / "orders-0", TOPIC_ID)
    log.append(batch(1), 0)
    log.delete()
    assert not (tmp_path / "orders-0").exists()
    log.delete()


def test_no_record_is_so_young(make_log: MakeLog) -> None:
    log = make_log()
    for number in range(30):
        log.append(batch(1, timestamp_ms=number, size=100), 0)
    assert log.first_at_or_after(30) is None
    first = log.first_at_or_after(29)
    assert first is not None and offsets(first.batch) == [(29, 29)]
