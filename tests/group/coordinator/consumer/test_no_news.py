"""A heartbeat without news is answered on a shorter way, which must come to the same as the longer one."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.group.coordinator.consumer import groups
from kgroup.group.coordinator.consumer.groups import ConsumerGroups
from kgroup.group.coordinator.metadata_image import TopicImage
from kgroup.group.coordinator.step import Request
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat
from tests.group.coordinator.consumer.world import GROUP, ORDERS, ConsumerWorld

MEMBERS = ("a", "b")
HOUR_MS = 3_600_000


class World(ConsumerWorld):
    """Its clients may change their name and host; without `shortens` no heartbeat is cut short."""

    def __init__(self, *, shortens: bool = True, **settings: Any) -> None:
        self.client = ("app", "/127.0.0.1")
        super().__init__(**settings)
        self._shortens = shortens
        self.shortened = 0

    def ask(self, body: Any) -> Any:
        request = Request(next(self._ids), body, *self.client)
        short = ConsumerGroups._has_no_news

        def has_no_news(of: ConsumerGroups, asked: Request, said: ConsumerGroupHeartbeat) -> bool:
            done = self._shortens and short(of, asked, said)
            self.shortened += done
            return done

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ConsumerGroups, "_has_no_news", has_no_news)
            self._take(self.coordinator.handle(request, self.now_ms))
        self._take(self.coordinator.expire(self.now_ms))
        return self.answers.pop(request.id, None)


def grow(world: ConsumerWorld) -> None:
    world.image.put(TopicImage(name="orders", topic_id=ORDERS, partitions=world.now_ms % 7 + 5))


def make_topic(world: ConsumerWorld) -> None:
    name = f"new-{world.image.version()}"
    world.image.put(TopicImage(name=name, topic_id=UUID(int=100 + world.image.version()), partitions=1))
    world.coordinator.topics_changed(frozenset({name}), True)


def stay(world: World, ms: int) -> None:
    """Time goes by in which all members that are there beat."""
    until_ms = world.now_ms + ms
    while world.now_ms < until_ms:
        world.advance(25_000)
        for member in MEMBERS:
            world.beat(member)


Move = Callable[[World, str], object]
MOVES: dict[str, Move] = {
    "join": lambda world, member: world.join(member, "orders"),
    "want more": lambda world, member: world.beat(member, subscribed_topic_names=("orders", "payments")),
    "want by expression": lambda world, member: world.beat(member, subscribed_topic_regex="o.*"),
    "join as one that stays": lambda world, member: world.join(member, "orders", instance_id=member),
    "beat": lambda world, member: world.beat(member),
    "beat by its name": lambda world, member: world.beat(member, instance_id=member),
    "own": lambda world, member: world.beat(member, says=world.owned.get(member, {})),
    "own nothing": lambda world, member: world.beat(member, says={}),
    "an old epoch": lambda world, member: world.beat(member, max(world.epochs.get(member, 0) - 1, 0)),
    "a coming epoch": lambda world, member: world.beat(member, world.epochs.get(member, 0) + 1),
    "another timeout": lambda world, member: world.beat(member, rebalance_timeout_ms=world.now_ms % 9000),
    "another assignor": lambda world, member: world.beat(member, server_assignor="range"),
    "leave": lambda world, member: world.beat(member, -1),
    "go away": lambda world, member: world.beat(member, -2, instance_id=member),
    "join as a classic one": lambda world, member: world.classic_member(),
    "topic grows": lambda world, member: grow(world),
    "topic is made": lambda world, member: make_topic(world),
    "eleven minutes": lambda world, member: stay(world, 660_000),
    "another client": lambda world, member: setattr(world, "client", ("renamed", world.client[1])),
    "another host": lambda world, member: setattr(world, "client", (world.client[0], "/127.0.0.2")),
    "reload": lambda world, member: world.reload(),
    "a second": lambda world, member: world.advance(1_000),
    "half a session": lambda world, member: world.advance(25_000),
    "an hour": lambda world, member: world.advance(HOUR_MS),
}


def outcome(world: World, move: Move, member: str) -> object:
    try:
        return move(world, member)
    except AssertionError as refused:  # a classic member that is not let in
        return f"refused: {refused}"


def state(world: World) -> tuple[object, ...]:
    return list(world.log), world.events, world.coordinator.next_deadline_ms(), world.described()


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(MOVES)), st.sampled_from(MEMBERS)), max_size=25),
    st.sampled_from([0, 1_500]),
)
def test_both_ways_come_to_the_same(moves: list[tuple[str, str]], interval_ms: int) -> None:
    short, long = (
        World(shortens=each, consumer_assignment_interval_ms=interval_ms) for each in (True, False)
    )
    for name, member in [("join", "a"), *moves]:
        assert outcome(short, MOVES[name], member) == outcome(long, MOVES[name], member), name
        # Whatever came before, each member may beat next.
        for each in MEMBERS:
            assert outcome(short, MOVES["beat"], each) == outcome(long, MOVES["beat"], each), (name, each)
        assert state(short) == state(long), name
    assert long.shortened == 0


def settled() -> World:
    world = World()
    world.join("a", "orders")
    world.join("b", "orders")
    world.settle("a", "b")
    world.shortened = 0
    return world


def test_a_member_that_only_beats_goes_the_shorter_way(monkeypatch: pytest.MonkeyPatch) -> None:
    world = settled()
    monkeypatch.setattr(groups, "Plan", None)
    for _ in range(3):
        world.advance(5_000)
        assert world.beat("a").member_epoch == world.beat("b").member_epoch == world.epochs["a"]
    assert world.shortened == 6


def unsettle_by_expression(world: World) -> None:
    """Expressions are looked at again after ten minutes, and 10 s after a topic was made."""
    MOVES["want by expression"](world, "a")
    world.advance(1)
    world.settle("a", "b")
    stay(world, 50_000)
    assert world.shortened == 0  # as long as some member has an expression
    make_topic(world)


def forget_the_targets_epoch(world: World) -> None:
    world.log = [
        each
        for each in world.log
        if not isinstance(each.entry, OffsetsEntry)
        or each.entry.type is not RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA
    ]
    world.reload()
    # A node that takes over looks at the topics with the first heartbeat: this one is the second.
    assert isinstance(world.coordinator.consumer, ConsumerGroups)
    world.coordinator.consumer.watched(GROUP).refresh_ms = world.now_ms + HOUR_MS


@pytest.mark.parametrize(
    "change",
    [
        lambda world: MOVES["another client"](world, ""),
        lambda world: MOVES["another host"](world, ""),
        lambda world: MOVES["want more"](world, "a"),
        lambda world: (stay(world, HOUR_MS - 25_000), grow(world), world.advance(30_000)),
        unsettle_by_expression,
        forget_the_targets_epoch,
    ],
    ids=["client", "host", "epoch", "old metadata", "expressions", "no target"],
)
def test_what_has_changed_is_seen_by_the_next_heartbeat(change: Callable[[World], object]) -> None:
    world = settled()
    change(world)
    world.shortened, logged = 0, len(world.log)
    answer = world.beat("b")
    world.advance(1)  # expressions are resolved apart from it
    assert world.shortened == 0
    assert len(world.log) > logged or answer.assignment is not None


@pytest.mark.parametrize(
    "news",
    [
        {"instance_id": "i"},
        {"rack_id": "r"},
        {"rebalance_timeout_ms": 9_000},
        {"subscribed_topic_names": ("payments",)},
        {"subscribed_topic_regex": "o.*"},
        {"server_assignor": "range"},
    ],
    ids=lambda news: next(iter(news)),
)
def test_whatever_a_member_says_of_itself_is_news(news: dict[str, Any]) -> None:
    world = settled()
    world.beat("b", **news)
    assert world.shortened == 0


def test_to_own_what_it_was_given_is_no_news() -> None:
    world = settled()
    world.beat("a", says=world.owned["a"])
    assert world.shortened == 1


def test_a_classic_member_that_turns_to_the_consumer_protocol_is_noted() -> None:
    world = settled()
    classic = world.classic_member()
    world.settle("a", "b")
    world.sync(classic.member_id, world.classic_join(classic.member_id).generation_id)
    (member,) = [one for one in world.described().members if one.member_id == classic.member_id]
    world.shortened = 0
    assert not world.beat(classic.member_id, member.member_epoch).error_code
    assert world.shortened == 0
