"""Requests as values get the answers of the wire (tests/sim/test_determinism.py compares whole runs)."""

from dataclasses import replace
from typing import Any

import pytest

from kgroup.broker import direct
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import TransactionMarker
from kgroup.protocol.requests.client import Fetch, FetchResponse
from kgroup.protocol.requests.coordinator import (
    CommitPartition,
    CommitTopic,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    OffsetCommit,
    OffsetCommitResponse,
)
from kgroup.wire.frames import Call
from tests.broker.world import BrokerWorld

E = ErrorCode
CALL = Call(
    token=1, api_key=-1, version=-1, correlation_id=-1, client_id="tester", client_host="/10.0.0.1", body=None
)


class Asker:
    def __init__(self) -> None:
        self.world = BrokerWorld()
        assert self.world.cluster.create_topic("orders", 2, 1, {}, self.world.now_ms) is E.NONE
        self.answers: list[Any] = []

    def ask(self, body: direct.DirectRequest) -> Any:
        """The answer, or None while there is none."""
        self.answers.clear()
        direct.ask(self.world.nodes[1], CALL, body, self.world.now_ms, self.answers.append)
        return self.settle()

    def settle(self) -> Any:
        self.world.settle()
        return self.answers[0] if self.answers else None

    def produce(self, partition: int, count: int) -> None:
        log = self.world.cluster.partition("orders", partition)
        assert log is not None
        records = [LogRecord(offset=n, timestamp_ms=n, key=None, value=b"v") for n in range(count)]
        log.append(encode_batch(records))


@pytest.fixture
def asker() -> Asker:
    return Asker()


def fetch(*offsets: tuple[int, int], max_wait_ms: int = 0, session_id: int = 0) -> Fetch:
    """Of partitions of `orders`, from these offsets."""
    return Fetch(
        offsets=tuple((("orders", partition), offset) for partition, offset in offsets),
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        partition_max_bytes=1 << 20,
        session_id=session_id,
        session_epoch=0,
        forgotten=(),
        rack_id="",
    )


def commit(topic: str) -> OffsetCommit:
    partition = CommitPartition(
        partition_index=0, committed_offset=5, committed_leader_epoch=-1, committed_metadata=""
    )
    return OffsetCommit(
        group_id="g",
        generation_id=-1,
        member_id="",
        group_instance_id=None,
        retention_time_ms=-1,
        topics=(CommitTopic(name=topic, topic_id=None, partitions=(partition,)),),
    )


def test_a_first_join_is_sent_back_for_an_id_as_by_the_newest_version(asker: Asker) -> None:
    join = JoinGroup(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id="",
        group_instance_id=None,
        protocol_type="consumer",
        protocols=(("range", b""),),
    )
    answer = asker.ask(join)
    assert isinstance(answer, JoinGroupResponse)
    assert answer.error_code is E.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("tester-")


def test_a_refusal_comes_as_from_the_coordinator(asker: Asker) -> None:
    beat = Heartbeat(group_id="g", generation_id=1, member_id="m", group_instance_id=None)
    assert asker.ask(beat) == HeartbeatResponse(error_code=E.UNKNOWN_MEMBER_ID)


@pytest.mark.parametrize(("topic", "error"), [("orders", E.NONE), ("absent", E.UNKNOWN_TOPIC_OR_PARTITION)])
def test_commits_for_topics_that_are_not_there_are_refused(
    asker: Asker, topic: str, error: ErrorCode
) -> None:
    answer = asker.ask(commit(topic))
    assert isinstance(answer, OffsetCommitResponse)
    assert [each.error_code for named in answer.topics for each in named.partitions] == [error]


def test_a_fetch_brings_whole_batches_of_each_partition(asker: Asker) -> None:
    asker.produce(0, 3)
    asker.produce(0, 2)
    asker.produce(1, 1)
    answer = asker.ask(fetch((1, 0), (0, 4)))
    assert isinstance(answer, FetchResponse)
    offsets = [(each.partition[1], [record.offset for record in each.records]) for each in answer.partitions]
    assert offsets == [(1, [0]), (0, [3, 4])]
    assert [each.next_offset for each in answer.partitions] == [1, 5]
    assert [each.high_watermark for each in answer.partitions] == [1, 5]


def test_a_reader_of_committed_records_gets_no_aborted_ones(asker: Asker) -> None:
    log = asker.world.cluster.partition("orders", 0)
    assert log is not None
    record = LogRecord(offset=0, timestamp_ms=0, key=None, value=b"aborted")
    log.append(encode_batch([record], transactional=True, producer_id=5, producer_epoch=0))
    asker.produce(0, 1)
    unread = replace(fetch((0, 0)), read_committed=True)
    assert [each.records for each in asker.ask(unread).partitions] == [()]
    marker = TransactionMarker(producer_id=5, producer_epoch=0, committed=False, coordinator_epoch=0)
    log.append_marker(marker, asker.world.now_ms)
    [partition] = asker.ask(unread).partitions
    assert ([record.value for record in partition.records], partition.next_offset) == ([b"v"], 3)


def test_a_reader_of_all_records_gets_those_of_open_and_of_aborted_transactions(asker: Asker) -> None:
    """Kafka: isolation.level=read_uncommitted, the default of a consumer."""
    log = asker.world.cluster.partition("orders", 0)
    assert log is not None
    record = LogRecord(offset=0, timestamp_ms=0, key=None, value=b"open")
    log.append(encode_batch([record], transactional=True, producer_id=5, producer_epoch=0))
    for _ in range(2):
        [partition] = asker.ask(fetch((0, 0))).partitions
        assert [record.value for record in partition.records] == [b"open"]
        marker = TransactionMarker(producer_id=5, producer_epoch=0, committed=False, coordinator_epoch=0)
        log.append_marker(marker, asker.world.now_ms)


def test_a_partition_gives_no_more_than_its_own_limit_or_its_first_batch(asker: Asker) -> None:
    """KIP-74: max.partition.fetch.bytes, but for the first batch of the first partition."""
    for partition in (0, 0, 1, 1):
        asker.produce(partition, 2)
    small = replace(fetch((0, 0), (1, 0)), partition_max_bytes=1)
    assert [len(each.records) for each in asker.ask(small).partitions] == [2, 0]


def test_a_fetch_waits_for_an_append(asker: Asker) -> None:
    assert asker.ask(fetch((0, 0), max_wait_ms=500)) is None
    asker.produce(0, 1)
    answer = asker.settle()
    assert [len(each.records) for each in answer.partitions] == [1]


def test_a_fetch_that_waited_long_enough_brings_nothing(asker: Asker) -> None:
    assert asker.ask(fetch((0, 0), max_wait_ms=500)) is None
    asker.world.now_ms += 500
    [partition] = asker.settle().partitions
    assert (partition.records, partition.next_offset, partition.error_code) == ((), None, E.NONE)


@pytest.mark.parametrize(
    ("topic_partition", "error"), [((0, 7), E.OFFSET_OUT_OF_RANGE), ((9, 0), E.UNKNOWN_TOPIC_OR_PARTITION)]
)
def test_a_fetch_of_what_is_not_there_says_so_at_once(
    asker: Asker, topic_partition: tuple[int, int], error: ErrorCode
) -> None:
    [partition] = asker.ask(fetch(topic_partition, max_wait_ms=500)).partitions
    assert partition.error_code is error


def test_fetch_sessions_are_never_known(asker: Asker) -> None:
    assert asker.ask(fetch((0, 0), session_id=7)).error_code is E.FETCH_SESSION_ID_NOT_FOUND
