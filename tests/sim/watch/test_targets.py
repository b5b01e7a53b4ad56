"""The checker of target assignments: what it takes for a fault, and what it does not."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest

from kgroup.group.coordinator.consumer import rules
from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import ConsumerMember
from kgroup.group.coordinator.metadata_image import TopicImage
from kgroup.sim.swarm import Swarm, run_seed
from kgroup.sim.watch.result import TARGETS_FIT
from kgroup.sim.watch.targets import misfits
from tests.group.coordinator.consumer.world import GROUP, ORDERS, PAYMENTS, ConsumerWorld

PATTERN = "ord.*"


def two_members() -> tuple[ConsumerWorld, ConsumerGroup]:
    """`a` and `b` share orders, and `b` has payments, by targets of the group's epoch."""
    world = ConsumerWorld()
    world.join("a", "orders")
    world.join("b", "orders", "payments")
    group = world.coordinator.consumer.watched(GROUP)
    assert group is not None
    return world, group


def test_what_the_coordinator_works_out_fits() -> None:
    world, group = two_members()
    assert list(misfits(group, world.image)) == []
    world.join("c", subscribed_topic_regex="pay.*")
    world.advance(0)
    world.beat("c")
    assert list(misfits(group, world.image)) == []


@pytest.mark.parametrize(
    ("member", "target", "why"),
    [
        pytest.param("b", {ORDERS: {2, 3}, PAYMENTS: {1}}, "payments: nobody's target has 0", id="nobody's"),
        pytest.param(
            "b", {ORDERS: {1, 2, 3}, PAYMENTS: {0, 1}}, "orders-1 is in the targets of a and b", id="of two"
        ),
        pytest.param(
            "a",
            {ORDERS: {0, 1}, PAYMENTS: {0}},
            "the target of a has payments, to which it does not subscribe",
            id="of another topic",
        ),
    ],
)
def test_a_target_that_does_not_fit(member: str, target: dict[UUID, set[int]], why: str) -> None:
    world, group = two_members()
    group.targets["a"] = {ORDERS: frozenset({0, 1})}
    group.targets["b"] = {ORDERS: frozenset({2, 3}), PAYMENTS: frozenset({0, 1})}
    assert list(misfits(group, world.image)) == []
    group.targets[member] = {topic_id: frozenset(partitions) for topic_id, partitions in target.items()}
    assert why in list(misfits(group, world.image))


def epoch_ahead(world: ConsumerWorld, group: ConsumerGroup) -> None:
    group.epoch += 1


def topic_that_has_grown(world: ConsumerWorld, group: ConsumerGroup) -> None:
    world.image.put(TopicImage(name="orders", topic_id=ORDERS, partitions=5))


def expression(world: ConsumerWorld, group: ConsumerGroup) -> None:
    """Not resolved yet: the topics of the one before are not its own any more."""
    group.put(replace(group.members["b"], topics=frozenset(), regex=PATTERN))


def expression_of_nothing(world: ConsumerWorld, group: ConsumerGroup) -> None:
    expression(world, group)
    group.resolve(PATTERN, rules.ResolvedRegex(frozenset(), 7, 0))


def of_a_classic_leader(world: ConsumerWorld, group: ConsumerGroup) -> None:
    """An upgraded group that has worked out none yet."""
    group.assignment_timestamp_ms = 0


@pytest.mark.parametrize(
    "change", [epoch_ahead, topic_that_has_grown, expression, expression_of_nothing, of_a_classic_leader]
)
def test_targets_of_other_subscriptions_or_topics_may_be_what_they_are(
    change: Callable[[ConsumerWorld, ConsumerGroup], None],
) -> None:
    world, group = two_members()
    group.targets["a"] = {ORDERS: frozenset({0})}
    assert list(misfits(group, world.image))
    change(world, group)
    assert list(misfits(group, world.image)) == []


def who_comes_without_a_subscription(newcomer: str) -> tuple[ConsumerWorld, ConsumerGroup]:
    """A group of `a` and `b`, which `c` has just left; what follows is as with a broker of 4.3.1."""
    world = ConsumerWorld()
    for member in "abc":
        world.join(member, "orders")
    world.beat("c", -1)
    group = world.coordinator.consumer.watched(GROUP)
    assert group is not None
    assert group.epoch > group.assignment_epoch
    world.join(newcomer)
    assert group.epoch == group.assignment_epoch
    return world, group


def test_who_comes_without_a_subscription_may_get_what_others_read() -> None:
    """Its epoch is the one of a member that has left; of the seeds 111949 and 116374."""
    world, group = who_comes_without_a_subscription("n")
    assert group.target("n").keys() == {ORDERS}
    assert list(misfits(group, world.image)) == []
    group.targets["a"] = {}
    assert list(misfits(group, world.image))


def test_who_comes_without_a_subscription_may_leave_nobody_with_anything() -> None:
    """Kafka's map has it before `a` and `b`: it is taken to subscribe to what all do."""
    world, group = who_comes_without_a_subscription("0")
    assert not any(group.target(member) for member in group.members)
    assert list(misfits(group, world.image)) == []
    group.targets["0"] = {ORDERS: frozenset({0})}
    assert list(misfits(group, world.image)) == ["orders: nobody's target has 1 2 3"]


def test_an_interval_that_holds_a_target_back_is_no_fault() -> None:
    """KIP-1263: the group is ahead of its target for as long."""
    world = ConsumerWorld(consumer_assignment_interval_ms=5_000)
    world.join("a", "orders")
    world.join("b", "orders", "payments")
    group = world.coordinator.consumer.watched(GROUP)
    assert group is not None
    assert group.epoch > group.assignment_epoch
    assert list(misfits(group, world.image)) == []
    world.advance(5_000)
    world.beat("b")
    assert group.epoch == group.assignment_epoch
    assert list(misfits(group, world.image)) == []


def test_the_swarm_finds_targets_for_the_subscriptions_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that narrows its subscription gets what it had, until somebody else comes or goes."""
    rule = rules.members_after

    def members_before(group: ConsumerGroup, updated: ConsumerMember) -> dict[str, ConsumerMember]:
        members = rule(group, updated)
        members[updated.member_id] = group.members.get(updated.member_id, updated)
        return members

    assert run_seed(4, Swarm.CONSUMER).violations == ()
    monkeypatch.setattr(rules, "members_after", members_before)
    assert {each.checker for each in run_seed(4, Swarm.CONSUMER).violations} == {TARGETS_FIT}
