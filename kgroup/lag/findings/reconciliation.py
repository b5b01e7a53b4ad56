"""Consumer-group members that do not reach their target, what holds them up, and since when (KIP-848).

The broker moves a partition in steps: its owner hears that it has to go and says when it has given it up
(UNREVOKED_PARTITIONS until then), and the next owner waits for that (UNRELEASED_PARTITIONS). A coordinator of
Kafka 4.x fences an owner who has not answered within its rebalance timeout. Who is found here has been let
off, or waits for what nobody will release.

Only the target's epoch counts. The group's own may be ahead of it by the assignment interval (KIP-1263), and
what epoch a commit carries says nothing (KIP-1251).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kgroup.durations import lasting
from kgroup.history.groups.model import (
    Group,
    GroupKind,
    Member,
    OwnedPartition,
    Reconciliation,
    ReconciliationState,
)
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts
from kgroup.lag.findings.text import listed

GRACE_MS: Final = 60_000
"""The least time for a step, and for one without a recorded timeout: the longest session timeout that a
broker allows by default (`group.consumer.max.session.timeout.ms`). Who is silent for longer is fenced."""

_TRY_REVOKE: Final = (
    "Look in that member's log for an onPartitionsRevoked that does not return, or a loop that no longer"
    " polls: either keeps it from answering. Restart it; its partitions are free once it has left. If it is"
    " gone, the coordinator should have fenced it by its rebalance timeout: look in that broker's log."
)
_TRY_BEHIND: Final = (
    "The coordinator moves a member on at its next heartbeat, and this one has not moved. Look in the logs of"
    " the member and of the broker that coordinates the group, then restart the member."
)

_TRY_HOLDER: Final = (
    "Look in the logs of the member that holds the partitions and of the broker that coordinates the group:"
    " that member should have been told to give them up. Restart it; they are free once it has left."
)

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _Step:
    """A member that stands still: for lack of an answer, by its old epoch, or for others' partitions."""

    member: Member
    found: Reconciliation
    since_ms: int
    places: tuple[Place, ...]
    timeout_ms: int | None

    @property
    def bound_ms(self) -> int:
        return max(self.timeout_ms or 0, GRACE_MS)


def stuck_reconciliations(facts: GroupFacts) -> Iterator[Finding]:
    """One for each member that holds up others or itself.

    Members that wait for nothing but one of these are in its evidence and have no finding of their own.
    """
    group = facts.group
    if group.kind is not GroupKind.CONSUMER or group.target_epoch is None:
        return
    found = {each.member_id: each for each in group.reconciliations}
    wanted = _wanted(group)
    told: set[str] = set()
    for member in group.members:
        step = _own_step(group, member, found.get(member.member_id))
        if step is not None and facts.now_ms - step.since_ms > step.bound_ms:
            told.add(member.member_id)
            yield _of_holder(facts, step, wanted)
    holders = _holders(group, found)
    for member in group.members:
        waits = _wait(group, member, found, holders)
        if waits is None or member.member_id in told or facts.now_ms - waits.since_ms <= waits.bound_ms:
            continue
        of_places = {place: holders[place] - {member.member_id} for place in waits.places}
        if any(not names or not names <= told for names in of_places.values()):
            yield _of_waiter(facts, waits, of_places)


def _own_step(group: Group, member: Member, found: Reconciliation | None) -> _Step | None:
    """The step that only the member itself can take, or the coordinator with its next heartbeat."""
    if found is None or found.since_ms is None or member.epoch is None or member.epoch < 0:
        return None  # A negative epoch is of a static member that is away and may come back.
    if found.state is ReconciliationState.UNREVOKED_PARTITIONS:
        return _Step(member, found, found.since_ms, _places(found.revoking), found.rebalance_timeout_ms)
    assert group.target_epoch is not None, "asked only of groups that have one"
    if member.epoch >= group.target_epoch or group.target_ms is None:
        return None
    leaves = tuple(place for place in _places(member.owned) if place not in _places(member.target or ()))
    return _Step(member, found, max(found.since_ms, group.target_ms), leaves, found.rebalance_timeout_ms)


def _wait(
    group: Group,
    member: Member,
    found: Mapping[str, Reconciliation],
    holders: Mapping[Place, frozenset[str]],
) -> _Step | None:
    """The member's wait for others, none of whom has moved either."""
    own = found.get(member.member_id)
    if own is None or own.state is not ReconciliationState.UNRELEASED_PARTITIONS:
        return None
    owned = _places(member.owned)
    places = tuple(place for place in _places(member.target or ()) if place not in owned)
    names = set().union(*(holders.get(place, frozenset()) for place in places)) - {member.member_id}
    involved = [own, *(found[name] for name in sorted(names))]
    # Where nobody has the partitions any more, the last to give them up did so in the time of the others.
    moved = involved if names else found.values()
    times = [each.since_ms for each in moved] + [group.target_ms]
    if any(at_ms is None for at_ms in times) or (member.epoch or 0) < 0:
        return None
    timeouts = [each.rebalance_timeout_ms for each in involved]
    known = [timeout_ms for timeout_ms in timeouts if timeout_ms is not None]
    return _Step(
        member,
        own,
        max(at_ms for at_ms in times if at_ms is not None),
        places,
        max(known) if len(known) == len(timeouts) else None,
    )


def _holders(group: Group, found: Mapping[str, Reconciliation]) -> Mapping[Place, frozenset[str]]:
    """The members that own each partition, or have not yet confirmed that they gave it up."""
    holders: defaultdict[Place, frozenset[str]] = defaultdict(frozenset)
    for member in group.members:
        own = found.get(member.member_id)
        if own is not None:
            for place in {*_places(member.owned), *_places(own.revoking)}:
                holders[place] |= {member.member_id}
    return holders


def _wanted(group: Group) -> Mapping[Place, tuple[str, ...]]:
    """The members whose target has a partition that they do not own yet."""
    wanted: defaultdict[Place, tuple[str, ...]] = defaultdict(tuple)
    for member in group.members:
        owned = set(_places(member.owned))
        for place in _places(member.target or ()):
            if place not in owned:
                wanted[place] += (member.member_id,)
    return wanted


def _of_holder(facts: GroupFacts, step: _Step, wanted: Mapping[Place, Sequence[str]]) -> Finding:
    is_revoking = step.found.state is ReconciliationState.UNREVOKED_PARTITIONS
    name = step.member.member_id
    waiting = sorted({other for place in step.places for other in wanted.get(place, ())} - {name})
    does = f"has not given up {_named(step.places)}" if is_revoking else "has not been taken on"
    waits = f", and {listed(waiting)} {'waits' if len(waiting) == 1 else 'wait'} for it" if waiting else ""
    return _finding(
        facts,
        step,
        f"{name} {does} for {lasting(facts.now_ms - step.since_ms)}{waits}",
        blocked=len(waiting),
        blockers=1,
        try_this=_TRY_REVOKE if is_revoking else _TRY_BEHIND,
    )


def _of_waiter(facts: GroupFacts, step: _Step, holders: Mapping[Place, frozenset[str]]) -> Finding:
    names = sorted(frozenset[str]().union(*holders.values()))
    held = f"held by {listed(names)}" if names else "which nobody holds"
    return _finding(
        facts,
        step,
        f"{step.member.member_id} waits for {_named(step.places)}, {held}, and nobody has moved for"
        f" {lasting(facts.now_ms - step.since_ms)}",
        blocked=1,
        blockers=len(names),
        try_this=_TRY_HOLDER if names else _TRY_BEHIND,
    )


def _finding(
    facts: GroupFacts, step: _Step, says: str, *, blocked: int, blockers: int, try_this: str
) -> Finding:
    only = step.places[0] if len(step.places) == 1 else None
    limit = (
        f"the rebalance timeout is {lasting(step.timeout_ms)}"
        if step.timeout_ms is not None
        else f"no rebalance timeout is recorded, so {lasting(GRACE_MS)} count"
    )
    return Finding(
        kind=FindingKind.STUCK_RECONCILIATION,
        group=facts.group.group_id,
        topic=only[0] if only else None,
        partition=only[1] if only else None,
        member_id=step.member.member_id,
        since_ms=step.since_ms,
        grade=Grade.RECORDED if step.timeout_ms is not None else Grade.INFERRED,
        evidence=f"{says}; it is at epoch {step.member.epoch} in state {step.found.state}, the target is of"
        f" epoch {facts.group.target_epoch}; {limit}",
        numbers={
            "member_epoch": step.member.epoch,
            "target_epoch": facts.group.target_epoch,
            "partitions": len(step.places),
            "blocked_members": blocked,
            "blockers": blockers,
            "bound_ms": step.bound_ms,
            "stuck_ms": facts.now_ms - step.since_ms,
        },
        try_this=try_this,
    )


def _named(places: Sequence[Place]) -> str:
    return listed([f"{topic}-{partition}" for topic, partition in places]) or "no partition"


def _places(partitions: Sequence[OwnedPartition]) -> tuple[Place, ...]:
    return tuple(sorted((each.topic, each.partition) for each in partitions))
