"""What changes with the version of a request: each boundary from both sides."""

from typing import Any

import pytest
from kafka.protocol.consumer.group import JoinGroupRequest, OffsetCommitRequest, SyncGroupRequest
from kafka.protocol.consumer.offsets import ListOffsetsRequest
from kafka.protocol.producer.transaction import TxnOffsetCommitRequest

from kgroup.broker.cluster import OFFSETS_TOPIC
from kgroup.broker.offsets_log import decode_records
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.values import OffsetCommitValue
from tests.broker.apis.record_requests import batch
from tests.broker.world import GROUP, BrokerWorld, coordinator

E = ErrorCode


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld(nodes=2)
    world.cluster.create_topic("orders", 2, 1, {}, world.now_ms)
    return world


def commit(version: int, *partitions: int, retention_ms: int = 5000) -> OffsetCommitRequest:
    each = OffsetCommitRequest.OffsetCommitRequestTopic
    of_partition = each.OffsetCommitRequestPartition
    topic = each(
        version=version,
        name="orders",
        partitions=[
            of_partition(version=version, partition_index=index, committed_offset=5, committed_metadata="")
            for index in partitions
        ],
    )
    return OffsetCommitRequest(
        version=version,
        group_id=GROUP,
        generation_id_or_member_epoch=-1,
        member_id="",
        retention_time_ms=retention_ms,
        topics=[topic],
    )


def logged_commits(world: BrokerWorld) -> list[OffsetCommitValue]:
    partition = world.cluster.topics[OFFSETS_TOPIC].partitions[world.cluster.offsets_partition(GROUP)]
    values = [
        getattr(record.entry, "value", None)
        for raw in partition.batches()
        for record in decode_records(raw, partition.index)
    ]
    return [value for value in values if isinstance(value, OffsetCommitValue)]


@pytest.mark.parametrize(("version", "kept"), [(2, True), (3, True), (4, True), (5, False)])
def test_commits_have_a_retention_of_their_own_up_to_version_4(
    world: BrokerWorld, version: int, kept: bool
) -> None:
    world.ask(commit(version, 0), coordinator(world))
    [value] = logged_commits(world)
    assert value.expire_timestamp == (world.now_ms + 5000 if kept else -1)


def test_partitions_that_do_not_exist_are_refused_by_themselves(world: BrokerWorld) -> None:
    [topic] = world.ask(commit(7, 0, 1, 2, -1), coordinator(world)).topics
    assert {part.partition_index: part.error_code for part in topic.partitions} == {
        0: E.NONE,
        1: E.NONE,
        2: E.UNKNOWN_TOPIC_OR_PARTITION,
        -1: E.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert len(logged_commits(world)) == 2


def join(version: int, *, rebalance_timeout_ms: int = 20_000, member_id: str = "") -> JoinGroupRequest:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(version=version, name="range", metadata=b"")
    return JoinGroupRequest(
        version=version,
        group_id=GROUP,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=rebalance_timeout_ms,
        member_id=member_id,
        group_instance_id=None,
        protocol_type="consumer",
        protocols=[protocol],
    )


@pytest.mark.parametrize(
    ("version", "error"), [(0, E.NONE), (3, E.NONE), (4, E.MEMBER_ID_REQUIRED), (9, E.MEMBER_ID_REQUIRED)]
)
def test_a_client_is_sent_back_with_its_id_from_version_4_on(
    world: BrokerWorld, version: int, error: ErrorCode
) -> None:
    answer = world.ask(join(version), coordinator(world))
    assert answer.error_code == error
    assert answer.member_id.startswith("tester-")


@pytest.mark.parametrize(("version", "timeout_ms"), [(0, 10_000), (1, 20_000)])
def test_version_0_joins_within_its_session_timeout(
    world: BrokerWorld, version: int, timeout_ms: int
) -> None:
    node = coordinator(world)
    assert world.ask(join(version), node).generation_id == 1
    # Nobody syncs: the time for that is the rebalance timeout.
    deadlines = []
    hosted = world.cluster.coordinators.hosted[world.cluster.offsets_partition(GROUP)]
    timers = hosted.coordinator._timers._deadlines
    deadlines = [at_ms - world.now_ms for key, at_ms in timers.items() if key.kind == "sync"]
    assert deadlines == [timeout_ms]


def txn_commit(version: int) -> TxnOffsetCommitRequest:
    topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    partition = topic.TxnOffsetCommitRequestPartition(
        version=version, partition_index=0, committed_offset=1, committed_metadata=""
    )
    more: dict[str, Any] = {"generation_id": -1, "member_id": ""} if version >= 3 else {}
    return TxnOffsetCommitRequest(
        version=version,
        transactional_id="copier",
        group_id=GROUP,
        producer_id=1,
        producer_epoch=0,
        topics=[topic(version=version, name="orders", partitions=[partition])],
        **more,
    )


@pytest.mark.parametrize(
    ("version", "error"),
    [
        (0, E.COORDINATOR_NOT_AVAILABLE),
        (1, E.COORDINATOR_NOT_AVAILABLE),
        (2, E.COORDINATOR_LOAD_IN_PROGRESS),
        (3, E.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_old_producers_do_not_know_of_a_coordinator_that_loads(
    world: BrokerWorld, version: int, error: ErrorCode
) -> None:
    """KAFKA-7296."""
    node = coordinator(world)
    world.ask(commit(7, 0), node)
    successor = 3 - node
    world.cluster.move_coordinator(world.cluster.offsets_partition(GROUP), successor, world.now_ms)
    token = world.send(txn_commit(version), successor)
    [answer] = world.nodes[successor].take_answers()
    assert answer.token == token
    decoded = world._decoded(token, answer.frame)
    assert decoded.topics[0].partitions[0].error_code == error


def sync(version: int, protocol_type: str | None, protocol_name: str | None) -> SyncGroupRequest:
    return SyncGroupRequest(
        version=version,
        group_id=GROUP,
        generation_id=1,
        member_id="nobody",
        group_instance_id=None,
        protocol_type=protocol_type,
        protocol_name=protocol_name,
        assignments=[],
    )


@pytest.mark.parametrize(
    ("version", "names", "error"),
    [
        (5, (None, "range"), E.INCONSISTENT_GROUP_PROTOCOL),
        (5, ("consumer", None), E.INCONSISTENT_GROUP_PROTOCOL),
        (5, ("consumer", "range"), E.UNKNOWN_MEMBER_ID),
        (4, (None, None), E.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_sync_of_version_5_names_its_protocol(
    world: BrokerWorld, version: int, names: tuple[str | None, str | None], error: ErrorCode
) -> None:
    """KIP-559: mandatoryProtocolsPresent of KafkaApis, before the group is looked for."""
    assert world.ask(sync(version, *names), coordinator(world)).error_code == error


@pytest.mark.parametrize(("version", "name"), [(5, ""), (6, ""), (7, None), (9, None)])
def test_a_refused_join_has_a_null_protocol_from_version_7_on(
    world: BrokerWorld, version: int, name: str | None
) -> None:
    answer = world.ask(join(version, member_id="nobody"), coordinator(world))
    assert (answer.error_code, answer.protocol_name) == (E.UNKNOWN_MEMBER_ID, name)


@pytest.mark.parametrize(("version", "leads"), [(5, False), (8, False), (9, True)])
def test_a_static_leader_that_comes_back_leads_from_version_9_on_without_assigning(
    world: BrokerWorld, version: int, leads: bool
) -> None:
    """KIP-814: older clients would assign anew, and hear of the id of before as their leader's instead."""
    node = coordinator(world)

    def join_again() -> Any:
        request = join(version)
        request.group_instance_id = "static"
        return world.ask(request, node)

    first = join_again()
    assert first.leader == first.member_id
    answer = world.ask(
        SyncGroupRequest(
            version=3,
            group_id=GROUP,
            generation_id=first.generation_id,
            member_id=first.member_id,
            group_instance_id="static",
            assignments=[],
        ),
        node,
    )
    assert answer.error_code == E.NONE
    again = join_again()
    assert (again.error_code, again.generation_id) == (E.NONE, first.generation_id)
    assert again.member_id != first.member_id
    assert (again.leader == again.member_id) is leads
    assert bool(again.skip_assignment) is leads


@pytest.mark.parametrize(("version", "offset"), [(1, 1), (2, 0), (5, 0), (7, 0)])
def test_the_latest_offset_is_that_of_an_isolation_level_from_version_2_on(
    world: BrokerWorld, version: int, offset: int
) -> None:
    """KIP-98: ListOffsets v1 does not name one."""
    partition = world.cluster.topics["orders"].partitions[0]
    partition.append(batch(1, transactional=True))
    topic = ListOffsetsRequest.ListOffsetsTopic
    latest = topic.ListOffsetsPartition(version=version, partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(
        version=version,
        isolation_level=1,
        topics=[topic(version=version, name="orders", partitions=[latest])],
    )
    [listed] = world.ask(request, partition.leader).topics[0].partitions
    assert (listed.error_code, listed.offset) == (E.NONE, offset)
