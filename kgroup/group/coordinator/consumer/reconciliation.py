"""One member's next step towards its target: first what it gives up, then what it gets.

A partition is given to a member only when nobody has it any more: first its owner hears that it has to go,
gives it up and says so; from then on it is free. Behaves as CurrentAssignmentBuilder of Kafka 4.3.1.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final
from uuid import UUID

from kgroup.group.coordinator.consumer.member import ConsumerMember, MemberState, Owned, Target
from kgroup.group.coordinator.consumer.refused import Refused
from kgroup.protocol.error_codes import ErrorCode

FREE: Final = -1
"""The epoch of a partition that nobody has."""


def reconcile(
    member: ConsumerMember,
    target_epoch: int,
    target: Target,
    *,
    subscribed: Collection[UUID],
    resubscribed: bool,
    epoch_of: Callable[[UUID, int], int],
    owned: Mapping[UUID, Collection[int]] | None,
) -> ConsumerMember:
    """The member after this heartbeat; itself, if it has to wait or has arrived.

    `subscribed` are the ids of its topics, `resubscribed` that they have just changed. `epoch_of` tells the
    epoch of a partition's present owner, or FREE. `owned` is what the member says that it has; None if it
    did not say. Raises Refused (FENCED_MEMBER_EPOCH) for a state that this version does not know.
    """
    match member.state:
        case MemberState.STABLE:
            if member.member_epoch == target_epoch:
                return _without_unsubscribed(member, subscribed, owned) if resubscribed else member
        case MemberState.UNREVOKED_PARTITIONS:
            if _still_has(owned, member.revoking):
                return _without_unsubscribed(member, subscribed, owned) if resubscribed else member
        case MemberState.UNRELEASED_PARTITIONS:
            pass
        case MemberState.UNKNOWN:
            if owned is None or owned:
                raise Refused(
                    ErrorCode.FENCED_MEMBER_EPOCH,
                    "The member is in a state that this coordinator does not know; it has to give up all "
                    "partitions and join again.",
                )
    return _next(member, target_epoch, target, subscribed, epoch_of, owned)


def _still_has(owned: Mapping[UUID, Collection[int]] | None, revoking: Owned) -> bool:
    """Whether the member has, or may have, something that it has to give up."""
    if owned is None:
        return True
    return any(
        partition in revoking.get(topic_id, {})
        for topic_id, partitions in owned.items()
        for partition in partitions
    )


def _without_unsubscribed(
    member: ConsumerMember, subscribed: Collection[UUID], owned: Mapping[UUID, Collection[int]] | None
) -> ConsumerMember:
    """Take topics away that it has just unsubscribed from; its epoch stays."""
    gone = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id not in subscribed}
    if not gone:
        return member
    kept = {topic_id: epochs for topic_id, epochs in member.assigned.items() if topic_id not in gone}
    revoking: dict[UUID, Mapping[int, int]] = dict(member.revoking)
    for topic_id, epochs in gone.items():
        revoking[topic_id] = {**revoking.get(topic_id, {}), **epochs}
    if _still_has(owned, revoking):
        return member.at_epoch(member.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoking)
    return member.at_epoch(member.member_epoch, member.state, kept, member.revoking)


def _next(
    member: ConsumerMember,
    target_epoch: int,
    target: Target,
    subscribed: Collection[UUID],
    epoch_of: Callable[[UUID, int], int],
    owned: Mapping[UUID, Collection[int]] | None,
) -> ConsumerMember:
    kept: dict[UUID, dict[int, int]] = {}
    revoking: dict[UUID, dict[int, int]] = {}
    given: dict[UUID, list[int]] = {}
    waits = False
    for topic_id in dict.fromkeys([*target, *member.assigned]):
        wanted = target.get(topic_id, frozenset()) if topic_id in subscribed else frozenset()
        has = member.assigned.get(topic_id, {})
        stays = {partition: epoch for partition, epoch in has.items() if partition in wanted}
        goes = {partition: epoch for partition, epoch in has.items() if partition not in wanted}
        if stays:
            kept[topic_id] = stays
        if goes:
            revoking[topic_id] = goes
        for partition in sorted(wanted - has.keys()):
            # What this member gives up itself is free for it: nobody else can have it.
            own = partition in member.revoking.get(topic_id, {})
            if own or epoch_of(topic_id, partition) == FREE:
                given.setdefault(topic_id, []).append(partition)
            else:
                waits = True
    if revoking and _still_has(owned, revoking):
        return member.at_epoch(member.member_epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoking)
    for topic_id, partitions in given.items():
        kept[topic_id] = {**kept.get(topic_id, {}), **dict.fromkeys(partitions, target_epoch)}
    state = MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE
    return member.at_epoch(target_epoch, state, kept, {})
