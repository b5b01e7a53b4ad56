"""Leaders, coordinators and logs: what happens when one of them goes."""

import pytest
from kafka.protocol.admin.topics import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    OffsetFetchRequest,
)
from kafka.protocol.metadata import MetadataRequest

from kgroup.broker.cluster import OFFSETS_TOPIC, PARTITIONS_PER_SLICE
from kgroup.broker.work import finished
from kgroup.errors import SourceError
from kgroup.group.coordinator.events import (
    GenerationFormed,
    GroupCreated,
    GroupEvent,
    GroupStable,
    MemberAdded,
    RebalanceStarted,
)
from kgroup.log.store.record_log import MemoryLog
from kgroup.protocol.error_codes import ErrorCode
from tests.broker.world import GROUP, BrokerWorld, commit, coordinator, join, sync

E = ErrorCode


def fetch() -> OffsetFetchRequest:
    return OffsetFetchRequest(version=5, group_id=GROUP, topics=None)


def heartbeat(member_id: str, generation: int) -> HeartbeatRequest:
    return HeartbeatRequest(version=3, group_id=GROUP, generation_id=generation, member_id=member_id)


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld(nodes=3)
    assert world.cluster.create_topic("orders", 3, -1, {}, world.now_ms) is E.NONE
    return world


def test_only_the_coordinators_node_serves_a_group(world: BrokerWorld) -> None:
    node = coordinator(world)
    other = next(number for number in world.nodes if number != node)
    assert world.ask(heartbeat("m", 1), other).error_code == E.NOT_COORDINATOR
    assert world.ask(join(), other).error_code == E.NOT_COORDINATOR
    assert world.ask(fetch(), other).error_code == E.NOT_COORDINATOR
    assert world.ask(commit(1), node).topics[0].partitions[0].error_code == E.NONE


def test_a_request_is_checked_before_its_coordinator_is_looked_for() -> None:
    world = BrokerWorld(nodes=2)
    for node in world.nodes:
        assert world.ask(join(group=""), node).error_code == E.INVALID_GROUP_ID
    assert OFFSETS_TOPIC not in world.cluster.topics


def test_commits_and_members_survive_the_death_of_their_coordinator(world: BrokerWorld) -> None:
    node = coordinator(world)
    world.ask(commit(7), node)
    member = world.ask(join(), node).member_id
    world.ask(sync(member, 1), node)
    world.cluster.kill(node, world.now_ms)
    alive = world.cluster.alive[0].node_id
    successor = coordinator(world, alive)
    assert successor != node
    world.settle()
    assert world.ask(heartbeat(member, 1), successor).error_code == E.NONE
    assert world.ask(sync(member, 1), successor).assignment == b"all"
    [topic] = world.ask(fetch(), successor).topics
    assert topic.partitions[0].committed_offset == 7


def test_another_node_refuses_to_sync_and_the_coordinators_own_does_it(world: BrokerWorld) -> None:
    node = coordinator(world)
    other = next(number for number in world.nodes if number != node)
    member = world.ask(join(), node).member_id
    assert world.ask(sync(member, 1), other).error_code == E.NOT_COORDINATOR
    assert world.ask(sync(member, 1), node).error_code == E.NONE


def test_while_the_log_loads_members_are_told_to_keep_calm(world: BrokerWorld) -> None:
    node = coordinator(world)
    world.ask(commit(5), node)
    partition = world.cluster.offsets_partition(GROUP)
    successor = next(number for number in world.nodes if number != node)
    world.cluster.move_coordinator(partition, successor, world.now_ms)

    def while_loading(request: object) -> object:
        token = world.send(request, successor)
        [answer] = [each for each in world.nodes[successor].take_answers() if each.token == token]
        return world._decoded(token, answer.frame)

    assert while_loading(heartbeat("m", 1)).error_code == E.NONE  # type: ignore[attr-defined]
    assert while_loading(sync("m", 1)).error_code == E.REBALANCE_IN_PROGRESS  # type: ignore[attr-defined]
    assert while_loading(join()).error_code == E.COORDINATOR_LOAD_IN_PROGRESS  # type: ignore[attr-defined]
    assert while_loading(fetch()).error_code == E.COORDINATOR_LOAD_IN_PROGRESS  # type: ignore[attr-defined]
    world.settle()
    [topic] = world.ask(fetch(), successor).topics
    assert topic.partitions[0].committed_offset == 5


def test_a_parked_member_hears_that_its_coordinator_has_moved(world: BrokerWorld) -> None:
    node = coordinator(world)
    member = world.ask(join(), node).member_id
    world.ask(sync(member, 1), node)
    waiting = world.send(join(), node)
    assert waiting not in world.settle()
    successor = next(number for number in world.nodes if number != node)
    world.cluster.move_coordinator(world.cluster.offsets_partition(GROUP), successor, world.now_ms)
    assert world.settle()[waiting].error_code == E.NOT_COORDINATOR


def test_a_parked_member_hears_that_its_node_was_fenced(world: BrokerWorld) -> None:
    """The node has died for the others only: its own clients are still there."""
    node = coordinator(world)
    member = world.ask(join(), node).member_id
    world.ask(sync(member, 1), node)
    waiting = world.send(join(), node)
    world.settle()
    world.cluster.fence(node, world.now_ms)
    assert world.settle()[waiting].error_code == E.NOT_COORDINATOR
    assert world.ask(heartbeat(member, 1), node).error_code == E.NOT_COORDINATOR
    assert coordinator(world, world.cluster.alive[0].node_id) != node


def test_a_node_can_be_left_out_when_time_passes(world: BrokerWorld) -> None:
    """A process that stands still ends no sessions."""
    node = coordinator(world)
    member = world.ask(join(), node).member_id
    world.ask(sync(member, 1), node)
    assert world.cluster.next_deadline_ms(node) == world.now_ms + 10_000
    others = [number for number in world.nodes if number != node]
    late_ms = world.now_ms + 10_000
    assert all((world.cluster.next_deadline_ms(other) or late_ms + 1) > late_ms for other in others)
    for other in others:
        world.cluster.tick(late_ms, other)
    assert world.ask(heartbeat(member, 1), node).error_code == E.NONE
    world.now_ms = late_ms + 10_000
    world.cluster.tick(world.now_ms, node)
    assert world.ask(heartbeat(member, 1), node).error_code == E.UNKNOWN_MEMBER_ID


def test_events_of_groups_are_told_once_their_records_are_written(world: BrokerWorld) -> None:
    events: list[GroupEvent] = []
    world.cluster.coordinators.on_event = lambda hosted, event: events.append(event)
    node = coordinator(world)
    token = world.send(join(), node)
    assert events == []
    member = world.settle()[token].member_id
    assert [type(event) for event in events] == [
        GroupCreated,
        MemberAdded,
        RebalanceStarted,
        GenerationFormed,
    ]
    events.clear()
    world.ask(sync(member, 1), node)
    assert events == [GroupStable(group_id=GROUP, generation_id=1)]


class FailingLog(MemoryLog):
    """A disk that is full."""

    full = False

    def append(self, batch: bytes, leader_epoch: int):  # type: ignore[no-untyped-def]
        if self.full:
            raise SourceError("orders-0.log: No space left on device")
        return super().append(batch, leader_epoch)


def test_when_the_append_fails_nothing_of_it_counts_and_everyone_hears(world: BrokerWorld) -> None:
    node = coordinator(world)
    partition = world.cluster.topics[OFFSETS_TOPIC].partitions[world.cluster.offsets_partition(GROUP)]
    log = partition.log = FailingLog()
    leader = world.ask(join(), node).member_id
    world.ask(sync(leader, 1), node)
    follower_join = world.send(join(), node)
    world.settle()
    answers = {follower_join: None, (leader_join := world.send(join(leader), node)): None} | world.settle()
    follower = answers[follower_join].member_id
    assert answers[leader_join].generation_id == 2
    follower_sync = world.send(sync(follower, 2), node)
    world.settle()

    log.full = True
    refused = world.send(sync(leader, 2), node)
    answers = world.settle()
    assert {answers[token].error_code for token in (refused, follower_sync)} == {E.COORDINATOR_NOT_AVAILABLE}
    assert world.warnings == ["orders-0.log: No space left on device"]

    log.full = False
    world.settle()
    # What the log says is what counts again: generation 1 with its only member, who starts a new round.
    assert world.ask(heartbeat(follower, 2), node).error_code == E.UNKNOWN_MEMBER_ID
    assert world.ask(heartbeat(leader, 2), node).error_code == E.ILLEGAL_GENERATION
    assert world.ask(join(leader), node).generation_id == 2


def test_without_a_live_replica_there_is_no_leader_until_one_comes_back(world: BrokerWorld) -> None:
    world.cluster.create_topic("single", 1, 1, {}, world.now_ms)
    leader = world.cluster.topics["single"].partitions[0].leader
    world.cluster.kill(leader, world.now_ms)
    alive = world.cluster.alive[0].node_id
    topic = MetadataRequest.MetadataRequestTopic(version=5, name="single")
    request = MetadataRequest(version=5, topics=[topic], allow_auto_topic_creation=False)
    [described] = world.ask(request, alive).topics
    assert described.partitions[0].error_code == E.LEADER_NOT_AVAILABLE
    world.cluster.start(leader, world.now_ms)
    [described] = world.ask(request, alive).topics
    assert (described.partitions[0].error_code, described.partitions[0].leader_id) == (E.NONE, leader)


def test_a_deleted_topic_takes_its_committed_offsets_along(world: BrokerWorld) -> None:
    node = coordinator(world)
    world.cluster.create_topic("other", 1, -1, {}, world.now_ms)
    world.ask(commit(5), node)
    world.ask(commit(6, "other"), node)
    deletion = DeleteTopicsRequest(version=5, topic_names=["orders"], timeout_ms=1000)
    assert [each.error_code for each in world.ask(deletion).responses] == [E.NONE]
    assert [topic.name for topic in world.ask(fetch(), node).topics] == ["other"]


@pytest.mark.parametrize(
    ("name", "partitions", "replicas", "error"),
    [
        ("fine", 3, 2, E.NONE),
        ("as-configured", -1, -1, E.NONE),
        ("orders", 1, 1, E.TOPIC_ALREADY_EXISTS),
        ("none", 0, 1, E.INVALID_PARTITIONS),
        ("too-many-replicas", 1, 4, E.INVALID_REPLICATION_FACTOR),
        ("not/a/name", 1, 1, E.INVALID_TOPIC_EXCEPTION),
        ("..", 1, 1, E.INVALID_TOPIC_EXCEPTION),
        ("x" * 250, 1, 1, E.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_topics_are_made_or_refused(
    world: BrokerWorld, name: str, partitions: int, replicas: int, error: ErrorCode
) -> None:
    topic = CreateTopicsRequest.CreatableTopic(
        version=5,
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[],
        configs=[],
    )
    answer = world.ask(CreateTopicsRequest(version=5, topics=[topic], timeout_ms=1000))
    assert answer.topics[0].error_code == error


@pytest.mark.parametrize(("nodes", "factor", "replicas"), [(3, 1, 1), (3, 2, 2), (3, 3, 3), (1, 3, 1)])
def test_the_offsets_topic_has_the_replicas_that_it_is_told_or_all_there_are(
    nodes: int, factor: int, replicas: int
) -> None:
    world = BrokerWorld(nodes, {"offsets.topic.replication.factor": str(factor)})
    coordinator(world)
    partitions = world.cluster.topics[OFFSETS_TOPIC].partitions
    assert {len(partition.replicas) for partition in partitions} == {replicas}


def test_a_topic_can_only_grow(world: BrokerWorld) -> None:
    def grow(count: int) -> int:
        topic = CreatePartitionsRequest.CreatePartitionsTopic(
            version=1, name="orders", count=count, assignments=None
        )
        answer = world.ask(
            CreatePartitionsRequest(version=1, topics=[topic], timeout_ms=1000, validate_only=False)
        )
        return int(answer.results[0].error_code)

    assert grow(3) == E.INVALID_PARTITIONS
    assert grow(5) == E.NONE
    assert len(world.cluster.topics["orders"].partitions) == 5


def test_a_coordinator_can_be_moved_to_a_node_that_had_no_replica() -> None:
    world = BrokerWorld(nodes=4)
    partition = world.cluster.internal_topic(OFFSETS_TOPIC, world.now_ms).partitions[0]
    newcomer = next(number for number in world.nodes if number not in partition.replicas)
    world.cluster.move_coordinator(0, newcomer, world.now_ms)
    assert partition.leader == newcomer
    assert newcomer in partition.replicas
    assert len(partition.replicas) == 3


def test_a_damaged_offsets_log_is_reported_and_its_groups_are_not_served(world: BrokerWorld) -> None:
    node = coordinator(world)
    world.ask(commit(5), node)
    index = world.cluster.offsets_partition(GROUP)
    partition = world.cluster.topics[OFFSETS_TOPIC].partitions[index]

    class DamagedLog(MemoryLog):
        def batches(self, offset: int):  # type: ignore[no-untyped-def]
            for raw in super().batches(offset):
                yield raw[:-1] + bytes([raw[-1] ^ 1])

    damaged = DamagedLog()
    for raw in partition.batches():
        damaged.append(raw, 0)
    partition.log = damaged
    successor = next(number for number in world.nodes if number != node)
    world.cluster.move_coordinator(index, successor, world.now_ms)
    # Nothing is made up of what cannot be read: clients go on waiting for a coordinator that loads.
    response = world.ask(fetch(), successor)
    assert response.error_code == E.COORDINATOR_LOAD_IN_PROGRESS
    [warning] = world.warnings
    assert warning.startswith(f"{OFFSETS_TOPIC}-{index}: ")
    assert world.cluster.next_deadline_ms() != 0  # and nobody tries again and again


def test_a_topic_that_is_deleted_while_it_grows_is_gone(world: BrokerWorld) -> None:
    growing = world.cluster.partitions_in_slices("orders", 3 + 2 * PARTITIONS_PER_SLICE, world.now_ms)
    next(growing)
    assert world.cluster.delete_topic("orders", world.now_ms) is E.NONE
    assert finished(growing) is E.NONE
    assert "orders" not in world.cluster.topics
    assert "orders" not in world.cluster.topic_names.values()
    assert world.cluster.create_topic("orders", 1, 1, {}, world.now_ms) is E.NONE
    assert len(world.cluster.topics["orders"].partitions) == 1


def test_internal_topics_cannot_be_deleted_nor_strangers(world: BrokerWorld) -> None:
    world.cluster.internal_topic(OFFSETS_TOPIC, world.now_ms)
    assert world.cluster.delete_topic(OFFSETS_TOPIC, world.now_ms) is E.INVALID_REQUEST
    assert world.cluster.delete_topic("nowhere", world.now_ms) is E.UNKNOWN_TOPIC_OR_PARTITION
    assert world.cluster.create_partitions("nowhere", 5, world.now_ms) is E.UNKNOWN_TOPIC_OR_PARTITION
