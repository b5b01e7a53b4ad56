"""Metadata and the coordinator: when they are asked for again, and where."""

import pytest

from kgroup.group.member.identity import MemberState
from kgroup.group.member.outbox import COORDINATOR_CONNECTION
from kgroup.group.member.step import Assign, Commit, Poll, SubscribePattern
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.requests.client import (
    Fetch,
    FindCoordinator,
    FindCoordinatorResponse,
    Metadata,
    MetadataResponse,
    Node,
    OffsetFetch,
    PartitionMetadata,
    TopicMetadata,
)
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    OffsetCommit,
    SyncGroup,
)
from tests.group.member.member_world import BROKER, MemberWorld, wait_ms


def hosts_asked(world: MemberWorld, kind: type) -> list[str]:
    return [send.host for send in world.sent if isinstance(send.body, kind)]


def topic(name: str, error: E = E.NONE, leader: int = 1) -> TopicMetadata:
    return TopicMetadata(
        name=name, error_code=error, partitions=(PartitionMetadata(partition=0, leader=leader),)
    )


def test_when_a_known_broker_does_not_answer_the_first_ones_are_asked_again() -> None:
    # KIP-899: the whole cluster may have moved.
    world = MemberWorld(metadata_max_age_ms=1000)
    world.subscribe()
    world.settle(Fetch)
    world.advance(1000)
    assert hosts_asked(world, Metadata) == ["broker"]
    world.break_off(Metadata)
    assert hosts_asked(world, Metadata) == []
    world.advance(200)
    assert hosts_asked(world, Metadata) == ["bootstrap"]


def test_metadata_that_did_not_come_are_asked_for_when_the_pause_is_over_and_not_before() -> None:
    world = MemberWorld(group_id=None)
    world.do(Assign(partitions=(("orders", 0),)))
    world.break_off(Metadata)
    wait = wait_ms(world)
    assert wait is not None
    assert 0 < wait <= 200
    world.advance(wait - 1)
    assert not world.waiting(Metadata)
    world.advance(1)
    assert world.waiting(Metadata)


def test_a_search_for_the_coordinator_that_finds_nobody_is_made_again_after_a_pause() -> None:
    world = MemberWorld()
    world.subscribe()
    world.do(Poll())
    world.break_off(FindCoordinator)
    assert not world.waiting(FindCoordinator)
    world.advance(200)
    assert world.waiting(FindCoordinator)


def test_a_topic_that_may_not_be_described_is_fatal() -> None:
    for error in (E.TOPIC_AUTHORIZATION_FAILED, E.INVALID_TOPIC_EXCEPTION):
        world = MemberWorld()
        world.subscribe()
        world.do(Poll())
        step = world.answer(Metadata, MetadataResponse(nodes=(BROKER,), topics=(topic("orders", error),)))
        assert step.error is not None and str(step.error) == f"Metadata of orders: {error.name}"


def test_metadata_is_asked_for_again_while_a_partition_has_no_leader() -> None:
    world = MemberWorld()
    world.do(Assign(partitions=(("orders", 0),)))
    world.do(Poll())
    world.answer(Metadata, MetadataResponse(nodes=(BROKER,), topics=(topic("orders", leader=-1),)))
    world.settle(Metadata, rounds=3)
    assert not world.waiting(Metadata) and not world.waiting(Fetch)
    world.advance(200)
    world.answer_usually()
    world.settle(Fetch, rounds=3)
    assert world.waiting(Fetch)


def test_nothing_is_fetched_of_a_topic_that_metadata_has_not_told_of() -> None:
    world = MemberWorld(group_id=None)
    world.do(Assign(partitions=(("payments", 0),)))
    world.do(Poll())
    world.answer(Metadata, MetadataResponse(nodes=(BROKER,), topics=()))
    world.do(Poll())
    assert {type(send.body) for send in world.sent} == {Metadata}
    world.topics["payments"] = 1
    world.settle(Fetch)
    [fetch] = world.waiting(Fetch)
    assert [each for each, _ in fetch.offsets] == [("payments", 0)]


def test_a_pattern_member_that_hears_of_a_new_topic_joins_again_with_it() -> None:
    world = MemberWorld(metadata_max_age_ms=1000)
    world.do(SubscribePattern(pattern="orders.*"))
    world.settle(Fetch)
    world.topics["orders-new"] = 1
    world.advance(1000)
    world.settle(Fetch)
    assert ("orders-new", 0) in world.member.positions


# ---- the end of a coordinator ---------------------------------------------------------------------
# Kafka: AbstractCoordinator.markCoordinatorUnknown disconnects from the coordinator of before, and what is in
# flight there fails with a DisconnectException.

OTHER = Node(node_id=2, host="other", port=9092)


def with_a_commit_under_way() -> MemberWorld:
    world = MemberWorld()
    world.subscribe()
    world.settle(Fetch)
    world.do(Commit(commit_id=1, offsets=((("orders", 0), 5),)))
    world.advance(3000)
    assert world.waiting(Heartbeat)
    return world


@pytest.mark.parametrize("error", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE])
def test_a_commit_under_way_goes_to_the_new_coordinator_once_that_is_known(error: E) -> None:
    world = with_a_commit_under_way()
    step = world.answer(Heartbeat, HeartbeatResponse(error_code=error))
    assert step.disconnects == (COORDINATOR_CONNECTION - BROKER.node_id,)
    assert not world.waiting(OffsetCommit)
    world.answer(FindCoordinator, FindCoordinatorResponse(node=OTHER))
    world.advance(200)
    [host] = hosts_asked(world, OffsetCommit)
    assert host == "other"
    [commit] = world.waiting(OffsetCommit)
    step = world.answer(OffsetCommit, world.commit_answer(commit))
    assert [(each.commit_id, each.error_code) for each in step.commits] == [(1, E.NONE)]


def test_a_coordinator_that_is_silent_for_a_session_keeps_no_commit_from_the_next_one() -> None:
    world = with_a_commit_under_way()
    step = world.advance(45_000)
    assert step.disconnects == (COORDINATOR_CONNECTION - BROKER.node_id,)
    assert not world.waiting(OffsetCommit) and not world.waiting(Heartbeat)
    world.answer(FindCoordinator, FindCoordinatorResponse(node=OTHER))
    world.advance(200)
    assert hosts_asked(world, OffsetCommit) == hosts_asked(world, Heartbeat) == ["other"]


def test_a_round_at_a_coordinator_that_is_none_any_more_begins_again() -> None:
    """Kafka: JoinGroup and SyncGroup in flight fail as well, and the member joins again."""
    world = MemberWorld()
    world.subscribe()
    world.settle(SyncGroup, Fetch)
    assert world.member.state is MemberState.COMPLETING_REBALANCE
    world.advance(3000)
    world.answer(Heartbeat, HeartbeatResponse(error_code=E.NOT_COORDINATOR))
    assert world.member.state is MemberState.UNJOINED
    assert not world.waiting(SyncGroup)
    world.advance(200)
    world.settle(Fetch)
    assert (world.member.state, world.generation) == (MemberState.STABLE, 2)


def test_a_stable_member_whose_coordinator_is_none_any_more_joins_at_the_other_without_a_pause() -> None:
    """Kafka: AbstractCoordinator.joinGroupIfNeeded waits after a round that failed, not after a heartbeat.

    It would neither heartbeat nor wait in a JoinGroup meanwhile, and that until its user polls again.
    """
    world = MemberWorld(enable_auto_commit=False)
    world.subscribe()
    world.settle(Fetch)
    world.member_is_told_to_rejoin()
    world.advance(3000)
    world.answer(Heartbeat, HeartbeatResponse(error_code=E.NOT_COORDINATOR))
    world.answer(FindCoordinator, FindCoordinatorResponse(node=OTHER))
    world.do(Poll())
    assert hosts_asked(world, JoinGroup) == ["other"]


def test_offsets_asked_of_a_coordinator_that_is_none_any_more_are_asked_again() -> None:
    world = MemberWorld()
    world.subscribe()
    world.settle(OffsetFetch, Fetch)
    assert world.waiting(OffsetFetch)
    world.advance(3000)
    world.answer(Heartbeat, HeartbeatResponse(error_code=E.NOT_COORDINATOR))
    world.answer(FindCoordinator, FindCoordinatorResponse(node=OTHER))
    assert not hosts_asked(world, OffsetFetch)
    world.advance(200)
    assert hosts_asked(world, OffsetFetch) == ["other"]


def test_what_the_leaders_of_partitions_were_asked_outlives_the_coordinator() -> None:
    """The coordinator has a connection of its own, and only that one is closed."""
    world = with_a_commit_under_way()
    fetches = hosts_asked(world, Fetch)
    world.answer(Heartbeat, HeartbeatResponse(error_code=E.NOT_COORDINATOR))
    assert hosts_asked(world, Fetch) == fetches != []
