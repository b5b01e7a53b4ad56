"""Log ends that a recorder sampled: of now, at a time, and as they grew."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from kgroup.lag.measures.log_ends import LogEnds, TopicState
from kgroup.log.files.log_dir import LogDir
from kgroup.log.files.recording import Sample, TopicSample
from kgroup.log.files.sources import read_log_dir
from kgroup.log.recorder.folder import RecordingFolder
from kgroup.log.recorder.retention import Retention
from kgroup.log.topics.log_ends import LogDirEndsReader
from kgroup.log.topics.past_ends import UNKNOWN, PastEndsInLogs
from kgroup.log.topics.recorded_ends import EndsAround, newest_recorded
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.protocol.log_listing import LogEndSource
from tests.compat.captures import FIXTURES

LIVES = FIXTURES / "4.3.1/lives"
FIRST, SECOND = UUID(int=1), UUID(int=2)
EVERY_MS = 10_000
NOW = 1_800_000_000_000


def sample(at_s: float, topic_id: UUID = FIRST, unknown: Iterable[int] = (), **ends: int) -> Sample:
    """Partition 0 of each topic ends there; the times are seconds after NOW."""
    return Sample(
        at_ms=NOW + int(at_s * 1000),
        every_ms=EVERY_MS,
        is_full=True,
        topics={
            name: TopicSample(
                topic_id=topic_id, partitions=1, starts={0: 2}, ends={0: end}, unknown=frozenset(unknown)
            )
            for name, end in ends.items()
        },
        brokers={},
        leaders={},
    )


def recorded(folder: Path, samples: Sequence[Sample]) -> LogDir:
    writer = RecordingFolder(folder, Retention(retain_ms=None, bytes_max=None), print)
    for each in samples:
        writer.add_sample(each)
    writer.close()
    return read_log_dir(folder)


def at(log_dir: LogDir, *seconds: float, topic: str = "orders") -> list[int]:
    past = PastEndsInLogs([log_dir], [NOW + int(each * 1000) for each in seconds])(topic, 0)
    return [int(end) for end in past.at]


SAMPLES = [sample(0, orders=10), sample(10, orders=10), sample(20, orders=30), sample(30, orders=40)]


@pytest.mark.parametrize(
    ("seconds", "end"),
    [
        (5, 10),  # the same before and after: exactly that
        (10, 10),
        (11, 10),  # nearer to the one before
        (19.999, 30),  # the last ms of a window that ends at 20
        (20, 30),
        (29, 40),
        (31, 40),
        (39, 40),  # after the last one, for as long as it takes to the next
        (41, UNKNOWN),
        (-3, 10),
        (-11, UNKNOWN),
    ],
)
def test_at_a_time_it_is_that_of_the_nearer_sample(tmp_path: Path, seconds: float, end: int) -> None:
    assert at(recorded(tmp_path, SAMPLES), seconds) == [end]


def test_many_times_are_answered_at_once(tmp_path: Path) -> None:
    log_dir = recorded(tmp_path, SAMPLES)
    assert at(log_dir, 5, 11, 19.999, 31, 60) == [10, 10, 30, 40, UNKNOWN]


def test_while_nobody_recorded_it_is_known_only_if_nothing_changed(tmp_path: Path) -> None:
    away = [sample(0, orders=10, clicks=5), sample(600, orders=90, clicks=5)]
    log_dir = recorded(tmp_path, away)
    assert at(log_dir, 5, 300, 595) == [10, UNKNOWN, 90]
    assert at(log_dir, 5, 300, 595, topic="clicks") == [5, 5, 5]


def test_a_partition_that_gave_no_answer_was_not_seen_then(tmp_path: Path) -> None:
    log_dir = recorded(
        tmp_path, [sample(0, orders=10), sample(10, unknown=[0], orders=0), sample(40, orders=30)]
    )
    assert at(log_dir, 9.5) == [10]
    assert at(log_dir, 12, 20, 35) == [UNKNOWN, UNKNOWN, 30]


def test_a_topic_made_anew_has_its_own_ends(tmp_path: Path) -> None:
    log_dir = recorded(
        tmp_path, [sample(0, orders=50), sample(10, SECOND, orders=3), sample(20, SECOND, orders=3)]
    )
    assert at(log_dir, 9.9, 15) == [50, 3]


def test_the_end_of_now_is_that_of_the_newest_sample(tmp_path: Path) -> None:
    past = PastEndsInLogs([recorded(tmp_path, SAMPLES)], [NOW])("orders", 0)
    assert past.now == 40


def test_of_a_topic_that_no_sample_has_nothing_is_known(tmp_path: Path) -> None:
    past = PastEndsInLogs([recorded(tmp_path, SAMPLES)], [NOW])("nobody", 0)
    assert (past.at.tolist(), past.now) == ([UNKNOWN], UNKNOWN)


@pytest.mark.parametrize(
    ("before", "after", "logged", "end", "off_by"),
    [
        (10, 20, 14, 14, 0),  # the data's own log decides between two samples
        (10, 20, 9, 20, 10),  # but not against them: its clocks are producers'
        (10, 20, 21, 20, 10),
        (10, 20, -1, 20, 10),
        (10, 10, 12, 10, 0),
        (10, 10, -1, 10, 0),
        (10, -1, 12, 12, 0),
        (10, -1, -1, 10, UNKNOWN),
        (-1, 20, -1, 20, UNKNOWN),
        (-1, -1, 12, 12, 0),
        (-1, -1, -1, UNKNOWN, 0),
    ],
)
def test_the_datas_own_log_counts_where_samples_allow_it(
    before: int, after: int, logged: int, end: int, off_by: int
) -> None:
    def array(value: int) -> np.ndarray:
        return np.array([value], np.int64)

    around = EndsAround(
        before=array(before),
        after=array(after),
        before_ms=array(900),
        after_ms=array(100),
        near_ms=array(EVERY_MS),
    )
    assert around.with_logged(array(logged)).tolist() == [end]
    assert around.off_by(array(end), array(logged)).tolist() == [off_by]


def test_what_is_between_two_samples_is_counted_once(tmp_path: Path) -> None:
    """The samples say 50 and 53: at a time between them the nearer is off by 3 at most."""
    log_dir = recorded(tmp_path, [sample(0, orders=50), sample(10, orders=53), sample(20, orders=53)])
    ends = PastEndsInLogs([log_dir], [NOW + 1000 * at for at in (4, 15, 22)])
    for _ in range(2):
        assert ends("orders", 0).at.tolist() == [50, 53, 53]
    between = ends.between_samples
    assert (between.count, between.most, between.place) == (2, 3, ("orders", 0))
    assert between.without_bound == 1


# ---- of now ---------------------------------------------------------------------------------------


def test_the_listing_is_the_newest_sample(tmp_path: Path) -> None:
    reader = LogDirEndsReader([recorded(tmp_path, SAMPLES)])
    ends = reader.read(["orders"])
    (log,) = ends.recorded.logs
    assert (log.topic, log.partition, log.source) == ("orders", 0, LogEndSource.RECORDED)
    assert (log.log_start_offset, log.log_end_offset, log.topic_id) == (2, 40, FIRST)
    assert ends.recorded_ms == NOW + 30_000
    assert reader.topic_names() == {FIRST: "orders"}
    assert ends.segments.logs == ()


def test_a_topic_that_was_there_once_is_deleted_and_of_others_nothing_is_said(tmp_path: Path) -> None:
    log_dir = recorded(tmp_path, [sample(0, orders=10, clicks=5), sample(10, orders=10)])
    ends = LogEnds([LogDirEndsReader([log_dir]).read(["orders", "clicks", "hidden"]).recorded])
    assert ends.topic_state("clicks", 0) is TopicState.DELETED
    assert ends.topic_state("hidden", 0) is TopicState.UNKNOWN
    assert ends.topic_state("orders", 0, SECOND) is TopicState.RECREATED


def test_a_folder_that_is_no_recording_says_nothing() -> None:
    assert newest_recorded(read_log_dir(LIVES)) is None
    ends = LogDirEndsReader([read_log_dir(LIVES)]).read([])
    assert (ends.recorded.logs, ends.recorded_ms) == ((), None)


# ---- as they grew ---------------------------------------------------------------------------------


def test_history_has_each_growth(tmp_path: Path) -> None:
    logs = DataLogs([recorded(tmp_path, SAMPLES)])
    assert [(end.offset, end.timestamp_ms - NOW) for end in logs.history("orders", 0, 60)] == [
        (10, 0),
        (30, 20_000),
        (40, 30_000),
    ]
    assert logs.history("nobody", 0, 60) == ()


def test_history_is_thinned_out_and_keeps_its_ends(tmp_path: Path) -> None:
    grown = [sample(number, orders=100 + number) for number in range(1000)]
    history = DataLogs([recorded(tmp_path, grown)]).history("orders", 0, 30)
    assert 30 <= len(history) <= 61
    assert (history[0].offset, history[-1].offset) == (100, 1099)
    assert list(history) == sorted(history)


def test_history_is_of_the_newest_topic_of_the_name(tmp_path: Path) -> None:
    log_dir = recorded(
        tmp_path, [sample(0, orders=50), sample(10, SECOND, orders=3), sample(20, SECOND, orders=4)]
    )
    assert [end.offset for end in DataLogs([log_dir]).history("orders", 0, 60)] == [3, 4]
