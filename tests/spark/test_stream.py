"""A streaming query over a live log: the same as reading its files, whatever happens to the query."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kgroup.errors import InputError, KgroupError, SourceError
from kgroup.scan.reductions.last_commits import Keep, counting, last_commits
from kgroup.scan.reductions.scan import newest, split
from kgroup.spark.reductions import Both, LastCommitsOfEach, NewestRecords
from kgroup.spark.stream import StreamOptions, run_stream
from tests.spark.files_topic import FilesTopic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIXTURES = Path(__file__).parents[2] / "fixtures"
KEEP = Keep(slots=10)
WHOLE_FILES = 1 << 40


def stream_of(topic: FilesTopic, checkpoint: Path, offsets_max: int) -> StreamOptions[Any]:
    return StreamOptions(
        topic=topic,
        reduction=Both(NewestRecords(), LastCommitsOfEach(KEEP)),
        checkpoint=str(checkpoint),
        offsets_max=offsets_max,
        every_ms=None,
    )


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

    def each(number: int, state: Any) -> None:
        numbers.append(number)
        states.append(state)

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

    def each(number: int, state: Any) -> None:
        numbers.append(number)
        states.append(state)

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
