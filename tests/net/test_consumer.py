"""The live reader on what a real broker has on disk, sent as brokers send it: whole batches, and cut."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from kgroup.errors import SourceError
from kgroup.log.entries import read_decoded
from kgroup.log.segment import read_segment
from kgroup.log.sources import open_sources
from kgroup.net import consumer
from kgroup.net.admin import Topic
from kgroup.net.consumer import read_live, read_live_entries, whole_batches
from kgroup.protocol.log_ends import LogEndSource, LogListing, PartitionLog

LIVES = Path(__file__).parents[2] / "fixtures/4.3.1/lives"
SEGMENTS = {
    int(folder.name.rpartition("-")[2]): folder / f"{0:020}.log"
    for folder in sorted(LIVES.glob("__consumer_offsets-*"))
}
OFFSET_OUT_OF_RANGE, NOT_LEADER = 1, 6


@dataclass
class BrokerWithFiles:
    """Answers as a cluster of one broker that holds these segments and sends `at_most` bytes a partition."""

    segments: dict[int, Path]
    at_most: int = 1 << 20
    first_offset: int = 0
    errors: list[int] = field(default_factory=list)
    name: str = "test:9092"

    def topics(self, names):
        return {
            name: Topic(name=name, topic_id=None, leaders=dict.fromkeys(self.segments, 1)) for name in names
        }

    def log_listing(self, names):
        logs = [
            PartitionLog(
                topic=names[0],
                partition=partition,
                source=LogEndSource.LIVE,
                log_start_offset=self.first_offset,
                log_end_offset=list(read_segment(path))[-1].last_offset + 1,
            )
            for partition, path in self.segments.items()
        ]
        return LogListing(logs=tuple(logs))

    def ask(self, request, node_id):
        (topic,) = request.topics
        answers = [self._answer(asked) for asked in topic.partitions]
        return SimpleNamespace(responses=[SimpleNamespace(partitions=answers)])

    def _answer(self, asked):
        error = self.errors.pop(0) if self.errors else 0
        sent = b""
        if not error:
            path = self.segments[asked.partition]
            batches = [batch for batch in read_segment(path) if batch.last_offset >= asked.fetch_offset]
            if batches:
                first = batches[0]
                # KIP-74: the first batch is sent whole, however large.
                sent = path.read_bytes()[first.position :][: max(first.size, self.at_most)]
        return SimpleNamespace(partition_index=asked.partition, error_code=error, records=sent)


def on_disk(partitions):
    segments = [segment for segment in open_sources([LIVES]) if segment.partition in partitions]
    return [
        (item.segment.partition, item.record.offset, item.entry)
        for item in read_decoded(segments)
        if item.record
    ]


def live(items):
    return [(item.segment.partition, item.record.offset, item.entry) for item in items if item.record]


@pytest.mark.parametrize("at_most", [1, 700, 1 << 20])
def test_a_live_topic_reads_as_its_files_do(at_most):
    broker = BrokerWithFiles(SEGMENTS, at_most=at_most)
    assert live(read_live(broker)) == on_disk(SEGMENTS)


def test_only_the_partitions_asked_for_are_read():
    wanted = sorted(SEGMENTS)[:2]
    assert live(read_live(BrokerWithFiles(SEGMENTS), wanted)) == on_disk(wanted)


def test_entries_are_those_of_the_records():
    entries = [
        (logged.partition, logged.offset, logged.entry)
        for logged in read_live_entries(BrokerWithFiles(SEGMENTS))
    ]
    assert entries == on_disk(SEGMENTS)


def test_a_log_that_starts_inside_a_batch_starts_there():
    partition, path = next(iter(SEGMENTS.items()))
    second = [offset for _, offset, _ in on_disk([partition])][1]
    broker = BrokerWithFiles({partition: path}, first_offset=second)
    assert live(read_live(broker)) == on_disk([partition])[1:]


def test_following_goes_on_with_what_comes_after_the_end(tmp_path):
    partition, path = max(SEGMENTS.items(), key=lambda item: item[1].stat().st_size)
    batches = list(read_segment(path))
    growing = tmp_path / "growing.log"
    growing.write_bytes(path.read_bytes()[: batches[2].position])
    records = read_live(BrokerWithFiles({partition: growing}), follow=True)
    everything = on_disk([partition])
    before = sum(offset <= batches[1].last_offset for _, offset, _ in everything)
    assert live(next(records) for _ in range(before)) == everything[:before]
    growing.write_bytes(path.read_bytes())
    assert live(next(records) for _ in range(len(everything) - before)) == everything[before:]


def test_a_leader_that_moves_is_asked_again(monkeypatch):
    monkeypatch.setattr(consumer.time, "sleep", lambda seconds: None)
    broker = BrokerWithFiles(SEGMENTS, errors=[NOT_LEADER, NOT_LEADER])
    assert live(read_live(broker)) == on_disk(SEGMENTS)


def test_a_leader_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(consumer.time, "sleep", lambda seconds: None)
    with pytest.raises(SourceError, match="its leader sends nothing"):
        live(read_live(BrokerWithFiles(SEGMENTS, errors=[NOT_LEADER] * 1000)))


def test_a_log_that_is_cut_while_it_is_read_is_an_error():
    with pytest.raises(SourceError, match="OFFSET_OUT_OF_RANGE"):
        live(read_live(BrokerWithFiles(SEGMENTS, errors=[OFFSET_OUT_OF_RANGE])))


def test_a_cluster_without_the_topic_and_a_partition_without_a_leader_are_named():
    with pytest.raises(SourceError, match="there is no topic __consumer_offsets"):
        live(read_live(BrokerWithFiles({})))
    with pytest.raises(SourceError, match="and no 77"):
        live(read_live(BrokerWithFiles(SEGMENTS), [77]))


@pytest.mark.parametrize("capture", ["0.10.1.1/codec-gzip", "1.1.1/format-0.9", "4.3.1/lives"])
def test_whole_batches_are_told_from_cut_ones_in_every_format(capture):
    path = max(
        (LIVES.parents[1] / capture).glob("__consumer_offsets-*/*.log"), key=lambda log: log.stat().st_size
    )
    content = path.read_bytes()
    batches = list(read_segment(path))[:3]
    ends = {batch.position + batch.size: batch.last_offset + 1 for batch in batches}
    expected = (0, 0)
    for size in range(max(ends) + 1):
        if size in ends:
            expected = (size, ends[size])
        assert whole_batches(content[:size]) == expected
