"""How a micro-batch's spans are chosen and shared among tasks; no Spark runs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from kgroup.errors import InputError, SourceError
from kgroup.log.files.segment import read_segment
from kgroup.spark.live_source import LiveReader, admitted, tasks_of
from kgroup.spark.positions import SpanToRead
from kgroup.spark.reductions import NewestRecords
from tests.spark.files_topic import FilesTopic

FIXTURES = Path(__file__).parents[2] / "fixtures"
LIVES = FilesTopic(str(FIXTURES / "4.3.1/lives"))
ONE = 3  # a partition of it with some hundred records


class Batches:
    """A topic in which every batch has `size` records."""

    name = "batches"

    def __init__(self, size):
        self.size = size

    def boundaries(self, spans):
        return {
            partition: min((first // self.size + 1) * self.size, end)
            for partition, (first, end) in spans.items()
        }


BACKLOGS = st.dictionaries(
    st.integers(0, 9), st.tuples(st.integers(0, 5), st.integers(0, 60)).map(lambda span: (span[0], sum(span)))
)


@given(BACKLOGS, st.integers(1, 100), st.integers(1, 7))
def test_about_as_much_as_may_be_is_admitted_and_always_something(backlog, most, size):
    ends = admitted(backlog, most, Batches(size))
    read = {partition: ends[partition] - start for partition, (start, _) in backlog.items()}
    behind = {partition: end - start for partition, (start, end) in backlog.items()}
    assert all(0 <= read[partition] <= behind[partition] for partition in backlog)
    assert all(read[partition] for partition in backlog if behind[partition])
    assert sum(read.values()) <= max(most, len(backlog)) + len(backlog) * size
    assert sum(read.values()) >= min(most, sum(behind.values())) - len(backlog)


def test_without_a_limit_all_is_admitted():
    assert admitted({1: (0, 50), 2: (7, 7)}, None, Batches(1)) == {1: 50, 2: 7}


def test_what_small_ones_leave_goes_to_the_large_ones():
    assert admitted({1: (0, 2), 2: (0, 100), 3: (0, 100)}, 42, Batches(1)) == {1: 2, 2: 20, 3: 20}


def spans_of(backlog):
    return [
        SpanToRead(partition=partition, begin=begin, end=end, anew=None)
        for partition, (begin, end) in backlog.items()
    ]


@given(BACKLOGS)
def test_every_span_is_in_one_task(backlog):
    spans = spans_of(backlog)
    tasks = tasks_of(spans)
    assert 1 <= len(tasks) <= 8
    together = [span for task in tasks for span in task]
    assert sorted(together, key=repr) == sorted(spans, key=repr)


def test_the_largest_spans_are_apart():
    tasks = tasks_of(spans_of({n: (0, n) for n in range(17)}))
    sizes = [sum(span.end - span.begin for span in task) for task in tasks]
    assert max(sizes) - min(sizes) <= 4


@pytest.fixture
def reader():
    return LiveReader(LIVES, NewestRecords(), 1000)


def offsets(positions):
    return {int(partition): each[0] for partition, each in positions["partitions"].items()}


def ends(spans):
    return {partition: last for partition, (_, last) in spans.items()}


def test_a_stream_begins_where_the_log_does_and_ends_where_it_does(reader):
    start = reader.initialOffset()
    assert set(offsets(start).values()) == {0}
    end = reader.latestOffset(start, ReadAllAvailable())
    assert offsets(end) == ends(LIVES.spans())
    assert reader.latestOffset(end, reader.getDefaultReadLimit()) == end


def test_micro_batches_end_where_batches_do_and_together_are_the_log(reader):
    ends_of_batches = {
        partition: {0} | {batch.last_offset + 1 for batch in read_segment(path)}
        for partition, path in LIVES.segments.items()
    }
    at, steps = reader.initialOffset(), 0
    while (following := reader.latestOffset(at, ReadMaxRows(1000))) != at:
        assert all(offset in ends_of_batches[partition] for partition, offset in offsets(following).items())
        at, steps = following, steps + 1
    assert steps >= 4
    assert at == reader.latestOffset(at, ReadAllAvailable())


def test_what_comes_after_available_now_began_is_left(reader, monkeypatch):
    spans = LIVES.spans()
    reader.prepareForTriggerAvailableNow()
    later = {partition: (start, end + 5) for partition, (start, end) in spans.items()}
    monkeypatch.setattr(FilesTopic, "spans", lambda topic, leaderless=None: later)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert offsets(end) == ends(spans)


@pytest.fixture
def changing(monkeypatch):
    """What the topic says of itself, to be changed."""
    whole = LIVES.spans()
    said = {"ids": ("c1", "t1"), "spans": whole, "epochs": 3, "epoch_ends": {}}

    def spans(topic, leaderless=None):
        if leaderless is not None:
            leaderless.update(whole.keys() - said["spans"].keys())
        return said["spans"]

    monkeypatch.setattr(FilesTopic, "ids", lambda topic: said["ids"])
    monkeypatch.setattr(FilesTopic, "spans", spans)
    monkeypatch.setattr(
        FilesTopic, "epochs_before", lambda topic, before: dict.fromkeys(before, said["epochs"])
    )
    monkeypatch.setattr(
        FilesTopic,
        "epoch_ends",
        lambda topic, epochs: {p: said["epoch_ends"].get(p, (3, 1 << 40)) for p in epochs},
    )
    return said


def read_to_the_end(reader):
    return reader.latestOffset(reader.initialOffset(), ReadAllAvailable())


def planned(reader, start, end):
    return [span for task in reader.partitions(start, end) for span in task.value]


def test_a_topic_made_again_is_read_from_its_beginning_even_if_it_is_as_long_as_before(reader, changing):
    at = read_to_the_end(reader)
    changing["ids"] = ("c1", "t2")
    later = reader.latestOffset(at, ReadAllAvailable())
    spans = planned(reader, at, later)
    assert {span.partition: (span.begin, span.end) for span in spans} == LIVES.spans()
    assert {span.anew for span in spans} == {"the topic is another one: its id is t2, and was t1"}
    assert reader.latestOffset(later, ReadAllAvailable()) == later


def test_another_cluster_too_and_a_partition_that_is_not_there_any_more_is_forgotten(reader, changing):
    at = read_to_the_end(reader)
    one, whole = ONE, changing["spans"]
    changing.update(ids=("c2", "t2"), spans={one: (0, 7)})
    later = reader.latestOffset(at, ReadAllAvailable())
    spans = {span.partition: span for span in planned(reader, at, later)}
    assert spans.keys() == whole.keys()
    assert {span.anew for span in spans.values()} == {"the cluster is another one: its id is c2, and was c1"}
    assert all(span.end == (7 if span.partition == one else 0) for span in spans.values())


def test_a_log_that_begins_behind_what_was_next_is_read_from_there(reader, changing):
    at = read_to_the_end(reader)
    one = ONE
    next_offset = offsets(at)[one]
    changing["spans"] = {**changing["spans"], one: (next_offset + 5, next_offset + 9)}
    (span,) = planned(reader, at, reader.latestOffset(at, ReadAllAvailable()))
    assert (span.partition, span.begin, span.end) == (one, next_offset + 5, next_offset + 9)
    assert span.anew == (
        f"the log begins at {next_offset + 5}, and {next_offset} was next: what lay between is gone unread"
    )


def test_a_log_that_ends_before_what_was_next_is_read_again_where_brokers_have_no_epochs(reader, changing):
    changing["epochs"] = None
    at = read_to_the_end(reader)
    one = ONE
    changing["spans"] = {**changing["spans"], one: (0, 3)}
    later = reader.latestOffset(at, ReadAllAvailable())
    (span,) = planned(reader, at, later)
    assert (span.partition, span.begin, span.end) == (one, 0, 3)
    assert span.anew.startswith("the log was cut off or made again: it ends at 3, and ")
    assert reader.latestOffset(later, ReadAllAvailable()) == later


@pytest.mark.parametrize("end", [(3, 5), (2, 5), (-1, -1)])
def test_a_log_cut_off_and_written_again_since_is_known_by_its_leader_epochs(reader, changing, end):
    at = read_to_the_end(reader)
    one, (_, last) = ONE, changing["spans"][ONE]
    changing["epoch_ends"] = {one: end}
    changing["spans"] = {**changing["spans"], one: (0, last + 100)}
    (span,) = planned(reader, at, reader.latestOffset(at, ReadAllAvailable()))
    assert (span.partition, span.begin, span.end) == (one, 0, last + 100)
    assert span.anew.startswith("the log was cut off or made again: leader epoch 3 ")


def test_a_partition_without_a_leader_or_with_a_new_one_waits_and_loses_nothing(reader, changing):
    whole = changing["spans"]
    one, (_, last) = ONE, whole[ONE]
    at = read_to_the_end(reader)
    changing["spans"] = {partition: span for partition, span in whole.items() if partition != one}
    assert reader.latestOffset(at, ReadAllAvailable()) == at
    changing["spans"] = {**whole, one: (0, last - 1)}  # it does not know yet how far its followers are
    assert reader.latestOffset(at, ReadAllAvailable()) == at
    changing["spans"] = {**whole, one: (0, last + 2)}
    (span,) = planned(reader, at, reader.latestOffset(at, ReadAllAvailable()))
    assert (span.partition, span.begin, span.end, span.anew) == (one, last, last + 2, None)


def test_what_cannot_be_asked_now_is_not_read_now(reader, changing, monkeypatch):
    at = read_to_the_end(reader)
    changing["spans"] = {partition: (0, end + 1) for partition, (_, end) in changing["spans"].items()}
    monkeypatch.setattr(FilesTopic, "epoch_ends", lambda topic, epochs: {})
    assert reader.latestOffset(at, ReadAllAvailable()) == at
    monkeypatch.undo()


@pytest.mark.parametrize("question", ["epoch_ends", "epochs_before"])
def test_but_where_all_that_is_there_is_asked_for_it_is_an_error(reader, changing, monkeypatch, question):
    at = read_to_the_end(reader)
    changing["spans"] = {partition: (0, end + 1) for partition, (_, end) in changing["spans"].items()}
    reader.prepareForTriggerAvailableNow()
    monkeypatch.setattr(FilesTopic, question, lambda topic, asked: {})
    with pytest.raises(SourceError, match=r"its leader cannot say yet how far the log goes$"):
        reader.latestOffset(at, ReadAllAvailable())


def test_reading_all_that_is_there_needs_every_leader(reader, changing):
    reader.prepareForTriggerAvailableNow()
    changing["spans"] = dict(list(changing["spans"].items())[1:])
    with pytest.raises(SourceError, match=r"^test:9092: partition \d+ has no leader$"):
        reader.latestOffset(reader.initialOffset(), ReadAllAvailable())


def test_a_partition_that_has_come_is_read_from_its_beginning(reader, changing):
    whole = changing["spans"]
    one, span_of_one = ONE, whole[ONE]
    changing["spans"] = {partition: span for partition, span in whole.items() if partition != one}
    at = read_to_the_end(reader)
    changing["spans"] = whole
    (span,) = planned(reader, at, reader.latestOffset(at, ReadAllAvailable()))
    assert (span.partition, (span.begin, span.end), span.anew) == (one, span_of_one, None)


def test_what_was_removed_before_it_was_read_begins_the_partition_anew(reader, monkeypatch):
    one, path = ONE, LIVES.segments[ONE]
    span = SpanToRead(partition=one, begin=10, end=20, anew=None)

    def copy(topic, spans, folder):
        return {one: (path, 15)}

    monkeypatch.setattr(FilesTopic, "copy", copy)
    (row,) = (row for batch in reader.read(InputPartition([span])) for row in batch.to_pylist())
    assert (row["offsets_partition"], row["run"]) == (one, 15)
    assert row["anew"] == "offsets 10 to 14 were removed before they were read"


def test_who_asks_is_told_when_all_is_read_and_again_though_nothing_is_new(monkeypatch):
    reader = LiveReader(LIVES, NewestRecords(), 1000, tells_whole=True)
    at, told = reader.initialOffset(), []
    while not told or told[-1] is None:
        at = reader.latestOffset(at, ReadMaxRows(1000))
        told.append(at.get("whole"))
    assert len(told) > 3
    assert set(told[:-1]) == {None}
    assert (told[-1], offsets(at)) == (7, ends(LIVES.spans()))
    monkeypatch.setattr(FilesTopic, "now_ms", lambda topic: 8)
    again = reader.latestOffset(at, ReadMaxRows(1000))
    assert (again["whole"], offsets(again)) == (8, offsets(at))
    assert planned(reader, at, again) == []
    # Whoever does not ask goes on from there, and has nothing to do.
    assert LiveReader(LIVES, NewestRecords(), 1000).latestOffset(again, ReadAllAvailable()) == again


def test_where_what_is_there_is_asked_for_it_is_told_once(monkeypatch):
    reader = LiveReader(LIVES, NewestRecords(), 1000, tells_whole=True)
    reader.prepareForTriggerAvailableNow()
    monkeypatch.setattr(FilesTopic, "now_ms", lambda topic: 8)
    at = read_to_the_end(reader)
    assert at["whole"] == 7
    assert reader.latestOffset(at, ReadAllAvailable()) == at


@pytest.mark.parametrize("question", ["epoch_ends", "epochs_before"])
def test_what_cannot_be_asked_now_is_not_all(changing, monkeypatch, question):
    reader = LiveReader(LIVES, NewestRecords(), 1000, tells_whole=True)
    at = read_to_the_end(reader)
    assert at["whole"] == 7
    changing["spans"] = {partition: (0, end + 1) for partition, (_, end) in changing["spans"].items()}
    monkeypatch.setattr(FilesTopic, question, lambda topic, asked: {})
    assert reader.latestOffset(at, ReadAllAvailable()).get("whole") is None


@pytest.mark.parametrize("offsets", [{"7": 500}, {"cluster": None, "topic": None, "partitions": {"7": 1}}])
def test_offsets_of_another_version_are_refused(reader, offsets):
    with pytest.raises(InputError, match="not as this version of kgroup writes them"):
        reader.latestOffset(offsets, ReadAllAvailable())
