"""How a micro-batch's spans are chosen and shared among tasks; no Spark runs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from kgroup.log.files.segment import read_segment
from kgroup.spark.live_source import LiveReader, admitted, tasks_of
from kgroup.spark.reductions import NewestRecords
from tests.spark.files_topic import FilesTopic

FIXTURES = Path(__file__).parents[2] / "fixtures"
LIVES = FilesTopic(str(FIXTURES / "4.3.1/lives"))


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


@given(BACKLOGS)
def test_every_span_is_in_one_task(backlog):
    tasks = tasks_of(backlog)
    assert 1 <= len(tasks) <= 8
    together = [item for task in tasks for item in task.items()]
    assert sorted(together) == sorted(backlog.items())


def test_the_largest_spans_are_apart():
    sizes = [
        sum(end - start for start, end in task.values()) for task in tasks_of({n: (0, n) for n in range(17)})
    ]
    assert max(sizes) - min(sizes) <= 4


@pytest.fixture
def reader():
    return LiveReader(LIVES, NewestRecords(), 1000)


def test_a_stream_begins_where_the_log_does_and_ends_where_it_does(reader):
    start = reader.initialOffset()
    assert set(start.values()) == {0}
    end = reader.latestOffset(start, ReadAllAvailable())
    assert end == {str(partition): last for partition, (_, last) in sorted(LIVES.spans().items())}
    assert reader.latestOffset(end, reader.getDefaultReadLimit()) == end


def test_micro_batches_end_where_batches_do_and_together_are_the_log(reader):
    ends_of_batches = {
        str(partition): {0} | {batch.last_offset + 1 for batch in read_segment(path)}
        for partition, path in LIVES.segments.items()
    }
    at, steps = reader.initialOffset(), 0
    while (following := reader.latestOffset(at, ReadMaxRows(1000))) != at:
        assert all(offset in ends_of_batches[partition] for partition, offset in following.items())
        at, steps = following, steps + 1
    assert steps >= 4
    assert at == reader.latestOffset(at, ReadAllAvailable())


def test_what_comes_after_available_now_began_is_left(reader, monkeypatch):
    spans = LIVES.spans()
    reader.prepareForTriggerAvailableNow()
    later = {partition: (start, end + 5) for partition, (start, end) in spans.items()}
    monkeypatch.setattr(FilesTopic, "spans", lambda topic: later)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert end == {str(partition): last for partition, (_, last) in sorted(spans.items())}
