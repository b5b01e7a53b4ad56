"""Members of consumer groups that are back under the id that they had, from a coordinator's own log."""

import pytest

from kgroup.history.timeline.model import Cause, CauseKind, Generation, Grade
from kgroup.history.timeline.replay import replay
from tests.group.coordinator.consumer.world import GROUP, NAMES, ConsumerWorld

POLL_INTERVAL_MS = 10_000
RHYTHM_MS = 1_000


def world_in_rhythm(
    *, session_ms: int = 60_000, interval_ms: int = POLL_INTERVAL_MS, rhythm_ms: int = RHYTHM_MS
) -> ConsumerWorld:
    """Two members, of which `m1` has committed eight times in a rhythm."""
    world = ConsumerWorld(consumer_session_timeout_ms=session_ms)
    for member in ("m1", "m2"):
        world.join(member, "orders", rebalance_timeout_ms=interval_ms)
    world.settle("m1", "m2")
    for _ in range(8):
        commit(world)
        world.advance(rhythm_ms)
        world.settle("m1", "m2")
    return world


def commit(world: ConsumerWorld) -> None:
    """A commit of `m1`, which has read on."""
    partition = min(world.owned["m1"]["orders"])
    assert not world.commit("m1", world.epochs["m1"], partition, offset=len(world.log))


def comes_back(world: ConsumerWorld, member: str = "m1") -> None:
    world.beat("m1", -1)
    world.advance(2)
    world.join(member, "orders", rebalance_timeout_ms=POLL_INTERVAL_MS)


def departure(world: ConsumerWorld) -> Cause:
    """The cause of the one generation that somebody is gone from."""
    generations: list[Generation] = replay(world.log, NAMES)[GROUP].generations
    (without,) = (generation for generation in generations if generation.left)
    [cause] = without.causes
    return cause


def test_who_commits_after_its_poll_interval_and_is_back_at_once_had_not_polled() -> None:
    """As librdkafka does, whose member leaves only when it is polled again."""
    world = world_in_rhythm()
    world.advance(13_000)
    commit(world)
    comes_back(world)
    cause = departure(world)
    assert (cause.kind, cause.grade, cause.member_ids) == (
        CauseKind.POLL_INTERVAL_EXCEEDED,
        Grade.INFERRED,
        ("m1",),
    )
    assert cause.evidence == (
        "it committed nothing for 14s, and its poll interval (rebalance timeout) is 10s; then it committed,"
        " left and came back under the same id"
    )
    assert cause.remedy is not None and "max.poll.interval.ms" in cause.remedy


@pytest.mark.parametrize("paused_ms", [0, 8_900])
def test_who_is_back_without_such_a_pause_has_just_left(paused_ms: int) -> None:
    world = world_in_rhythm()
    world.advance(paused_ms)
    commit(world)
    comes_back(world)
    cause = departure(world)
    assert (cause.kind, cause.grade) == (CauseKind.LEAVE, Grade.INFERRED)
    assert cause.evidence.endswith("it came back under the same id: its client lived on")


def test_another_member_that_comes_tells_nothing_of_who_is_gone() -> None:
    world = world_in_rhythm()
    world.advance(13_000)
    commit(world)
    comes_back(world, "m3")
    cause = departure(world)
    assert (cause.kind, cause.grade) == (CauseKind.LEAVE, Grade.INFERRED)
    assert "came back" not in cause.evidence


def test_who_committed_seldom_anyway_has_just_left() -> None:
    world = world_in_rhythm(rhythm_ms=12_000)
    commit(world)
    comes_back(world)
    assert departure(world).kind is CauseKind.LEAVE


def test_whose_session_ended_and_who_is_back_was_not_shut_down() -> None:
    world = world_in_rhythm(session_ms=6_000, interval_ms=300_000)
    for _ in range(8):
        world.advance(RHYTHM_MS)
        world.beat("m2")
    world.join("m1", "orders", rebalance_timeout_ms=300_000)
    cause = departure(world)
    assert (cause.kind, cause.grade) == (CauseKind.MEMBER_GONE, Grade.UNKNOWN)
    assert cause.evidence.endswith("it came back under the same id: its client lived on")


def test_who_went_silent_for_its_poll_interval_and_is_back_under_its_id_had_not_polled() -> None:
    """As Java's consumer does, which leaves when the interval is over; here all members share a client id."""
    world = world_in_rhythm()
    world.advance(POLL_INTERVAL_MS - RHYTHM_MS + 300)
    world.settle("m2")
    world.beat("m1", -1)
    world.advance(5_000)
    world.join("m1", "orders", rebalance_timeout_ms=POLL_INTERVAL_MS)
    cause = departure(world)
    assert (cause.kind, cause.grade) == (CauseKind.POLL_INTERVAL_EXCEEDED, Grade.INFERRED)
    assert cause.evidence.endswith("; the same client came back under the same id")


@pytest.mark.parametrize("owes", [False, True])
def test_a_rebalance_timeout_takes_out_only_who_owes_partitions(owes: bool) -> None:
    """The timer runs from when a member is told to give some up until it has."""
    world = ConsumerWorld()
    world.join("m1", "orders")
    world.settle("m1")
    world.join("m2", "orders")
    if owes:
        assert world.beat("m1").assignment is not None
    else:
        world.settle("m1", "m2")
    world.beat("m1", -1)
    cause = departure(world)
    assert cause.kind is CauseKind.MEMBER_GONE
    others = (CauseKind.REBALANCE_TIMEOUT,) if owes else ()
    assert cause.alternatives == (CauseKind.LEAVE, CauseKind.SESSION_EXPIRED, *others)
