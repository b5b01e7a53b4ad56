"""Static members of consumer groups that leave to come back (KIP-848), from a coordinator's own log."""

from kgroup.history.timeline.model import Cause, CauseKind, Grade, Occurrence, Timeline
from kgroup.history.timeline.replay import replay
from tests.group.coordinator.consumer.world import GROUP, NAMES, ConsumerWorld

SESSION_MS = 3_000
SHORTER_MS = SESSION_MS // 2


def static_world() -> ConsumerWorld:
    """Two static members, `a1` and `b1`, with the partitions of one topic."""
    world = ConsumerWorld(consumer_session_timeout_ms=SESSION_MS)
    world.join("a1", "orders", instance_id="a")
    world.join("b1", "orders", instance_id="b")
    world.settle("a1", "b1")
    return world


def timeline(world: ConsumerWorld) -> Timeline:
    return replay(world.log, NAMES)[GROUP]


def last_causes(world: ConsumerWorld) -> list[Cause]:
    return list(timeline(world).generations[-1].causes)


def returns(world: ConsumerWorld) -> list[Occurrence]:
    return [each for each in timeline(world).occurrences if each.cause.kind is CauseKind.STATIC_RESTART]


def away_and_back(world: ConsumerWorld, new_id: str, *topics: str) -> None:
    world.beat("a1", -2, instance_id="a")
    world.advance(SHORTER_MS)
    world.beat("b1")
    world.join(new_id, *topics, instance_id="a")


def test_who_comes_back_under_another_id_is_told_of_then_and_begins_nothing() -> None:
    world = static_world()
    epochs = len(timeline(world).generations)
    away_and_back(world, "a2", "orders")
    came_ms = world.now_ms
    world.advance(SHORTER_MS)
    world.settle("a2", "b1")
    (back,) = returns(world)
    assert (back.at_ms, back.cause.grade, back.cause.member_ids) == (came_ms, Grade.RECORDED, ("a1", "a2"))
    assert back.cause.evidence.endswith("after the one before had left to come back")
    assert back.cause.remedy is None
    assert len(timeline(world).generations) == epochs
    # An epoch that somebody else begins later is not put down to it, nor counts the place as another.
    world.join("c1", "orders")
    assert [cause.kind for cause in last_causes(world)] == [CauseKind.JOIN]
    last = timeline(world).generations[-1]
    assert (last.replaced, last.left) == ((), ())
    assert len(returns(world)) == 1


def test_who_comes_back_with_other_topics_begins_an_epoch_and_is_its_cause_alone() -> None:
    world = static_world()
    away_and_back(world, "a2", "orders", "payments")
    assert CauseKind.STATIC_RESTART in [cause.kind for cause in last_causes(world)]
    assert timeline(world).generations[-1].replaced == (("a1", "a2"),)
    assert returns(world) == []


def test_time_since_the_epoch_before_counts_from_when_that_began() -> None:
    world = static_world()
    began_ms = timeline(world).generations[-1].roster.at_ms
    away_and_back(world, "a2", "orders")
    world.advance(SHORTER_MS)
    world.join("c1", "orders")
    assert began_ms is not None
    assert timeline(world).generations[-1].since_previous_ms == world.now_ms - began_ms


def test_who_does_not_come_back_has_expired() -> None:
    world = static_world()
    world.beat("a1", -2, instance_id="a")
    for _ in range(3):
        world.advance(SHORTER_MS)
        world.beat("b1")
    [cause] = last_causes(world)
    assert (cause.kind, cause.grade, cause.member_ids) == (
        CauseKind.SESSION_EXPIRED,
        Grade.INFERRED,
        ("a1",),
    )
    assert cause.evidence.startswith("the static member had left to come back ")


def test_who_was_away_and_came_back_under_its_own_id_is_away_no_more() -> None:
    world = static_world()
    away_and_back(world, "a1", "orders")
    for _ in range(3):
        world.advance(SHORTER_MS)
        world.beat("b1")
    [cause] = last_causes(world)
    assert (cause.grade, cause.member_ids) == (Grade.UNKNOWN, ("a1",))


def test_a_dynamic_member_that_is_gone_has_not_been_away() -> None:
    world = ConsumerWorld(consumer_session_timeout_ms=SESSION_MS)
    world.join("m1", "orders")
    world.join("m2", "orders")
    world.settle("m1", "m2")
    world.beat("m1", -1)
    [cause] = last_causes(world)
    assert (cause.grade, cause.member_ids) == (Grade.UNKNOWN, ("m1",))


def test_whoever_restarts_again_and_again_fights_nobody() -> None:
    world = static_world()
    for number in range(9):
        world.beat(f"a{number + 1}", -2, instance_id="a")
        world.join(f"a{number + 2}", "orders", instance_id="a")
        world.advance(SHORTER_MS)
        world.settle(f"a{number + 2}", "b1")
    assert [each.was_free for each in timeline(world).takeovers] == [True] * 9
    assert timeline(world).patterns == ()
