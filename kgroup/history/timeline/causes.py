"""Causes of generations: the differences from the one before, explained by records where they say it.

One round can have several causes, since a coordinator gathers what happens until all members have rejoined.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Cause, CauseKind, Grade, Moved, Partition, Roster, TimelineMember

_REMEDY_STATIC = "group.instance.id (static membership), and a session timeout longer than a restart takes."
_REMEDY_COOPERATIVE = (
    "Cooperative assignment (cooperative-sticky, or the consumer protocol) lets the others keep reading."
)


def member_changes(
    previous: Roster, current: Roster
) -> tuple[tuple[TimelineMember, ...], tuple[TimelineMember, ...], tuple[tuple[str, str], ...]]:
    """Members that joined, those that are gone, and static ones that came back under a new id (old, new)."""
    before = {member.member_id: member for member in previous.members}
    now = {member.member_id: member for member in current.members}
    gone = {member_id: member for member_id, member in before.items() if member_id not in now}
    come = {member_id: member for member_id, member in now.items() if member_id not in before}
    gone_by_instance = {
        member.instance_id: member_id for member_id, member in gone.items() if member.instance_id
    }
    replaced = tuple(
        (gone_by_instance[member.instance_id], member_id)
        for member_id, member in come.items()
        if member.instance_id and member.instance_id in gone_by_instance
    )
    for old, new in replaced:
        del gone[old], come[new]
    return tuple(come.values()), tuple(gone.values()), replaced


def moves(
    previous: Roster, current: Roster, replaced: Iterable[tuple[str, str]], earlier: Roster | None = None
) -> Moved:
    """Partitions that changed hands; a static member that came back keeps what it had.

    `earlier` is the generation before the `previous` one: what a cooperative member had to give up after it
    moves when the next generation hands it to another (KIP-429).
    """
    renamed = dict(replaced)
    before = {
        partition: renamed.get(member.member_id, member.member_id)
        for member in previous.members
        for partition in member.owned
    }
    now = {partition: member.member_id for member in current.members for partition in member.owned}
    readers = _readers(current)
    withheld = _readers(earlier) if earlier is not None and previous.members else {}
    gained: defaultdict[str, list[Partition]] = defaultdict(list)
    lost: defaultdict[str, list[Partition]] = defaultdict(list)
    moved = kept = 0
    for partition in sorted(before.keys() | now.keys()):
        old, new = before.get(partition), now.get(partition)
        if old == new:
            kept += 1
            continue
        if new is not None:
            moved += old is not None or withheld.get(partition) not in (None, readers[partition])
            gained[new].append(partition)
        if old is not None:
            lost[old].append(partition)
    return Moved(
        {member: tuple(partitions) for member, partitions in gained.items()},
        {member: tuple(partitions) for member, partitions in lost.items()},
        moved,
        kept,
    )


def _readers(roster: Roster) -> dict[Partition, str]:
    """The owner of each partition, by a name that outlives a restart where there is one."""
    return {
        partition: member.instance_id or member.member_id
        for member in roster.members
        for partition in member.owned
    }


def joins(joined: Iterable[TimelineMember], previous: Roster | None) -> list[Cause]:
    """Members that a record names for the first time."""
    ids = tuple(member.member_id for member in joined)
    if not ids:
        return []
    names = ", ".join(sorted({member.client_id for member in joined}))
    if previous is None or not previous.members:
        return [
            Cause(
                kind=CauseKind.FIRST_JOIN,
                grade=Grade.RECORDED,
                member_ids=ids,
                evidence=f"the group had no members; {names} joined",
            )
        ]
    return [
        Cause(
            kind=CauseKind.JOIN,
            grade=Grade.RECORDED,
            member_ids=ids,
            evidence=f"{names} joined",
            remedy=None if previous.protocol == "cooperative-sticky" else _REMEDY_COOPERATIVE,
        )
    ]


def static_restart(old: str, new: TimelineMember) -> Cause:
    """A static member under a new id: one that joins without an id while the old one counts as a member.

    Kafka's consumer does so after a restart, and when it polls again after max.poll.interval.ms: a static
    member sends no LeaveGroup then, and forgets its id. The process that had the id before is fenced off.
    A client of a newer protocol, whose session timeout is the broker's, has one id as long as it lives, and
    gets the place of another only after that has left with epoch −2 (KIP-848; else UNRELEASED_INSTANCE_ID).
    """
    if new.session_timeout_ms is None:
        why, remedy = "another client took its place, after the one before had left to come back", None
    else:
        why = "it restarted, or polled again after max.poll.interval.ms, or a second process has"
        why += " its instance id"
        remedy = (
            "If nobody restarted it: raise max.poll.interval.ms above the time the longest batch takes,"
            " and give every process its own group.instance.id."
        )
    return Cause(
        kind=CauseKind.STATIC_RESTART,
        grade=Grade.RECORDED,
        member_ids=(old, new.member_id),
        evidence=f"instance {new.instance_id} has a new member id: {why}",
        remedy=remedy,
    )


def subscription_changes(previous: Roster, current: Roster) -> list[Cause]:
    """Members that stayed and subscribe to other topics than before."""
    before = {member.member_id: member for member in previous.members}
    changes = []
    for member in current.members:
        old = before.get(member.member_id)
        if old is None or old.subscribed is None or member.subscribed is None:
            continue
        more, fewer = member.subscribed - old.subscribed, old.subscribed - member.subscribed
        if more or fewer or member.regex != old.regex:
            change = " ".join(
                [*(f"+{topic}" for topic in sorted(more)), *(f"-{topic}" for topic in sorted(fewer))]
            )
            changes.append(
                Cause(
                    kind=CauseKind.SUBSCRIPTION_CHANGED,
                    grade=Grade.RECORDED,
                    member_ids=(member.member_id,),
                    evidence=f"{member.client_id} subscribes to {change or 'another pattern'}",
                )
            )
    return changes


def assignor_change(previous: Roster, current: Roster) -> list[Cause]:
    """The members agreed on another assignor."""
    if not previous.members or not current.members or previous.protocol == current.protocol:
        return []
    if current.kind is not GroupKind.CLASSIC or previous.kind is not GroupKind.CLASSIC:
        return []
    return [
        Cause(
            kind=CauseKind.ASSIGNOR_CHANGED,
            grade=Grade.RECORDED,
            evidence=f"protocol {previous.protocol} became {current.protocol}",
        )
    ]


def topic_growth(previous: Roster, current: Roster, known_counts: Mapping[str, int]) -> list[Cause]:
    """Topics with more partitions assigned than ever before.

    `known_counts`: highest partition number seen so far plus one, by topic. Only where the topic was
    assigned without a hole before and is now: a leader hands out every partition that it sees.
    """
    before, now = _numbers(previous), _numbers(current)
    growths = []
    for topic, numbers in sorted(now.items()):
        count = len(numbers)
        old = known_counts.get(topic, 0)
        if count > old and old == len(before.get(topic, ())) > 0 and numbers == set(range(count)):
            growths.append(
                Cause(
                    kind=CauseKind.TOPIC_GREW,
                    grade=Grade.INFERRED,
                    evidence=f"{topic}: partitions 0 to {old - 1} were assigned, now 0 to {count - 1}",
                )
            )
    return growths


def cooperative_follow_up(before: Roster | None, previous: Roster, current: Roster) -> list[Cause]:
    """The second round of a cooperative rebalance, which hands out what the first took away (KIP-429)."""
    if before is None or current.protocol != "cooperative-sticky" or previous.protocol != current.protocol:
        return []
    revoked = _all_owned(before) - _all_owned(previous)
    given = revoked & _all_owned(current)
    if not given:
        return []
    handed_out = (
        "1 partition that the round before took away was"
        if len(given) == 1
        else f"{len(given)} partitions that the round before took away were"
    )
    return [
        Cause(
            kind=CauseKind.COOPERATIVE_FOLLOW_UP,
            grade=Grade.INFERRED,
            evidence=f"{handed_out} handed out",
        )
    ]


def rejoined_after_a_move(previous: Roster, current: Roster) -> Cause | None:
    """The same members, and another coordinator since the round before; None if it is the same.

    A coordinator that takes over loads the last finished round. One that was under way is lost with its
    parked joins, and whoever was in it joins again.
    """
    before, now = previous.leader_epoch, current.leader_epoch
    if (
        before is None
        or now is None
        or before == now
        or previous.offsets_partition != current.offsets_partition
    ):
        return None
    return Cause(
        kind=CauseKind.COORDINATOR_MOVED,
        grade=Grade.INFERRED,
        evidence="the members and what they subscribe to are the same as before, and since then the offsets"
        f" partition has leader epoch {now} instead of {before}: they joined again with the new coordinator",
        remedy="Look at the brokers at that time: another one took over the offsets partition, or the same"
        " one restarted.",
    )


def readiness(previous: Roster, current: Roster) -> Cause | None:
    """The same members, and what their broker assigns has changed; None if the records do not say so.

    A share group's partitions are assigned once their state is set up (KIP-932), a streams group's tasks
    once its internal topics are there (KIP-1071). Both raise the epoch, and so does any other change of what
    the metadata hash covers: from Kafka 4.1 on, of a group that had a hash before.
    """
    if previous.kind is not current.kind:
        return None
    if ready := current.share_state - previous.share_state:
        topics = ", ".join(sorted({partition.topic for partition in ready}))
        return Cause(
            kind=CauseKind.SHARE_STATE_READY,
            grade=Grade.RECORDED,
            evidence=f"the share state of {topics} ({len(ready)} partitions) was set up, so that they can be"
            " assigned",
        )
    if current.validated_topology > previous.validated_topology:
        return Cause(
            kind=CauseKind.TOPOLOGY_READY,
            grade=Grade.RECORDED,
            evidence=f"topology epoch {current.validated_topology} has all its topics, so that its tasks can"
            " be assigned",
        )
    if previous.metadata_hash not in (0, current.metadata_hash):
        return Cause(
            kind=CauseKind.METADATA_CHANGED,
            grade=Grade.RECORDED,
            evidence="the metadata hash of the subscribed topics changed: one was created or deleted, or its"
            " partitions or racks changed",
        )
    return None


def unexplained(current: Roster, unfinished: int) -> Cause:
    """The same members with the same subscriptions, and yet a new generation."""
    evidence = "the members and what they subscribe to are the same as before"
    alternatives: tuple[CauseKind, ...] = (CauseKind.LEADER_REJOINED,)
    if current.kind is not GroupKind.CLASSIC:
        # Nobody leads, and before Kafka 4.1 no record has a hash of what brokers know.
        evidence += ", as far as the log shows"
        alternatives = ()
    elif unfinished:
        evidence += f"; {unfinished} generations between ended without an assignment"
        alternatives = (CauseKind.LEADER_REJOINED, CauseKind.JOIN, CauseKind.MEMBER_GONE)
    return Cause(
        kind=CauseKind.UNEXPLAINED,
        grade=Grade.UNKNOWN,
        evidence=evidence,
        alternatives=alternatives,
        remedy=_REMEDY_STATIC if unfinished else None,
    )


def _numbers(roster: Roster) -> dict[str, set[int]]:
    numbers: defaultdict[str, set[int]] = defaultdict(set)
    for partition in _all_owned(roster):
        numbers[partition.topic].add(partition.partition)
    return dict(numbers)


def _all_owned(roster: Roster) -> set[Partition]:
    return {partition for member in roster.members for partition in member.owned}
