"""Subscriptions as the user changes them: to nothing, to blank names, to other topics, by a pattern."""

import pytest

from kgroup.errors import InputError
from kgroup.group.member.positions import SubscriptionKind
from kgroup.group.member.step import Assign, Close, Poll, Subscribe, SubscribePattern, Unsubscribe
from kgroup.protocol.requests.client import Fetch, Metadata
from kgroup.protocol.requests.coordinator import JoinGroup, LeaveGroup, LeaveGroupResponse, OffsetCommit
from kgroup.protocol.subscription import decode_subscription
from tests.group.member.member_world import MemberWorld, stable


@pytest.mark.parametrize("nothing", [Subscribe(topics=()), Assign(partitions=())])
def test_a_subscription_to_nothing_unsubscribes(nothing: Subscribe | Assign) -> None:
    """Kafka: KafkaConsumer.subscribe and assign, whatever the subscription was to."""
    world = stable()
    world.do(nothing)
    assert world.member.subscription_kind is SubscriptionKind.NONE
    assert world.waiting(LeaveGroup)
    assert not world.member.positions


def test_closing_waits_until_an_unsubscribed_member_has_left() -> None:
    """Kafka: AbstractCoordinator.close, awaitPendingRequests. Else its session has to end first."""
    world = stable()
    world.do(Unsubscribe())
    assert not world.do(Close()).closed
    assert world.answer(LeaveGroup, LeaveGroupResponse()).closed


def test_closing_waits_for_no_answer_longer_than_for_any() -> None:
    world = stable()
    world.do(Unsubscribe())
    world.do(Close())
    assert world.advance(30_000).closed


@pytest.mark.parametrize(
    "blank",
    [
        Subscribe(topics=("",)),
        Subscribe(topics=("orders", "  ")),
        Subscribe(topics=("\t\n",)),
        Assign(partitions=(("orders", 0), (" ", 0))),
    ],
)
def test_a_blank_topic_is_refused_and_changes_nothing(blank: Subscribe | Assign) -> None:
    world = MemberWorld()
    with pytest.raises(InputError, match="a topic name is blank"):
        world.do(blank)
    assert world.member.subscription_kind is SubscriptionKind.NONE


def test_an_empty_pattern_is_refused() -> None:
    with pytest.raises(InputError, match="the topic pattern is empty"):
        MemberWorld().do(SubscribePattern(pattern=""))


def test_records_of_topics_that_left_the_subscription_are_dropped_at_once() -> None:
    world = MemberWorld()
    world.topics["bills"] = 1
    world.subscribe("orders", "bills")
    world.settle(Fetch)
    world.answer_usually()
    buffered = {partition for partition, each in world.member.positions.items() if each.buffered}
    assert buffered == {("orders", 0), ("orders", 1), ("bills", 0)}
    world.do(Subscribe(topics=("bills",)))
    still = {partition for partition, each in world.member.positions.items() if each.buffered}
    assert still == {("bills", 0)}


# ---- patterns --------------------------------------------------------------------------------------


def by_pattern(**settings: object) -> MemberWorld:
    world = MemberWorld(**settings)
    world.do(SubscribePattern(pattern="orders.*"))
    world.settle(Fetch)
    return world


def topics_of_the_join(world: MemberWorld) -> tuple[str, ...]:
    [join] = world.waiting(JoinGroup)
    return decode_subscription(join.protocols[0][1]).topics


@pytest.mark.parametrize("auto_commit", [False, True])
def test_a_member_that_is_told_to_rejoin_matches_its_pattern_with_the_topics_of_now(
    auto_commit: bool,
) -> None:
    """Another member has seen a new topic: this one joins with it, too, and not minutes later."""
    world = by_pattern(enable_auto_commit=auto_commit)
    world.topics["orders-2"] = 1
    world.member_is_told_to_rejoin()
    world.do(Poll())
    assert world.waiting(Metadata) and not world.waiting(JoinGroup)
    assert not world.member.wants_poll(world.now_ms), "there is nothing to do before the answer"
    world.answer_usually(Fetch)
    world.do(Poll())
    world.answer_usually(Fetch, JoinGroup)
    world.do(Poll())
    assert topics_of_the_join(world) == ("orders", "orders-2")
    assert world.generation == 1


def test_metadata_that_has_just_come_is_fresh_enough() -> None:
    """Within retry.backoff.ms nothing is asked for again: so the second join follows the first at once."""
    world = MemberWorld()
    world.do(SubscribePattern(pattern="orders.*"))
    world.settle(JoinGroup, rounds=4)
    answered = sum(isinstance(send.body, Metadata) for step in world.steps for send in step.requests)
    world.do(Poll())
    world.answer_usually()
    world.do(Poll())
    assert world.waiting(JoinGroup)[0].member_id
    asked = sum(isinstance(send.body, Metadata) for step in world.steps for send in step.requests)
    assert asked == answered


def test_a_user_that_polls_seldom_joins_all_the_same() -> None:
    world = by_pattern()
    world.member_is_told_to_rejoin()
    for _ in range(3):
        world.do(Poll())
        world.answer_usually(Fetch, JoinGroup)
        world.advance(5_000)
    assert topics_of_the_join(world) == ("orders",)


def test_topics_by_name_need_no_metadata_for_a_join() -> None:
    world = stable()
    world.member_is_told_to_rejoin()
    world.do(Poll())
    assert world.waiting(JoinGroup) and not world.waiting(Metadata)


def test_assigning_other_partitions_makes_the_auto_commit_that_is_due() -> None:
    """Kafka: KafkaConsumer.assign, as no rebalance follows that would commit what the last ones gave."""
    world = MemberWorld(enable_auto_commit=True)
    world.do(Assign(partitions=(("orders", 0),)))
    world.settle(rounds=4)
    world.sent.clear()
    world.do(Assign(partitions=(("orders", 1),)))
    assert not world.waiting(OffsetCommit)
    world.settle(rounds=4)
    world.advance(5_000)
    world.sent.clear()
    world.do(Assign(partitions=(("orders", 0),)))
    [commit] = world.waiting(OffsetCommit)
    [committed] = commit.topics[0].partitions
    assert committed.partition_index == 1
    assert committed.committed_offset == max(offset for (_, number), offset in world.records if number) + 1
