"""Members of consumer groups that do not get to their target: lives under the coordinator, and a table."""

from dataclasses import replace

import pytest

from kgroup.history.groups.model import (
    Group,
    GroupKind,
    GroupState,
    Member,
    OwnedPartition,
    Reconciliation,
    ReconciliationState,
)
from kgroup.history.groups.snapshot import read_groups
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.find import find
from kgroup.lag.findings.model import STUCK_KINDS, FindingKind, GroupFacts
from kgroup.protocol.records.entries import OffsetsEntry
from tests.group.coordinator.consumer.world import NAMES, ConsumerWorld
from tests.lag.windows import NOW, ago

K = FindingKind
S = ReconciliationState
TIMEOUT_MS = 300_000


# Lives under kgroup's coordinator


def said(world):
    """The findings on reconciliation in the newest record of each key, which is what compaction leaves."""
    newest = {logged.entry.key: logged for logged in world.log if isinstance(logged.entry, OffsetsEntry)}
    (group,) = read_groups(newest.values(), NAMES).values()
    found = find(GroupFacts(group=group, partitions=(), now_ms=world.now_ms), hygiene=True)
    return [finding for finding in found if finding.kind is K.STUCK_RECONCILIATION]


def two_members(**wish):
    """m1 had it all when m2 joined, and both know: it does not answer to that yet."""
    world = ConsumerWorld()
    world.join("m1", "orders", **({"rebalance_timeout_ms": TIMEOUT_MS} | wish))
    world.settle("m1")
    world.join("m2", "orders", rebalance_timeout_ms=TIMEOUT_MS)
    world.beat("m1")
    world.beat("m2")
    return world


def pass_time(world, seconds, *members, step=20):
    """Heartbeats of threads in the background, which say nothing of partitions."""
    for _ in range(0, seconds, step):
        world.advance(step * 1000)
        for member in members:
            assert not world.beat(member).error_code


def test_a_member_that_never_acknowledges_is_let_off_by_coordinators_that_move():
    world = two_members()
    told_ms = world.now_ms
    pass_time(world, 200, "m1", "m2")
    world.reload()
    pass_time(world, 100, "m1", "m2")
    assert said(world) == []  # The bound is reached, and not yet passed.
    pass_time(world, 20, "m1", "m2")
    (finding,) = said(world)
    assert (finding.kind, finding.grade, finding.member_id) == (
        K.STUCK_RECONCILIATION,
        Grade.RECORDED,
        "m1",
    )
    assert finding.since_ms == told_ms
    assert finding.evidence == (
        "m1 has not given up orders-2, orders-3 for 5m 20s, and m2 waits for it; it is at epoch 2 in state"
        " UNREVOKED_PARTITIONS, the target is of epoch 3; the rebalance timeout is 5m 0s"
    )
    assert finding.numbers["blocked_members"] == 1
    assert "onPartitionsRevoked" in finding.try_this
    assert K.STUCK_RECONCILIATION in STUCK_KINDS


def test_who_acknowledges_late_is_left_alone_and_so_is_who_waited():
    world = two_members()
    pass_time(world, 280, "m1", "m2")
    world.settle("m1", "m2")
    pass_time(world, 600, "m1", "m2")
    assert said(world) == []


def test_one_that_the_coordinator_fences_in_time_is_no_finding_at_any_moment():
    world = two_members()
    pass_time(world, 280, "m1", "m2")
    for _ in range(20):
        world.advance(5_000)
        world.beat("m2")
        assert said(world) == []
    assert world.owned["m2"] == {"orders": [0, 1, 2, 3]}


def test_a_static_member_that_is_away_is_waited_for_by_no_bound():
    world = ConsumerWorld(consumer_session_timeout_ms=900_000)
    world.join("m1", "orders", instance_id="pod-0", rebalance_timeout_ms=TIMEOUT_MS)
    world.settle("m1")
    world.beat("m1", -2, instance_id="pod-0")
    world.advance(800_000)
    assert said(world) == []


def test_a_target_may_lag_the_group_epoch_by_the_assignment_interval():
    world = ConsumerWorld(consumer_assignment_interval_ms=900_000, consumer_session_timeout_ms=900_000)
    for member in ("m1", "m2"):
        world.join(member, "orders", rebalance_timeout_ms=TIMEOUT_MS)
    assert world.described().group_epoch > world.described().assignment_epoch
    world.advance(800_000)
    assert said(world) == []


# The truth table


def member(name, epoch, owned=(), target=()):
    return Member(
        member_id=name,
        instance_id=None,
        client_id=name,
        client_host="/h",
        epoch=epoch,
        owned=places(owned),
        target=places(target),
    )


def places(numbers):
    return tuple(OwnedPartition("orders", number) for number in numbers)


def step(name, state, seconds, revoking=(), timeout=100):
    return Reconciliation(
        member_id=name,
        state=state,
        revoking=places(revoking),
        since_ms=None if seconds is None else ago(seconds),
        rebalance_timeout_ms=None if timeout is None else timeout * 1000,
    )


def group(members, steps, *, epoch=4, target=4, target_s=500, kind=GroupKind.CONSUMER):
    return GroupFacts(
        group=Group(
            group_id="g",
            kind=kind,
            state=GroupState.RECONCILING,
            epoch=epoch,
            target_epoch=target,
            target_ms=None if target_s is None else ago(target_s),
            members=tuple(members),
            reconciliations=tuple(steps),
        ),
        partitions=(),
        now_ms=NOW,
    )


A_KEEPS = member("a", 3, [0], [0])
B_WAITS = member("b", 4, [], [1])


def revoking(a_s, b_s, *, timeout=100, **fields):
    return group(
        [A_KEEPS, B_WAITS],
        [
            step("a", S.UNREVOKED_PARTITIONS, a_s, [1], timeout),
            step("b", S.UNRELEASED_PARTITIONS, b_s, timeout=timeout),
        ],
        **fields,
    )


def holding(a_epoch, a_state, a_s, b_s, *, b_epoch=4, timeout=100, **fields):
    """What b waits for is still a's own."""
    return group(
        [member("a", a_epoch, [0, 1], [0]), member("b", b_epoch, [], [1])],
        [step("a", a_state, a_s, timeout=timeout), step("b", S.UNRELEASED_PARTITIONS, b_s, timeout=timeout)],
        **fields,
    )


def free(a_s, b_s, **fields):
    """Nobody has what b waits for."""
    steps = [step("a", S.STABLE, a_s), step("b", S.UNRELEASED_PARTITIONS, b_s)]
    return group([member("a", 4, [0], [0]), B_WAITS], steps, **fields)


def behind(seconds, *, epoch=3, target_s=500, timeout=100, **fields):
    steps = [step("a", S.STABLE, seconds, timeout=timeout)]
    return group([member("a", epoch, [0], [0, 1])], steps, target_s=target_s, **fields)


# The group, and who is told of with the grade
TABLE = {
    "it has not answered for longer than its timeout": (revoking(101, 101), "a recorded"),
    "its time is just over": (revoking(100, 101), None),
    "who waits has waited for longer than who was told late": (revoking(50, 400), None),
    "a short timeout leaves a session's time": (revoking(60, 60, timeout=5), None),
    "and no more than that": (revoking(61, 61, timeout=5), "a recorded"),
    "without a recorded timeout": (revoking(61, 61, timeout=None), "a inferred"),
    "without a recorded timeout, in time": (revoking(60, 60, timeout=None), None),
    "without a time": (revoking(None, None), None),
    "the target's time is not needed for who was told": (revoking(101, 101, target_s=None), "a recorded"),
    "the same of another protocol": (revoking(500, 500, kind=GroupKind.SHARE), None),
    "it has not been told of the target": (behind(900, target_s=101), "a recorded"),
    "the target is young": (behind(900, target_s=100), None),
    "it moved after the target": (behind(100, target_s=900), None),
    "the target has no time": (behind(900, target_s=None), None),
    "no timeout of one behind": (behind(900, target_s=61, timeout=None), "a inferred"),
    "it is at the target": (behind(900, epoch=4, target=4), None),
    "only the group's epoch is ahead": (
        group([member("a", 4, [0], [0, 1])], [step("a", S.STABLE, 900)], epoch=6),
        None,
    ),
    "the first epoch has no target": (behind(900, epoch=1, target=None), None),
    "a static member that is away": (behind(900, epoch=-2), None),
    "the owner is behind, and so the one to move": (holding(3, S.STABLE, 900, 400), "a recorded"),
    "the owner is at the target and holds it all the same": (holding(4, S.STABLE, 101, 400), "b recorded"),
    "the owner has just moved": (holding(4, S.STABLE, 100, 400), None),
    "who waits has just moved": (holding(4, S.STABLE, 400, 100), None),
    "the target has just changed": (holding(4, S.STABLE, 400, 400, target_s=100), None),
    "who waits is away": (holding(4, S.STABLE, 400, 400, b_epoch=-2), None),
    "an owner at the target, no timeouts": (holding(4, S.STABLE, 61, 400, timeout=None), "b inferred"),
    "who waits is behind, too: its next heartbeat is due": (
        holding(4, S.STABLE, 900, 101, b_epoch=3),
        "b recorded",
    ),
    "nobody holds it": (free(101, 400), "b recorded"),
    "nobody holds it, and somebody has just moved": (free(100, 400), None),
}


@pytest.mark.parametrize(("facts", "expected"), TABLE.values(), ids=TABLE)
def test_who_is_told_of(facts, expected):
    found = [finding for finding in find(facts) if finding.kind is K.STUCK_RECONCILIATION]
    assert [f"{finding.member_id} {finding.grade}" for finding in found] == ([expected] if expected else [])


def test_the_place_is_named_where_it_is_one():
    (finding,) = find(holding(4, S.STABLE, 101, 400))
    assert (finding.topic, finding.partition, finding.since_ms) == ("orders", 1, ago(101))
    assert finding.evidence.startswith(
        "b waits for orders-1, held by a, and nobody has moved for 1m 41s; it is at epoch 4 in state"
        " UNRELEASED_PARTITIONS, the target is of epoch 4;"
    )


def test_who_waits_for_two_is_told_of_if_one_of_them_has_no_finding():
    facts = revoking(101, 400)
    other = member("c", 4, [2], [])
    waits = member("b", 4, [], [1, 2])
    both = replace(
        facts.group,
        members=(A_KEEPS, waits, other),
        reconciliations=(*facts.group.reconciliations, step("c", S.STABLE, 400)),
    )
    found = find(replace(facts, group=both))
    assert sorted(str(finding.member_id) for finding in found) == ["a", "b"]
