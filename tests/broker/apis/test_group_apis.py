"""Groups seen from outside at the wire: described, listed, deleted; and their offsets by name and by id."""

from typing import Any

import pytest
from kafka.protocol.admin.groups import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer.group import (
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)

from kgroup.protocol.error_codes import ErrorCode as E
from tests.broker.world import BrokerWorld, commit, coordinator, join, sync


@pytest.fixture
def world() -> BrokerWorld:
    """Group `g` of one member, which is Stable."""
    world = BrokerWorld(nodes=2)
    world.cluster.create_topic("orders", 1, 1, {}, world.now_ms)
    node = coordinator(world)
    world.ask(sync(world.ask(join(), node).member_id, 1), node)
    return world


def describe(world: BrokerWorld, node: int, *groups: str, version: int = 5, operations: bool = False) -> Any:
    request = DescribeGroupsRequest(
        version=version, groups=list(groups), include_authorized_operations=operations
    )
    return world.ask(request, node).groups


def test_a_group_and_its_members(world: BrokerWorld) -> None:
    [group] = describe(world, coordinator(world), "g")
    assert (group.error_code, group.group_state) == (E.NONE, "Stable")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    [member] = group.members
    assert (member.client_id, member.client_host) == ("tester", "/127.0.0.1")
    assert member.member_assignment == b"all"
    assert group.authorized_operations is None


def test_operations_are_told_on_request(world: BrokerWorld) -> None:
    [group] = describe(world, coordinator(world), "g", operations=True)
    assert 3 in group.authorized_operations  # READ


@pytest.mark.parametrize(("version", "error"), [(5, E.NONE), (6, E.GROUP_ID_NOT_FOUND)])
def test_a_group_that_is_not_there_is_dead_and_an_error_from_version_6_on(
    world: BrokerWorld, version: int, error: E
) -> None:
    node = coordinator(world)
    # An id of the same partition, so that the same node answers.
    index = world.cluster.offsets_partition("g")
    absent = next(name for name in map(str, range(10_000)) if world.cluster.offsets_partition(name) == index)
    [group] = describe(world, node, absent, version=version)
    assert (group.error_code, group.group_state) == (error, "Dead")


def test_another_node_does_not_describe_it(world: BrokerWorld) -> None:
    [group] = describe(world, 3 - coordinator(world), "g")
    assert (group.error_code, group.group_state) == (E.NOT_COORDINATOR, "")


def listed(world: BrokerWorld, node: int, **filters: Any) -> list[str]:
    answer = world.ask(ListGroupsRequest(version=5, **filters), node)
    assert answer.error_code == E.NONE
    return [each.group_id for each in answer.groups]


@pytest.mark.parametrize(
    ("filters", "is_listed"),
    [
        ({}, True),
        ({"states_filter": ["stable"]}, True),
        ({"states_filter": ["Empty", "Stable"]}, True),
        ({"states_filter": ["Empty"]}, False),
        ({"types_filter": ["CLASSIC"]}, True),
        ({"types_filter": ["consumer"]}, False),
    ],
)
def test_a_node_lists_the_groups_it_coordinates(
    world: BrokerWorld, filters: dict[str, list[str]], is_listed: bool
) -> None:
    both = {"states_filter": [], "types_filter": []} | filters
    assert listed(world, coordinator(world), **both) == (["g"] if is_listed else [])
    assert listed(world, 3 - coordinator(world), **both) == []


def test_while_a_coordinator_loads_the_list_is_not_whole(world: BrokerWorld) -> None:
    node = coordinator(world)
    world.cluster.move_coordinator(world.cluster.offsets_partition("g"), 3 - node, world.now_ms)
    token = world.send(ListGroupsRequest(version=5, states_filter=[], types_filter=[]), 3 - node)
    [answer] = world.nodes[3 - node].take_answers()
    decoded = world._decoded(token, answer.frame)
    assert decoded.error_code == E.COORDINATOR_LOAD_IN_PROGRESS


def test_groups_are_deleted_one_by_one_in_the_order_asked(world: BrokerWorld) -> None:
    node = coordinator(world)
    request = DeleteGroupsRequest(version=2, groups_names=["g", "", "g"])
    results = world.ask(request, node).results
    errors = [(each.group_id, each.error_code) for each in results]
    assert errors[0] == ("g", E.NON_EMPTY_GROUP)
    assert errors[1][0] == "" and len(errors) == 2
    assert world.ask(DeleteGroupsRequest(version=2, groups_names=[]), node).results == []


# ---- offsets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 2])
def test_up_to_version_2_one_member_leaves(world: BrokerWorld, version: int) -> None:
    node = coordinator(world)
    [member] = describe(world, node, "g")[0].members
    answer = world.ask(LeaveGroupRequest(version=version, group_id="g", member_id=member.member_id), node)
    assert answer.error_code == E.NONE
    assert describe(world, node, "g")[0].group_state == "Empty"
    again = world.ask(LeaveGroupRequest(version=version, group_id="g", member_id=member.member_id), node)
    assert again.error_code == E.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", [3, 5])
def test_from_version_3_on_several_leave_and_each_has_its_own_answer(
    world: BrokerWorld, version: int
) -> None:
    """KIP-345: the field `memberId` is gone, `members` and an error for each of them are new."""
    node = coordinator(world)
    [member] = describe(world, node, "g")[0].members
    each = LeaveGroupRequest.MemberIdentity
    members = [each(version=version, member_id=name) for name in (member.member_id, "nobody")]
    answer = world.ask(LeaveGroupRequest(version=version, group_id="g", members=members), node)
    assert answer.error_code == E.NONE
    assert [(one.member_id, one.error_code) for one in answer.members] == [
        (member.member_id, E.NONE),
        ("nobody", E.UNKNOWN_MEMBER_ID),
    ]
    assert describe(world, node, "g")[0].group_state == "Empty"


def test_offsets_are_deleted_where_there_is_such_a_partition() -> None:
    """KIP-496: KafkaApis answers for what does not exist, and the coordinator for the rest."""
    world = BrokerWorld()
    world.cluster.create_topic("orders", 2, 1, {}, world.now_ms)
    world.ask(commit(5))
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic
    topics = [
        topic(
            version=0,
            name=name,
            partitions=[
                topic.OffsetDeleteRequestPartition(version=0, partition_index=index) for index in indexes
            ],
        )
        for name, indexes in (("orders", (0, 7)), ("nowhere", (0,)))
    ]
    answer = world.ask(OffsetDeleteRequest(version=0, group_id="g", topics=topics))
    assert answer.error_code == E.NONE
    assert {
        (each.name, part.partition_index): part.error_code
        for each in answer.topics
        for part in each.partitions
    } == {
        ("orders", 0): E.NONE,
        ("orders", 7): E.UNKNOWN_TOPIC_OR_PARTITION,
        ("nowhere", 0): E.UNKNOWN_TOPIC_OR_PARTITION,
    }
    fetched = world.ask(OffsetFetchRequest(version=5, group_id="g", topics=None))
    assert fetched.topics == []


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ([("orders", 0), ("orders", 1)], [("orders", [0]), ("orders", [1])]),
        ([("orders", 0), ("orders", 1), ("nowhere", 0)], [("orders", [0, 1]), ("nowhere", [0])]),
        ([("orders", 0), ("orders", 7), ("orders", 1)], [("orders", [0, 1, 7])]),
    ],
)
def test_of_a_topic_that_is_given_again_nothing_is_left_out(
    asked: list[tuple[str, int]], told: list[tuple[str, list[int]]]
) -> None:
    """As a broker of 4.3.1: it merges topics only with those that it answers for the coordinator."""
    world = BrokerWorld()
    world.cluster.create_topic("orders", 2, 1, {}, world.now_ms)
    world.ask(commit(5))
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic
    partition = topic.OffsetDeleteRequestPartition
    topics = [
        topic(version=0, name=name, partitions=[partition(version=0, partition_index=index)])
        for name, index in asked
    ]
    answer = world.ask(OffsetDeleteRequest(version=0, group_id="g", topics=topics))
    assert [(each.name, [part.partition_index for part in each.partitions]) for each in answer.topics] == told


def commit_by_id(topic_id: Any, *partitions: int) -> OffsetCommitRequest:
    each = OffsetCommitRequest.OffsetCommitRequestTopic
    parts = [
        each.OffsetCommitRequestPartition(
            version=10, partition_index=index, committed_offset=5, committed_metadata=""
        )
        for index in partitions
    ]
    return OffsetCommitRequest(
        version=10,
        group_id="other",
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[each(version=10, topic_id=topic_id, partitions=parts)],
    )


def fetch_by_id(*topic_ids: Any) -> OffsetFetchRequest:
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    topics = group.OffsetFetchRequestTopics
    topic_requests = [topics(version=10, topic_id=topic_id, partition_indexes=[0]) for topic_id in topic_ids]
    return OffsetFetchRequest(
        version=10,
        groups=[group(version=10, group_id="other", topics=topic_requests or None)],
        require_stable=True,
    )


def test_offsets_by_topic_id() -> None:
    world = BrokerWorld()
    world.cluster.create_topic("orders", 1, 1, {}, world.now_ms)
    topic_id = world.cluster.topics["orders"].spec.topic_id
    nobody = type(topic_id)(int=99)
    [topic] = world.ask(commit_by_id(topic_id, 0, 7)).topics
    assert topic.topic_id == topic_id
    assert [(part.partition_index, part.error_code) for part in topic.partitions] == [
        (0, E.NONE),
        (7, E.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    [refused] = world.ask(commit_by_id(nobody, 0)).topics
    assert (refused.topic_id, refused.partitions[0].error_code) == (nobody, E.UNKNOWN_TOPIC_ID)

    [group] = world.ask(fetch_by_id(topic_id, nobody)).groups
    offsets = [
        (each.topic_id, each.partitions[0].committed_offset, each.partitions[0].error_code)
        for each in group.topics
    ]
    assert offsets == [(topic_id, 5, E.NONE), (nobody, -1, E.UNKNOWN_TOPIC_ID)]
    [everything] = world.ask(fetch_by_id()).groups
    assert [each.topic_id for each in everything.topics] == [topic_id]


def test_version_1_has_no_place_for_a_groups_error_but_at_every_partition(world: BrokerWorld) -> None:
    topic = OffsetFetchRequest.OffsetFetchRequestTopic
    topics = [topic(version=1, name="orders", partition_indexes=[0, 1])]
    request = OffsetFetchRequest(version=1, group_id="g", topics=topics)
    [answer] = world.ask(request, 3 - coordinator(world)).topics
    assert [(part.partition_index, part.error_code) for part in answer.partitions] == [
        (0, E.NOT_COORDINATOR),
        (1, E.NOT_COORDINATOR),
    ]


def test_a_commit_of_unknown_topics_alone_asks_no_coordinator(world: BrokerWorld) -> None:
    wrong_node = 3 - coordinator(world)
    [topic] = world.ask(commit(1, "nowhere"), wrong_node).topics
    assert topic.partitions[0].error_code == E.UNKNOWN_TOPIC_OR_PARTITION
