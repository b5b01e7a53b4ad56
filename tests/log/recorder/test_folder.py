"""The folder of a recording: where it goes on, what it notes, what it keeps."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.recording import (
    RECORDING_TOPIC,
    RECORDING_TOPIC_ID,
    Began,
    Folded,
    Hole,
    Note,
    Retired,
    Sample,
    TopicSample,
    read_notes,
    read_samples,
)
from kgroup.log.files.sample_changes import states
from kgroup.log.files.sources import open_sources, read_log_dir
from kgroup.log.recorder.fetched import whole_batches_from
from kgroup.log.recorder.folder import RecordingFolder, notes_to_keep
from kgroup.log.recorder.retention import Retention
from kgroup.log.store.recorded_log import RecordedLog
from tests.log.recorder.batches import commit

TOPIC, OTHER = UUID(int=7), UUID(int=8)
FOR_EVER = Retention(retain_ms=None, bytes_max=None)
NOW = 1_800_000_000_000
MINUTE = 60_000

Open = Callable[..., RecordingFolder]


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def open_folder(tmp_path: Path, warnings: list[str]) -> Iterator[Open]:
    """Opens the recording again; the one before has died, and its lock with it."""
    held: list[RecordingFolder] = []

    def opened(retention: Retention = FOR_EVER) -> RecordingFolder:
        for before in held:
            before._lock.release()
        held.append(RecordingFolder(tmp_path / "rec", retention, warnings.append))
        return held[-1]

    yield opened
    for each in held:
        each._lock.release()


def fetch(folder: RecordingFolder, *batches: bytes, partition: int = 3, at_ms: int = NOW) -> None:
    fetched = whole_batches_from(folder.position(partition), b"".join(batches))
    folder.add(partition, fetched, at_ms)


def notes(tmp_path: Path) -> list[Note]:
    return list(read_notes(read_log_dir(tmp_path / "rec")))


def holes(tmp_path: Path) -> list[tuple[int, int]]:
    return [(note.first_offset, note.last_offset) for note in notes(tmp_path) if isinstance(note, Hole)]


def remarks(tmp_path: Path) -> list[str]:
    return [each.why for each in open_sources([tmp_path / "rec"]).skipped]


def test_after_a_death_it_goes_on_behind_the_last_batch(open_folder: Open, tmp_path: Path) -> None:
    folder = open_folder()
    folder.begin(3, TOPIC, (100, 120), NOW)
    assert folder.position(3) == 100
    fetch(folder, commit(100), commit(101))
    again = open_folder()
    again.begin(3, TOPIC, (100, 130), NOW)
    assert again.position(3) == 102
    assert [note for note in notes(tmp_path) if isinstance(note, Began)] == [
        Began(partition=3, first_offset=100, end_offset=120, at_ms=NOW)
    ]
    assert remarks(tmp_path) == []


def test_what_the_cleaner_took_before_the_recording_began_is_no_hole(
    open_folder: Open, tmp_path: Path
) -> None:
    folder = open_folder()
    folder.begin(3, TOPIC, (100, 120), NOW)
    fetch(folder, commit(110), commit(119), commit(120))
    assert holes(tmp_path) == []


def test_what_it_took_since_is_one_and_readers_say_so(open_folder: Open, tmp_path: Path) -> None:
    folder = open_folder()
    folder.begin(3, TOPIC, (100, 120), NOW)
    fetch(folder, commit(110), commit(130), commit(131), commit(140))
    assert holes(tmp_path) == [(120, 139)]
    (remark,) = remarks(tmp_path)
    assert remark == (
        "records between offsets 120 and 139 were not recorded: "
        "the cleaner had taken them out before they were fetched"
    )


def test_a_hole_is_noted_once_though_a_death_came_before_the_batch_behind_it(
    open_folder: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    folder = open_folder()
    folder.begin(3, TOPIC, (0, 0), NOW)
    fetch(folder, commit(0))
    with monkeypatch.context() as patch:
        patch.setattr("kgroup.log.recorder.folder.RecordedLog.append_run", _only_notes(die))
        with pytest.raises(KeyboardInterrupt):
            fetch(folder, commit(9))
    assert holes(tmp_path) == [(1, 8)]
    again = open_folder()
    again.begin(3, TOPIC, (0, 10), NOW)
    assert again.position(3) == 1
    fetch(again, commit(9))
    assert holes(tmp_path) == [(1, 8)]


def _only_notes(die: Callable[..., None]) -> Callable[..., None]:
    append = RecordedLog.append_run

    def call(log: RecordedLog, *arguments: Any) -> None:
        if log._folder.name.startswith("__consumer_offsets"):
            die()
        append(log, *arguments)

    return call


def test_records_deleted_before_they_were_fetched_are_a_hole(open_folder: Open, tmp_path: Path) -> None:
    folder = open_folder()
    folder.begin(3, TOPIC, (0, 0), NOW)
    fetch(folder, commit(0))
    folder.skip_deleted(3, 50, NOW)
    assert folder.position(3) == 50
    again = open_folder()
    again.begin(3, TOPIC, (50, 50), NOW)
    assert again.position(3) == 50
    assert holes(tmp_path) == [(1, 49)]
    assert "had been deleted" in remarks(tmp_path)[0]


def test_a_damaged_batch_is_passed_over_and_not_asked_for_again(open_folder: Open, tmp_path: Path) -> None:
    folder = open_folder()
    folder.begin(3, TOPIC, (0, 0), NOW)
    damaged = bytearray(commit(1))
    damaged[-1] ^= 1
    fetch(folder, commit(0), bytes(damaged))
    assert folder.position(3) == 2
    assert holes(tmp_path) == [(1, 1)]


@pytest.mark.parametrize(
    ("topic_id", "end", "why"),
    [(OTHER, 500, "another one of that name"), (TOPIC, 50, "ends at 50, before 102")],
)
def test_a_log_that_is_another_one_is_begun_anew_and_the_old_one_put_aside(
    open_folder: Open, tmp_path: Path, warnings: list[str], topic_id: UUID, end: int, why: str
) -> None:
    folder = open_folder()
    folder.begin(3, TOPIC, (100, 102), NOW)
    fetch(folder, commit(100), commit(101))
    again = open_folder()
    again.begin(3, topic_id, (0, end), NOW)
    assert again.position(3) == 0
    (retired,) = [note for note in notes(tmp_path) if isinstance(note, Retired)]
    assert why in retired.why
    kept = tmp_path / "rec" / retired.folder / f"{100:020}.log"
    assert kept.read_bytes() == commit(100) + commit(101)
    assert len(warnings) == 1
    # A gap in the new log is judged by when the new recording began.
    fetch(again, commit(end + 5))
    assert holes(tmp_path) == [(end, end + 4)]


def test_two_at_once_are_refused(open_folder: Open, tmp_path: Path) -> None:
    import subprocess
    import sys

    open_folder()
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from kgroup.log.recorder.folder import RecordingFolder\n"
        "from kgroup.log.recorder.retention import Retention\n"
        "RecordingFolder(Path(sys.argv[1]), Retention(retain_ms=None, bytes_max=None), print)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "rec")], capture_output=True, text=True, check=False
    )
    assert "another process writes there" in ended.stderr


@pytest.mark.parametrize("name", ["__consumer_offsets-3", "orders-0"])
def test_a_brokers_folder_is_refused(tmp_path: Path, open_folder: Open, name: str) -> None:
    (tmp_path / "rec" / name).mkdir(parents=True)
    with pytest.raises(SourceError, match=f"holds {name}, which kgroup record did not write"):
        open_folder()


def test_another_cluster_is_refused(open_folder: Open) -> None:
    open_folder().require_cluster("abc")
    again = open_folder()
    again.require_cluster("abc")
    again.require_cluster(None)
    with pytest.raises(SourceError, match="of the cluster abc, and this is the cluster xyz"):
        again.require_cluster("xyz")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SourceError, match=r"file/rec: Not a directory"):
        RecordingFolder(tmp_path / "file" / "rec", FOR_EVER, print)


# ---- samples --------------------------------------------------------------------------------------


def sample(at_ms: int, end: int) -> Sample:
    ends = dict.fromkeys(range(40), end)
    topic = TopicSample(topic_id=TOPIC, partitions=40, starts={0: 0}, ends=ends)
    return Sample(
        at_ms=at_ms, every_ms=10_000, is_full=True, topics={"orders": topic}, brokers={}, leaders={}
    )


def test_samples_are_read_as_they_were_taken_whoever_wrote_them(open_folder: Open, tmp_path: Path) -> None:
    for start in (0, 10):
        folder = open_folder()
        for number in range(start, start + 10):
            folder.add_sample(sample(NOW + number, number))
    read = list(states(read_samples(read_log_dir(tmp_path / "rec"))))
    assert [(state.at_ms - NOW, state.topics["orders"].ends[39]) for state in read] == [
        (number, number) for number in range(20)
    ]


def test_samples_of_a_time_are_found_without_those_before(open_folder: Open, tmp_path: Path) -> None:
    folder = open_folder(Retention(retain_ms=8 * MINUTE, bytes_max=None))
    for number in range(40):
        folder.add_sample(sample(NOW + 10_000 * number, number))
    whole = list(read_samples(read_log_dir(tmp_path / "rec")))
    part = list(read_samples(read_log_dir(tmp_path / "rec"), NOW + 200_000))
    assert len(part) < len(whole)
    assert part[0].is_full
    assert part[0].at_ms <= NOW + 200_000
    assert [state.at_ms for state in states(part)] == [each.at_ms for each in whole[-len(part) :]]


def test_a_segment_is_closed_in_time_though_recorders_come_and_go(open_folder: Open) -> None:
    retention = Retention(retain_ms=8 * MINUTE, bytes_max=None)
    for number in range(6):
        folder = open_folder(retention)
        folder.begin(3, TOPIC, (0, 10), NOW)
        at_ms = NOW + number * 40_000
        fetch(folder, commit(number, at_ms=at_ms), at_ms=at_ms)
    assert len(folder._logs[3].closed_segments()) == 2


# ---- what is kept ---------------------------------------------------------------------------------


def keep(folder: RecordingFolder, now_ms: int) -> None:
    for _ in folder.keep_bounded(now_ms):
        pass


def test_old_segments_fold_and_readers_say_since_when_history_is_whole(
    open_folder: Open, tmp_path: Path
) -> None:
    folder = open_folder(Retention(retain_ms=8 * MINUTE, bytes_max=None))
    folder.begin(3, TOPIC, (0, 0), NOW)
    for number in range(40):
        at_ms = NOW + number * 30_000
        key = b"once" if number == 0 else b"again"
        fetch(folder, commit(number, key, at_ms=at_ms), at_ms=at_ms)
        folder.add_sample(sample(at_ms, number))
    keep(folder, NOW + 20 * MINUTE)
    batches = list(folder._logs[3].batches(0))
    assert batches[0] == commit(0, b"once", at_ms=NOW)
    assert 10 < len(batches) < 25
    (done,) = [note for note in notes(tmp_path) if isinstance(note, Folded) and note.is_done]
    assert batches[2] == commit(done.end_offset, b"again", at_ms=done.newest_ms + 30_000)
    (remark,) = remarks(tmp_path)
    assert remark.startswith("history is cut: before 2027-01-15T08:1")
    assert "in 1 partition" in remark
    first = next(read_samples(read_log_dir(tmp_path / "rec")))
    assert first.is_full
    assert NOW + 10 * MINUTE < first.at_ms <= NOW + 13 * MINUTE
    again = open_folder(Retention(retain_ms=8 * MINUTE, bytes_max=None))
    again.begin(3, TOPIC, (0, 40), NOW)
    assert again.position(3) == 40
    keep(again, NOW + 20 * MINUTE)
    assert list(again._logs[3].batches(0)) == batches


def test_it_stays_below_its_limit_and_the_newest_of_each_key_stays(open_folder: Open, tmp_path: Path) -> None:
    limit = 1_000_000
    folder = open_folder(Retention(retain_ms=None, bytes_max=limit))
    folder.begin(3, TOPIC, (0, 0), NOW)
    value = b"v" * 400
    for start in range(0, 8000, 400):
        fetch(
            folder,
            *[
                commit(n, b"%d" % (n % 50 if n > 100 else n), value, at_ms=NOW + n)
                for n in range(start, start + 400)
            ],
        )
        folder.add_sample(sample(NOW + start, start))
        keep(folder, NOW + start)
        assert folder.size() < limit * 1.2
    assert folder.size() <= limit
    newest = {header: raw for raw in folder._logs[3].batches(0) for header in [key_of(raw)]}
    assert newest.keys() == {b"%d" % key for key in range(101)}
    assert newest[b"70"] == commit(70, b"70", value, at_ms=NOW + 70)


def key_of(raw: bytes) -> bytes:
    from kgroup.log.format.batch import decode_batch

    (record,) = decode_batch(raw).records()
    assert record.key is not None
    return record.key


def test_a_death_before_folding_is_done_does_it_again(open_folder: Open, tmp_path: Path) -> None:
    retention = Retention(retain_ms=8 * MINUTE, bytes_max=None)
    folder = open_folder(retention)
    folder.begin(3, TOPIC, (0, 0), NOW)
    for number in range(40):
        at_ms = NOW + number * 30_000
        fetch(folder, commit(number, at_ms=at_ms), at_ms=at_ms)
    next(folder.keep_bounded(NOW + 20 * MINUTE))
    again = open_folder(retention)
    again.begin(3, TOPIC, (0, 40), NOW)
    keep(again, NOW + 20 * MINUTE)
    assert len(list(again._logs[3].batches(0))) < 25


def test_recordings_put_aside_go_first(open_folder: Open, tmp_path: Path) -> None:
    retention = Retention(retain_ms=None, bytes_max=1_000_000)
    folder = open_folder(retention)
    folder.begin(3, TOPIC, (0, 0), NOW)
    fetch(folder, *[commit(n, b"k", b"v" * 1000) for n in range(900)])
    folder.retire(3, "the topic was made anew", NOW)
    folder.begin(3, OTHER, (0, 0), NOW)
    keep(folder, NOW)
    assert len(list((tmp_path / "rec").glob("*-stray"))) == 1
    fetch(folder, *[commit(n, b"%d" % n, b"v" * 1000) for n in range(200)])
    keep(folder, NOW)
    assert list((tmp_path / "rec").glob("*-stray")) == []
    assert "dropped" in str(folder.notes[-1]).lower()
    assert len(list(folder._logs[3].batches(0))) == 200


def test_notes_that_do_not_matter_any_more_are_left_out() -> None:
    def hole(first: int) -> Hole:
        return Hole(partition=3, first_offset=first, last_offset=first + 1, at_ms=first, why="w")

    began = Began(partition=3, first_offset=0, end_offset=0, at_ms=0)
    folded = Folded(partition=3, end_offset=50, newest_ms=9, is_done=True, at_ms=9)
    many = [hole(first) for first in range(0, 1000, 2)]
    kept = list(notes_to_keep([began, *many, folded]))
    assert kept[:2] == [began, folded]
    assert len(kept) == 102
    assert (kept[2].first_offset, kept[2].last_offset) == (50, many[-100].last_offset)  # type: ignore[union-attr]
    assert kept[3:] == many[-99:]


def test_the_id_of_the_topic_is_that_of_its_name() -> None:
    assert uuid5(NAMESPACE_URL, RECORDING_TOPIC) == RECORDING_TOPIC_ID
