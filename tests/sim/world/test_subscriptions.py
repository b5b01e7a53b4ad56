"""Topics that come while a group reads, patterns, and users who subscribe to something else or to nothing."""

from dataclasses import replace

import pytest

from kgroup.group.coordinator.events import MemberRemoved
from kgroup.group.member.positions import Subscriptions
from kgroup.group.member.settings import GroupProtocol
from kgroup.group.member.step import CallbackKind
from kgroup.protocol.requests.coordinator import LeaveGroup
from kgroup.sim.scenario.file import load_shipped
from kgroup.sim.scenario.protocols import with_consumer_protocol
from kgroup.sim.scenario.scenario import CommitMode, Scenario, SimTopic
from kgroup.sim.watch.trace import (
    CoordinatorEvent,
    MemberStarted,
    PartitionsChanged,
    RecordsProcessed,
    RequestSent,
    TopicCreated,
)
from kgroup.sim.world.member_host import MemberHost
from kgroup.sim.zookeeper.trace import WatchFired
from kgroup.sim.zookeeper.world import run_zookeeper
from tests.sim.worlds import Seen, members, play, world

AGE_S = 10
"""`metadata.max.age.ms` of the members of `worlds`."""
ORDERS = SimTopic(name="orders", partitions=4, records_per_s=4)
LATE = SimTopic(name="returns", partitions=2, records_per_s=2, start_ms=None)


def late_world(*faults: tuple[str, str], protocol: GroupProtocol, **settings: object) -> Scenario:
    """`returns` comes when a fault says so."""
    scenario = world(*faults, topics=(ORDERS, LATE), members=members(2, **settings))
    return with_consumer_protocol(scenario) if protocol is GroupProtocol.CONSUMER else scenario


def read_by(seen: Seen, topic: str, *, after_s: float = 0, before_s: float = 1_000) -> set[str]:
    return {
        event.member
        for event in seen.of(RecordsProcessed)
        if event.partition[0] == topic and after_s <= seen.s(event) < before_s
    }


@pytest.mark.parametrize("protocol", GroupProtocol)
@pytest.mark.parametrize(
    "settings", [{"topics": (), "pattern": "orders|ret.+"}, {"topics": ("orders", "returns")}]
)
def test_a_topic_that_comes_is_read_within_the_age_of_metadata(protocol, settings) -> None:
    seen = play(late_world(("20s", "create returns"), protocol=protocol, **settings))
    assert not seen.broken
    [created] = seen.of(TopicCreated)
    assert (seen.s(created), created.topic, created.partitions) == (20, "returns", 2)
    assigned = [
        seen.s(event)
        for event in seen.of(PartitionsChanged, kind=CallbackKind.ASSIGNED)
        if any(topic == "returns" for topic, _ in event.partitions)
    ]
    # The oldest metadata may be of just before; then a round, which members hear of in a heartbeat's answer.
    assert 20 < assigned[0] <= 20 + AGE_S + 6
    assert read_by(seen, "returns")


def test_a_topic_that_comes_by_the_clock_and_one_that_the_pattern_does_not_match() -> None:
    by_clock = replace(LATE, start_ms=15_000)
    other = SimTopic(name="unrelated", partitions=2, records_per_s=2, start_ms=15_000)
    scenario = world(topics=(ORDERS, by_clock, other), members=members(2, topics=(), pattern="orders|ret.+"))
    seen = play(scenario)
    assert not seen.broken
    assert {(seen.s(event), event.topic) for event in seen.of(TopicCreated)} == {
        (15, "returns"),
        (15, "unrelated"),
    }
    assert read_by(seen, "returns")
    assert not read_by(seen, "unrelated")


def test_a_group_that_does_not_hear_of_its_new_topic_does_not_settle(monkeypatch) -> None:
    """The rule broken: metadata are never old."""
    settings = MemberHost._settings
    monkeypatch.setattr(
        MemberHost, "_settings", lambda host: replace(settings(host), metadata_max_age_ms=1 << 40)
    )
    scenario = late_world(
        ("20s", "create returns"), protocol=GroupProtocol.CLASSIC, topics=(), pattern="o.*|r.*"
    )
    seen = play(scenario)
    [unsettled] = [each for each in seen.run.violations if each.checker == "settles"]
    assert "returns-0 is read by nobody" in unsettled.what


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_a_member_that_unsubscribes_leaves_and_is_handed_out_nothing_until_it_subscribes_again(
    protocol,
) -> None:
    scenario = late_world(("20s", "unsubscribe c1 for 20s"), protocol=protocol)
    seen = play(scenario)
    assert not seen.broken
    between = {"after_s": 22, "before_s": 40}
    assert read_by(seen, "orders", **between) == {"c2"}
    assert read_by(seen, "orders", after_s=70) == {"c1", "c2"}
    assert len(seen.of(MemberStarted, member="c1")) == 1, "the same process"
    if protocol is GroupProtocol.CLASSIC:
        [left] = [each for each in seen.of(RequestSent, member="c1") if isinstance(each.body, LeaveGroup)]
        assert 20 <= seen.s(left) < 21
        [removed] = [
            each.event for each in seen.of(CoordinatorEvent) if isinstance(each.event, MemberRemoved)
        ]
        assert removed.why == "left: the consumer unsubscribed from all topics"


def test_a_group_that_wants_nothing_any_more_settles_and_misses_nobody() -> None:
    """What nobody wants is not without a reader; until then it was."""
    scenario = late_world(
        ("20s", "unsubscribe c1"), ("20s", "unsubscribe c2"), protocol=GroupProtocol.CLASSIC
    )
    seen = play(scenario)
    assert not seen.broken
    assert seen.run.settled_ms is not None
    assert seen.run.tally.unavailable_partition_s < 4 * 6


def test_what_came_after_the_last_commit_is_read_again_as_unsubscribe_commits_nothing() -> None:
    auto = late_world(("22s", "unsubscribe c1"), protocol=GroupProtocol.CLASSIC, commit_mode=CommitMode.AUTO)
    seen = play(auto)
    assert not seen.broken
    assert seen.run.tally.duplicates > 0


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_a_subscription_that_changes_hands_out_only_the_new_topics(protocol) -> None:
    there = replace(LATE, start_ms=0)
    scenario = world(("20s", "subscribe c1 to returns for 30s"), topics=(ORDERS, there), members=members(2))
    if protocol is GroupProtocol.CONSUMER:
        scenario = with_consumer_protocol(scenario)
    seen = play(scenario)
    assert not seen.broken
    assert read_by(seen, "returns", after_s=20, before_s=50) == {"c1"}
    assert read_by(seen, "orders", after_s=22, before_s=50) == {"c2"}
    assert read_by(seen, "orders", after_s=70) == {"c1", "c2"}


def test_a_pattern_becomes_a_list_of_topics_and_back() -> None:
    there = replace(LATE, start_ms=0)
    scenario = world(
        ("20s", "subscribe c1 to orders for 30s"),
        topics=(ORDERS, there),
        members=members(2, topics=(), pattern=".*"),
    )
    seen = play(scenario)
    assert not seen.broken
    assert read_by(seen, "returns", after_s=25, before_s=50) == {"c2"}
    assert read_by(seen, "returns", after_s=70) <= {"c1", "c2"}


def test_what_a_user_has_unsubscribed_from_may_not_be_handed_out(monkeypatch) -> None:
    """The rule broken: what is assigned still is fetched still, though the topic is wanted no more."""
    monkeypatch.setattr(Subscriptions, "_mark_unwanted", lambda subscriptions: None)
    scenario = world(
        ("20s", "subscribe c1 to returns"),
        topics=(ORDERS, replace(LATE, start_ms=0)),
        members=members(2),
    )
    violations = play(with_consumer_protocol(scenario)).run.violations
    assert {(each.checker, each.what[:26]) for each in violations} == {
        ("subscribed", "g: c1 is handed out orders")
    }


def test_the_old_consumer_sees_a_new_topic_by_a_watch_and_not_by_age() -> None:
    events = []
    scenario = replace(load_shipped("subscriptions"), settle_ms=10_000)
    run_zookeeper(scenario, 1, on_event=events.append)
    start_ms = scenario.epoch_ms
    fired = [each for each in events if isinstance(each, WatchFired) and each.path == "/brokers/topics"]
    assert {each.member for each in fired} == {"c1", "c2", "c3"}
    assert all(40_000 <= each.at_ms - start_ms < 41_000 for each in fired)
    read = {
        each.at_ms for each in events if isinstance(each, RecordsProcessed) and each.partition[0] == "returns"
    }
    assert 40_000 <= min(read) - start_ms < 50_000
