"""Metadata and the coordinator: when they are asked for again, and where."""

from kgroup.group.member.step import Assign, Poll, SubscribePattern
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.requests.client import (
    Fetch,
    FindCoordinator,
    Metadata,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
)
from tests.group.member.member_world import BROKER, MemberWorld


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
