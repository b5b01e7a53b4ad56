"""What a node tells of the cluster: brokers, topics by name and id, coordinators, in every version."""

from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.admin.cluster import DescribeClusterRequest
from kafka.protocol.admin.topics import (
    DescribeTopicPartitionsRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from kgroup.broker.cluster import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kgroup.protocol.error_codes import ErrorCode as E
from tests.broker.world import BrokerWorld

NOBODY = UUID(int=99)


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld(nodes=3)
    world.cluster.create_topic("orders", 2, 2, {}, world.now_ms)
    return world


# ---- Metadata -------------------------------------------------------------------------------------


def metadata(
    world: BrokerWorld,
    version: int,
    *topics: str | UUID | None,
    auto_create: bool = False,
    node: int = 1,
    **more: Any,
) -> Any:
    each = MetadataRequest.MetadataRequestTopic
    topic_requests = [
        each(version=version, name=None if isinstance(topic, UUID) else topic)
        if not isinstance(topic, UUID)
        else each(version=version, name=None, topic_id=topic)
        for topic in topics
    ]
    request = MetadataRequest(
        version=version, topics=topic_requests or None, allow_auto_topic_creation=auto_create, **more
    )
    return world.ask(request, node)


def test_version_0_asks_for_everything_with_an_empty_list(world: BrokerWorld) -> None:
    answer = world.ask(MetadataRequest(version=0, topics=[]))
    assert [topic.name for topic in answer.topics] == ["orders"]
    assert [broker.node_id for broker in answer.brokers] == [1, 2, 3]


@pytest.mark.parametrize("version", range(10, 14))
def test_a_topic_by_its_id(world: BrokerWorld, version: int) -> None:
    topic_id = world.cluster.topics["orders"].spec.topic_id
    [topic] = metadata(world, version, topic_id).topics
    assert (topic.name, topic.topic_id, topic.error_code) == ("orders", topic_id, E.NONE)
    [absent] = metadata(world, version, NOBODY).topics
    assert (absent.topic_id, absent.error_code) == (NOBODY, E.UNKNOWN_TOPIC_ID)
    assert absent.name == (None if version >= 12 else "")


def test_neither_a_name_nor_an_id_is_refused(world: BrokerWorld) -> None:
    [refused] = metadata(world, 12, None).topics
    assert refused.error_code == E.INVALID_REQUEST


@pytest.mark.parametrize(
    ("auto_create", "setting", "made"),
    [(True, "true", True), (False, "true", False), (True, "false", False)],
)
def test_a_topic_is_made_on_demand_if_both_sides_allow_it(
    auto_create: bool, setting: str, made: bool
) -> None:
    world = BrokerWorld(properties={"auto.create.topics.enable": setting})
    [topic] = metadata(world, 9, "new", auto_create=auto_create).topics
    assert topic.error_code == (E.NONE if made else E.UNKNOWN_TOPIC_OR_PARTITION)
    assert ("new" in world.cluster.topics) is made


def test_who_asks_for_an_internal_topic_makes_it(world: BrokerWorld) -> None:
    [topic] = metadata(world, 9, OFFSETS_TOPIC).topics
    assert (topic.error_code, topic.is_internal, len(topic.partitions)) == (E.NONE, True, 50)


def test_operations_are_told_on_request_only(world: BrokerWorld) -> None:
    silent = metadata(world, 9, "orders")
    assert (silent.topics[0].authorized_operations, silent.authorized_operations) == (None, None)
    requested = metadata(
        world,
        9,
        "orders",
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    read, write, describe = 3, 4, 8
    assert {read, write, describe} <= set(requested.topics[0].authorized_operations)
    assert describe in requested.authorized_operations


def test_replicas_on_dead_nodes_are_offline(world: BrokerWorld) -> None:
    partition = world.cluster.topics["orders"].partitions[0]
    first, second = partition.replicas
    world.cluster.kill(first, world.now_ms)
    alive = world.cluster.alive[0].node_id
    [topic] = metadata(world, 9, "orders", node=alive).topics
    described = topic.partitions[0]
    assert (described.leader_id, described.isr_nodes, described.offline_replicas) == (
        second,
        [second],
        [first],
    )


# ---- DescribeTopicPartitions, DescribeCluster, reassignments ----------------------------------------


def test_partitions_are_described_in_the_order_of_their_topics_names(world: BrokerWorld) -> None:
    each = DescribeTopicPartitionsRequest.TopicRequest
    request = DescribeTopicPartitionsRequest(
        version=0,
        topics=[each(version=0, name="orders"), each(version=0, name="nowhere")],
        response_partition_limit=2000,
        cursor=None,
    )
    answer = world.ask(request)
    absent, orders = answer.topics
    assert (absent.name, absent.error_code, absent.partitions) == (
        "nowhere",
        E.UNKNOWN_TOPIC_OR_PARTITION,
        [],
    )
    assert (orders.name, orders.error_code, orders.is_internal) == ("orders", E.NONE, False)
    expected = [
        (each.index, each.leader, list(each.replicas)) for each in world.cluster.topics["orders"].partitions
    ]
    assert [
        (part.partition_index, part.leader_id, part.replica_nodes) for part in orders.partitions
    ] == expected
    assert answer.next_cursor is None


def test_a_partition_without_a_leader_says_so(world: BrokerWorld) -> None:
    for node in world.cluster.topics["orders"].partitions[0].replicas:
        world.cluster.kill(node, world.now_ms)
    each = DescribeTopicPartitionsRequest.TopicRequest
    request = DescribeTopicPartitionsRequest(
        version=0, topics=[each(version=0, name="orders")], response_partition_limit=2000, cursor=None
    )
    [topic] = world.ask(request, world.cluster.alive[0].node_id).topics
    assert (topic.partitions[0].error_code, topic.partitions[0].leader_id) == (E.LEADER_NOT_AVAILABLE, -1)


@pytest.mark.parametrize("version", range(3))
def test_the_cluster_is_its_living_nodes(world: BrokerWorld, version: int) -> None:
    world.cluster.kill(1, world.now_ms)
    answer = world.ask(DescribeClusterRequest(version=version), 2)
    assert (answer.error_code, answer.controller_id) == (E.NONE, 2)
    assert answer.cluster_id == world.cluster.spec.cluster_id
    assert [(each.broker_id, each.port) for each in answer.brokers] == [(2, 9002), (3, 9003)]


def test_there_are_no_controllers_to_describe(world: BrokerWorld) -> None:
    answer = world.ask(DescribeClusterRequest(version=1, endpoint_type=2))
    assert (answer.error_code, answer.brokers) == (E.MISMATCHED_ENDPOINT_TYPE, [])


def test_nothing_is_ever_being_reassigned(world: BrokerWorld) -> None:
    answer = world.ask(ListPartitionReassignmentsRequest(version=0, timeout_ms=1000, topics=None))
    assert (answer.error_code, answer.topics) == (E.NONE, [])


# ---- FindCoordinator ------------------------------------------------------------------------------


def test_many_keys_at_once_each_with_its_own_answer(world: BrokerWorld) -> None:
    answer = world.ask(FindCoordinatorRequest(version=4, key_type=0, coordinator_keys=["g", "test-group"]))
    offsets = world.cluster.topics[OFFSETS_TOPIC].partitions
    coordinators = {each.key: each.node_id for each in answer.coordinators}
    assert coordinators == {
        "g": offsets[world.cluster.offsets_partition("g")].leader,
        "test-group": offsets[12].leader,  # abs(627841412) % 50
    }


def test_a_transactional_id_has_its_coordinator_in_another_topic(world: BrokerWorld) -> None:
    answer = world.ask(FindCoordinatorRequest(version=3, key_type=1, key="copier"))
    index = world.cluster.transaction_partition("copier")
    assert answer.node_id == world.cluster.topics[TRANSACTIONS_TOPIC].partitions[index].leader


@pytest.mark.parametrize(("key_type", "message"), [(2, ""), (9, "INVALID_REQUEST")])
def test_share_groups_and_unknown_kinds_have_no_coordinator(
    world: BrokerWorld, key_type: int, message: str
) -> None:
    [coordinator] = world.ask(
        FindCoordinatorRequest(version=6, key_type=key_type, coordinator_keys=["k"])
    ).coordinators
    assert (coordinator.error_code, coordinator.node_id, coordinator.error_message) == (
        E.INVALID_REQUEST,
        -1,
        message,
    )


def test_without_a_living_replica_there_is_no_coordinator_yet() -> None:
    world = BrokerWorld()
    world.cluster.internal_topic(OFFSETS_TOPIC, world.now_ms)
    world.cluster.kill(1, world.now_ms)
    answer = world.ask(FindCoordinatorRequest(version=2, key="g", key_type=0))
    assert (answer.error_code, answer.node_id) == (E.COORDINATOR_NOT_AVAILABLE, -1)
