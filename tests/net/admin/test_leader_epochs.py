"""Leader epochs, asked of a leader that answers as Kafka's LeaderEpochFileCache does, and of one here."""

from dataclasses import dataclass, field
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.group import OffsetCommitRequest

import kgroup.testing
from kgroup.net.admin.cluster import Topic, UnsupportedError
from kgroup.net.admin.leader_epochs import epoch_ends, epochs_before
from kgroup.net.admin.offsets_topic import LiveOffsetsTopic
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.protocol.group_hash import OFFSETS_TOPIC
from tests.net.wire_client import WireClient

NOT_LEADER = 6


@dataclass
class Leader:
    """Partition 7 has these epochs, by where they begin, and ends at `end`."""

    starts: dict[int, int]
    end: int
    name: str = "test:9092"
    error: int = 0
    is_old: bool = False
    asked: list[int] = field(default_factory=list)

    def topics(self, names=None):
        epochs = {} if self.is_old else {7: max(self.starts)}
        return {OFFSETS_TOPIC: Topic(name=OFFSETS_TOPIC, topic_id=None, leaders={7: 1}, leader_epochs=epochs)}

    def ask(self, request, node_id):
        if self.is_old:
            raise UnsupportedError("too old")
        (part,) = request.topics[0].partitions
        self.asked.append(part.leader_epoch)
        epoch, end = self._end_of(part.leader_epoch)
        answer = SimpleNamespace(partition=7, error_code=self.error, leader_epoch=epoch, end_offset=end)
        return SimpleNamespace(topics=[SimpleNamespace(partitions=[answer])])

    def _end_of(self, epoch):
        """Kafka 4.x: LeaderEpochFileCache.endOffsetFor."""
        higher = [each for each in self.starts if each > epoch]
        floor = [each for each in self.starts if each <= epoch]
        if epoch == max(self.starts):
            return epoch, self.end
        if not higher:
            return -1, -1
        return (max(floor) if floor else epoch), self.starts[min(higher)]

    def epoch_of(self, offset):
        return max((epoch for epoch, start in self.starts.items() if start <= offset), default=None)


@st.composite
def leaders(draw):
    starts = sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=6)))
    epochs = sorted(draw(st.sets(st.integers(0, 12), min_size=len(starts), max_size=len(starts))))
    leader = Leader({**dict(zip(epochs, starts, strict=True))}, end=50)
    return leader, draw(st.integers(starts[0] + 1, 50))


@given(leaders())
def test_the_epoch_of_the_record_before_an_offset_is_the_newest_that_begins_before_it(drawn):
    leader, offset = drawn
    assert epochs_before(leader, {7: offset}) == {7: leader.epoch_of(offset - 1)}


@given(leaders())
def test_a_log_that_is_the_same_still_ends_its_epochs_behind_what_was_read(drawn):
    leader, offset = drawn
    (epoch,) = epochs_before(leader, {7: offset}).values()
    ended, end = epoch_ends(leader, {7: epoch})[7]
    assert (ended, end >= offset) == (epoch, True)


def test_what_was_cut_off_shows_although_the_log_is_longer_than_it_was():
    assert epochs_before(Leader({3: 0}, end=100), {7: 100}) == {7: 3}
    later = Leader({3: 0, 5: 60}, end=500)
    assert epoch_ends(later, {7: 3}) == {7: (3, 60)}


def test_an_epoch_that_no_leader_has_had_is_none():
    assert epoch_ends(Leader({3: 0}, end=100), {7: 9}) == {7: (-1, -1)}


def test_a_leader_that_has_moved_is_to_be_asked_again():
    leader = Leader({3: 0}, end=100, error=NOT_LEADER)
    assert epoch_ends(leader, {7: 3}) == {}
    assert epochs_before(leader, {7: 100}) == {}


def test_brokers_that_have_no_epochs_cannot_say():
    leader = Leader({3: 0}, end=100, is_old=True)
    assert epoch_ends(leader, {7: 3}) == {7: None}
    assert epochs_before(leader, {7: 100}) == {7: None}
    assert leader.asked == []


def test_a_broker_says_so_of_its_own_log():
    with kgroup.testing.cluster(topics={"orders": 1}) as running:
        host, _, port = running.bootstrap.rpartition(":")
        topic = OffsetCommitRequest.OffsetCommitRequestTopic
        partition = topic.OffsetCommitRequestPartition(
            version=7, partition_index=0, committed_offset=5, committed_metadata=""
        )
        with WireClient((host, int(port))) as client:
            client.ask(
                OffsetCommitRequest(
                    version=7,
                    group_id="billing",
                    generation_id_or_member_epoch=-1,
                    member_id="",
                    topics=[topic(version=7, name="orders", partitions=[partition])],
                )
            )
        offsets_topic = LiveOffsetsTopic(ConnectionOptions(bootstrap_servers=running.bootstrap))
        cluster_id, topic_id = offsets_topic.ids()
        assert cluster_id
        assert topic_id
        ((written, (_, end)),) = [
            (number, span) for number, span in offsets_topic.spans().items() if span[1] > 0
        ]
        (epoch,) = offsets_topic.epochs_before({written: end}).values()
        assert epoch is not None
        assert offsets_topic.epoch_ends({written: epoch}) == {written: (epoch, end)}
        assert offsets_topic.epoch_ends({written: epoch + 5}) == {written: (-1, -1)}
