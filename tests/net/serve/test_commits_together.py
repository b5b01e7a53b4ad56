"""Commits that one client sends without waiting go to the log together, and are answered in their order."""

from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol.consumer.group import OffsetCommitRequest, OffsetFetchRequest

import kgroup.testing
from kgroup.broker.partition import Partition
from kgroup.errors import SourceError
from kgroup.log.format.batch import decode_batch
from kgroup.testing import ErrorCode
from tests.net.serve.test_faults import address
from tests.net.wire_client import WireClient

TOPIC = "orders"
TOGETHER = 20


@pytest.fixture
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with kgroup.testing.cluster(topics={TOPIC: 1}) as running:
        yield running


def commit(group: str, offset: int, topic: str = TOPIC) -> Any:
    each = OffsetCommitRequest.OffsetCommitRequestTopic
    partition = each.OffsetCommitRequestPartition(
        version=7, partition_index=0, committed_offset=offset, committed_metadata=""
    )
    return OffsetCommitRequest(
        version=7,
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[each(version=7, name=topic, partitions=[partition])],
    )


def fetch(group: str) -> Any:
    topic = OffsetFetchRequest.OffsetFetchRequestTopic(version=5, name=TOPIC, partition_indexes=[0])
    return OffsetFetchRequest(version=5, group_id=group, topics=[topic])


def error_of(answer: Any) -> ErrorCode:
    return ErrorCode(answer.topics[0].partitions[0].error_code)


def offsets_partition(kafka: kgroup.testing.Cluster, group: str) -> Partition:
    cluster = kafka._running.cluster
    return cluster.topics["__consumer_offsets"].partitions[cluster.offsets_partition(group)]


def batches(kafka: kgroup.testing.Cluster, group: str) -> list[int | None]:
    partition = offsets_partition(kafka, group)
    return kafka._call(lambda: [decode_batch(raw).count for raw in partition.batches()])


def test_they_share_batches(kafka: kgroup.testing.Cluster) -> None:
    with WireClient(address(kafka)) as client:
        client.ask(fetch("g"))
        client.send(*(commit("g", number) for number in range(TOGETHER)))
        assert [error_of(client.receive()) for _ in range(TOGETHER)] == [ErrorCode.NONE] * TOGETHER
        assert client.ask(fetch("g")).topics[0].partitions[0].committed_offset == TOGETHER - 1
    counts = batches(kafka, "g")
    assert sum(count or 0 for count in counts) == TOGETHER
    assert len(counts) <= 2  # if the network cut them in two


def test_answers_come_in_the_order_of_the_requests_whoever_gives_them(
    kafka: kgroup.testing.Cluster,
) -> None:
    """By other coordinators, and of unknown topics by none; correlation ids tell them apart."""
    requests = [
        commit(f"group-{number % 3}", number, TOPIC if number % 4 else "nowhere")
        for number in range(TOGETHER)
    ]
    with WireClient(address(kafka)) as client:
        client.ask(fetch("g"))
        client.send(*requests)
        answers = [client.receive() for _ in requests]
        assert [answer.header.correlation_id for answer in answers] == [
            request.header.correlation_id for request in requests
        ]
        assert [error_of(answer) for answer in answers] == [
            ErrorCode.NONE if number % 4 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            for number in range(TOGETHER)
        ]


def test_what_follows_sees_them_all(kafka: kgroup.testing.Cluster) -> None:
    with WireClient(address(kafka)) as client:
        client.send(commit("g", 1), commit("g", 2), fetch("g"), commit("g", 3), fetch("g"))
        answers = [client.receive() for _ in range(5)]
        assert [answers[n].topics[0].partitions[0].committed_offset for n in (2, 4)] == [2, 3]


def test_a_log_that_refuses_them_refuses_each(
    kafka: kgroup.testing.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise SourceError("the disk is full")

    with WireClient(address(kafka)) as client:
        client.ask(commit("g", 1))
        monkeypatch.setattr(offsets_partition(kafka, "g").log, "append", refuse)
        client.send(commit("g", 2), commit("g", 3))
        refused = ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert [error_of(client.receive()) for _ in range(2)] == [refused] * 2


def test_faults_see_them_one_at_a_time(kafka: kgroup.testing.Cluster) -> None:
    hold = kafka.hold("OffsetCommit")
    with WireClient(address(kafka)) as client:
        client.send(commit("g", 1), commit("g", 2))
        while not kafka._call(lambda: bool(hold.waiting)):
            pass
        assert kafka._call(lambda: len(hold.waiting)) == 1
        kafka._call(hold.release)
        assert [error_of(client.receive()) for _ in range(2)] == [ErrorCode.NONE] * 2
