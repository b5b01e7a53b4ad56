"""A streaming query over a live log: the same as reading its files, whatever happens to the query."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kgroup.errors import InputError, KgroupError, SourceError
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch
from kgroup.scan.reductions.last_commits import counting, last_commits
from kgroup.scan.reductions.scan import newest, split
from kgroup.spark import stream
from kgroup.spark.stream import StreamOptions, run_stream
from kgroup.spark.stream_state import Advanced
from tests.spark.files_topic import FilesTopic
from tests.spark.killed_query import KEEP, OFFSETS_MAX, stream_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIXTURES = Path(__file__).parents[2] / "fixtures"
WHOLE_FILES = 1 << 40


def assert_is_all_of(topic: FilesTopic, state: Any) -> None:
    slices = [part for number, path in topic.segments.items() for part in split(path, number, WHOLE_FILES)]
    newest_records, last = state
    assert newest_records == newest(slices)
    assert newest_records.records > 1000
    assert counting(last, KEEP) == last_commits(slices, KEEP.slots)


@pytest.mark.spark
def test_micro_batches_leave_what_one_reading_of_the_files_leaves_transactions_too(
    spark: "SparkSession", tmp_path: Path
) -> None:
    topic = FilesTopic(str(FIXTURES / "1.1.1/lives"))
    states: list[Any] = []
    numbers: list[int] = []

    def each(number: int, state: Advanced[Any]) -> None:
        numbers.append(number)
        states.append(state.whole())

    run_stream(spark, stream_of(topic, tmp_path, 900), each)
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= 3
    counts = [newest_records.records for newest_records, _ in states]
    assert counts == sorted(set(counts))
    assert_is_all_of(topic, states[-1])


@pytest.mark.spark
def test_a_query_that_dies_goes_on_where_it_was_and_loses_and_doubles_nothing(
    spark: "SparkSession", tmp_path: Path
) -> None:
    topic = FilesTopic(str(FIXTURES / "4.3.1/lives"))
    numbers: list[int] = []
    states: list[Any] = []

    def dying(number: int, state: Any) -> None:
        numbers.append(number)
        if number == 1:
            raise SourceError("the network is gone")

    with pytest.raises(KgroupError, match=r"^the streaming query failed: the network is gone$"):
        run_stream(spark, stream_of(topic, tmp_path, 1500), dying)
    assert numbers == [0, 1]

    def each(number: int, state: Advanced[Any]) -> None:
        numbers.append(number)
        states.append(state.whole())

    run_stream(spark, stream_of(topic, tmp_path, 1500), each)
    assert numbers[:3] == [0, 1, 1]
    assert numbers[3:] == list(range(2, len(numbers) - 1))
    assert_is_all_of(topic, states[-1])

    # And once more: there is nothing new, so nothing happens.
    run_stream(spark, stream_of(topic, tmp_path, 1500), dying)
    assert numbers[-1] == len(numbers) - 2


@pytest.mark.spark
def test_a_cluster_that_cannot_be_read_is_one_line(spark: "SparkSession", tmp_path: Path) -> None:
    topic = FilesTopic(str(tmp_path / "nothing"))
    with pytest.raises(KgroupError) as raised:
        run_stream(spark, stream_of(topic, tmp_path / "checkpoint", 10), lambda number, state: None)
    assert str(raised.value) == (
        "the streaming query failed: test:9092: there is no topic __consumer_offsets"
    )


@pytest.mark.spark
def test_a_checkpoint_of_another_version_is_refused_before_anything_is_read(
    spark: "SparkSession", tmp_path: Path
) -> None:
    (tmp_path / "kgroup-state-2" / "7").mkdir(parents=True)
    topic = FilesTopic(str(FIXTURES / "1.1.1/lives"))

    def each(number: int, state: Any) -> None:
        raise AssertionError("nothing was to be read")

    with pytest.raises(InputError, match=f"^--checkpoint {tmp_path}: made by another version of kgroup"):
        run_stream(spark, stream_of(topic, tmp_path, WHOLE_FILES), each)
    assert [path.name for path in tmp_path.iterdir()] == ["kgroup-state-2"]


@dataclass(frozen=True, slots=True)
class TopicWithId(FilesTopic):
    """Its id is in a file of its folder, so that all of Spark's processes see another one."""

    def ids(self) -> tuple[str | None, object]:
        return "cluster", Path(self.capture, "id").read_text()


def made_of(folder: Path, capture: str, topic_id: str) -> TopicWithId:
    """What was in the folder is gone: this is another topic of the same name."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(FIXTURES / capture, folder)
    (folder / "id").write_text(topic_id)
    return TopicWithId(str(folder))


def last_state(
    spark: "SparkSession", options: StreamOptions[Any], notice: Callable[[str], None] = lambda line: None
) -> Any:
    states: list[Any] = []
    run_stream(spark, options, lambda number, state: states.append(state.whole()), notice)
    return states[-1]


@pytest.mark.spark
def test_a_topic_made_again_or_cut_off_is_read_anew_and_nothing_of_the_old_log_stays(
    spark: "SparkSession", tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    said: list[str] = []
    topic = made_of(tmp_path / "logs", "4.3.1/lives", "first")
    assert_is_all_of(topic, last_state(spark, stream_of(topic, checkpoint, WHOLE_FILES), said.append))
    assert said == []
    topic = made_of(tmp_path / "logs", "3.9.1/lives", "second")
    assert_is_all_of(topic, last_state(spark, stream_of(topic, checkpoint, WHOLE_FILES), said.append))
    (line,) = said
    assert line.startswith("__consumer_offsets, partition ")
    assert line.endswith(
        ": read anew from where it begins: the topic is another one: its id is second, and was first"
    )
    said.clear()
    cut, path = max(topic.segments.items(), key=lambda item: item[1].stat().st_size)
    batches = [item for item in read_segment(path) if isinstance(item, Batch)]
    path.write_bytes(path.read_bytes()[: batches[len(batches) // 2].position])
    assert_is_all_of(topic, last_state(spark, stream_of(topic, checkpoint, WHOLE_FILES), said.append))
    (line,) = said
    assert line.startswith(
        f"__consumer_offsets, partition {cut}: read anew from where it begins: the log was"
    )


@pytest.mark.spark
def test_a_query_whose_workers_came_too_late_is_tried_again(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = FilesTopic(str(FIXTURES / "1.1.1/lives"))
    starts: list[int] = []
    start = stream._start

    def late(*arguments: Any) -> Any:
        starts.append(len(starts))
        if len(starts) == 1:
            raise KgroupError("[STREAM_FAILED] Python worker failed to connect back. SQLSTATE: XXKST")
        return start(*arguments)

    monkeypatch.setattr(stream, "_start", late)
    assert_is_all_of(topic, last_state(spark, stream_of(topic, tmp_path, WHOLE_FILES)))
    tried = len(starts)
    assert tried >= 2

    def broken(*arguments: Any) -> Any:
        starts.append(len(starts))
        raise KgroupError("something else")

    monkeypatch.setattr(stream, "_start", broken)
    with pytest.raises(KgroupError, match="something else"):
        last_state(spark, stream_of(topic, tmp_path, WHOLE_FILES))
    assert len(starts) == tried + 1


@pytest.mark.spark
@pytest.mark.parametrize(("at", "there"), [("report", {"base-1", "2", "3"}), ("base", {"0", "1", "base-1"})])
def test_a_driver_that_is_killed_with_a_large_state_loses_and_doubles_nothing(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, there: set[str]
) -> None:
    logs, checkpoint = str(FIXTURES / "4.3.1/lives"), tmp_path / "checkpoint"
    command = [sys.executable, "-m", "tests.spark.killed_query", logs, str(checkpoint), at]
    ended = subprocess.run(command, cwd=FIXTURES.parent, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert {path.name for path in (checkpoint / "kgroup-state-5").iterdir()} == there
    topic, numbers, states = FilesTopic(logs), list[int](), list[Any]()

    def each(number: int, state: Advanced[Any]) -> None:
        numbers.append(number)
        states.append(state.whole())

    run_stream(spark, stream_of(topic, checkpoint, OFFSETS_MAX), each)
    first = 3 if at == "report" else 2
    assert numbers == list(range(first, first + len(numbers)))
    assert len(numbers) > 1
    assert_is_all_of(topic, states[-1])
    assert not {"0", "1"} & {path.name for path in (checkpoint / "kgroup-state-5").iterdir()}
