"""Members of a consumer group: they join, change their subscription, take their assignment, and leave.

Each heartbeat goes three steps: the member's record and the group's epoch, the targets if the epoch has gone
up, and the member's own way to its target. Behaves as GroupMetadataManager of Kafka 4.3.1 (KIP-848).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from enum import Enum
from typing import Final, NamedTuple
from uuid import UUID

from kgroup.assignors.java_order import hash_order, string_hash
from kgroup.assignors.registry import SERVER_ASSIGNORS
from kgroup.group.coordinator.consumer.entries import (
    assignment_entry,
    epoch_entry,
    member_entry,
    member_tombstones,
    partition_metadata_tombstone,
    regex_entry,
    target_entry,
    target_epoch_entry,
)
from kgroup.group.coordinator.consumer.group import ConsumerGroup, hash_of, ids_of, names_of
from kgroup.group.coordinator.consumer.member import (
    AWAY,
    JOINING,
    ConsumerMember,
    MemberState,
    Owned,
    Target,
)
from kgroup.group.coordinator.consumer.plan import Plan
from kgroup.group.coordinator.consumer.reconciliation import reconcile
from kgroup.group.coordinator.consumer.refused import Refused
from kgroup.group.coordinator.consumer.regexes import ResolvedRegex, check_regex, resolve
from kgroup.group.coordinator.consumer.target import next_targets
from kgroup.group.coordinator.metadata_image import MetadataImage
from kgroup.group.coordinator.settings import GroupSettings, SettingsOf
from kgroup.group.coordinator.timers import TimerKey, Timers
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat

E = ErrorCode
SESSION: Final = "consumer-session"
REBALANCE: Final = "consumer-rebalance"  # until then a member has to give up what it was asked for
REGEX: Final = "consumer-regex"  # resolving is work for later, as it is for Kafka's executor
_METADATA_REFRESH_MS: Final = 3_600_000
_REGEX_REFRESH_LEAST_MS: Final = 10_000

_NOBODY: Final = ConsumerMember(member_id="")
Sight = Callable[[str], bool] | None
OwnedPartitions = Mapping[UUID, Collection[int]]


class _Regex(Enum):
    """The effect of this heartbeat on the member's regular expression."""

    SAME = 0
    CHANGED = 1
    CHANGED_AND_RESOLVED = 2


class Subscribed(NamedTuple):
    """A member with what it now wants, and whether that has changed; `epoch` is the group's after it.

    From `looked_at` the assignor hears whether all subscribe to the same: as with Kafka, the members as they
    were before, unless the topics were looked at.
    """

    member: ConsumerMember
    changed: bool
    epoch: int
    looked_at: Mapping[str, ConsumerMember]


class ConsumerRules:
    """Works out plans; keeps no group. `now_ms` is the time of the step."""

    def __init__(
        self,
        settings: GroupSettings,
        settings_of: SettingsOf,
        timers: Timers[TimerKey],
        image: MetadataImage,
        now_ms: Callable[[], int],
    ) -> None:
        self.settings = settings
        self._settings_of = settings_of
        self.image = image
        self._timers = timers
        self._now_ms = now_ms
        self.may_describe: Sight = None
        """The topics that the sender of the request in hand may see; None: all, or it is a classic member."""
        self._sights: dict[str, Sight] = {}  # by group: of the member that asked for the last resolution
        self.topics_made_at = 0
        """The image's version when a topic was last made."""

    # ---- who it is ----------------------------------------------------------------------------

    def check_room(self, group: ConsumerGroup, member_id: str) -> None:
        """Raises Refused (GROUP_MAX_SIZE_REACHED) for one more than the group may have."""
        most = self.settings.consumer_max_size
        if len(group.members) >= most and member_id not in group.members:
            raise Refused(E.GROUP_MAX_SIZE_REACHED, f"The group has reached its limit of {most} members.")

    def dynamic_member(
        self, group: ConsumerGroup, member_id: str, body: ConsumerGroupHeartbeat
    ) -> ConsumerMember:
        """The member of a heartbeat without an instance id, or a new one if it joins."""
        member = group.members.get(member_id)
        if member is None:
            if body.member_epoch != JOINING:
                raise unknown_member(group, member_id)
            member = ConsumerMember(member_id=member_id)
        _check_epoch(member, body)
        return member

    def static_member(
        self, group: ConsumerGroup, member_id: str, body: ConsumerGroupHeartbeat, plan: Plan
    ) -> ConsumerMember:
        """The member that has the instance id, a new one, or one that takes the place of the one before."""
        instance_id = body.instance_id or ""
        known = group.static_member(instance_id)
        if body.member_epoch == JOINING:
            if known is None:
                return group.members.get(member_id) or ConsumerMember(member_id=member_id)
            if known.classic is None and known.member_epoch != AWAY:
                raise Refused(
                    E.UNRELEASED_INSTANCE_ID,
                    f"Member {known.member_id} still has the instance id {instance_id}.",
                )
            return replaced(group, known, member_id, plan)
        member = known_static_member(group, member_id, instance_id)
        _check_epoch(member, body)
        return member

    # ---- what it wants ------------------------------------------------------------------------

    def subscribe(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        updated: ConsumerMember,
        plan: Plan,
        *,
        any_regex_counts: bool = False,
    ) -> Subscribed:
        """Record what has changed about a member, and raise the group's epoch if its topics have.

        An expression that is not resolved yet does not raise it: its resolution will. For classic members
        (`any_regex_counts`) it does, and for whoever comes to a classic group that all have left in its very
        first round, which is at epoch 0.
        """
        names_changed = False
        if updated is not member and updated != member:
            plan.entries.append(member_entry(group.group_id, updated))
            names_changed = updated.topics != member.topics
        regex = self._update_regex(group, member, updated, plan)
        changed = names_changed or regex is not _Regex.SAME
        raises = changed if any_regex_counts else names_changed or regex is _Regex.CHANGED_AND_RESOLVED
        # 0 is the epoch of those who join: nobody can go on with it. Kafka 4.3.1 gives it out all the same.
        raises |= group.epoch == JOINING
        epoch, members = group.epoch, group.members
        if raises or group.metadata_is_old(self._now_ms()):
            members = members_after(group, updated)
            epoch = self._look_at_topics(group, raises, members, plan)
        if any_regex_counts:
            changed = raises
        return Subscribed(member=updated, changed=changed, epoch=epoch, looked_at=members)

    def _look_at_topics(
        self, group: ConsumerGroup, raises: bool, members: Mapping[str, ConsumerMember], plan: Plan
    ) -> int:
        names = names_of(members.values(), group.kept_regexes(members))
        metadata_hash = hash_of(names, self.image)
        epoch = group.epoch
        if raises or metadata_hash != group.metadata_hash:
            epoch += 1
            plan.entries.append(epoch_entry(group.group_id, epoch, metadata_hash))
        self._look_again_later(epoch, plan)
        if group.has_partition_metadata:
            plan.entries.append(partition_metadata_tombstone(group.group_id))
        return epoch

    def _look_again_later(self, epoch: int, plan: Plan) -> None:
        refresh_ms = self._now_ms() + _METADATA_REFRESH_MS

        def set_refresh(live: ConsumerGroup) -> None:
            live.refresh_ms, live.refresh_epoch = refresh_ms, epoch

        plan.afterwards.append(set_refresh)

    # ---- regular expressions ------------------------------------------------------------------

    def _update_regex(
        self, group: ConsumerGroup, member: ConsumerMember, updated: ConsumerMember, plan: Plan
    ) -> _Regex:
        """Check a new expression, forget one that nobody has any more, and see to it that all are resolved.

        All of a group are resolved together, at most every 10 s: when there is a new one, when topics were
        made, and when the last time is `group.consumer.regex.refresh.interval.ms` ago.
        """
        old, new = member.regex, updated.regex
        change = _Regex.SAME
        if old == new and not group.has_regexes:
            return change
        wants_resolution = False
        if old != new:
            change = _Regex.CHANGED
            if old and group.subscribers_of(old) == 1:
                plan.entries.append(regex_entry(group.group_id, old, None))
            if new:
                if group.subscribers_of(new) == 0:
                    check_regex(new)
                    wants_resolution = True
                elif new in group.regexes:
                    change = _Regex.CHANGED_AND_RESOLVED
            elif old:
                change = _Regex.CHANGED_AND_RESOLVED
        wanted = group.wanted_regexes(member, updated)
        if not wanted or self._timers.deadline_ms(TimerKey(REGEX, group.group_id)) is not None:
            return change
        last = next(iter(group.regexes.values()), None)
        if last is not None and self._now_ms() <= last.timestamp_ms + _REGEX_REFRESH_LEAST_MS:
            return change
        interval_ms = self.settings.consumer_regex_refresh_interval_ms
        if (
            wants_resolution
            or last is None
            or len(wanted) != len(group.regexes)
            or last.version < self.topics_made_at
            or self._now_ms() > last.timestamp_ms + interval_ms
        ):
            key = TimerKey(REGEX, group.group_id)
            now_ms = self._now_ms()
            sight = self.may_describe or self._sights.get(group.group_id)

            def resolve_soon(live: ConsumerGroup) -> None:
                self._sights[live.group_id] = sight
                self._timers.schedule(key, now_ms)

            plan.afterwards.append(resolve_soon)
        return change

    def forget(self, group_id: str) -> None:
        """The group is not there any more."""
        self._sights.pop(group_id, None)

    def resolve_regexes(self, group: ConsumerGroup, plan: Plan) -> None:
        """Match all expressions of a group with the topics, and raise its epoch if some match others now.

        Topics that the member which brought it about may not describe count for nobody, as with Kafka.
        """
        wanted = sorted(group.wanted_regexes(_NOBODY, _NOBODY))
        sight = self._sights.get(group.group_id)
        names = self.image.names()
        found = resolve(wanted, names if sight is None else filter(sight, names))
        version, now_ms = self.image.version(), self._now_ms()
        resolved = dict(group.regexes)
        raises = False
        for regex, topics in found.items():
            before = group.regexes.get(regex)
            raises |= topics != (frozenset() if before is None else before.topics)
            resolved[regex] = ResolvedRegex(topics, version, now_ms)
            plan.entries.append(regex_entry(group.group_id, regex, resolved[regex]))
        metadata_hash = hash_of(names_of(group.members.values(), resolved), self.image)
        if raises or metadata_hash != group.metadata_hash:
            epoch = group.epoch + 1
            plan.entries.append(epoch_entry(group.group_id, epoch, metadata_hash))
            self._look_again_later(epoch, plan)

    # ---- what it gets -------------------------------------------------------------------------

    def target_of(self, group: ConsumerGroup, wish: Subscribed, plan: Plan) -> tuple[int, Target]:
        """The epoch and the target to go for; recomputed if the group's epoch is ahead.

        Not before the assignment interval is over (KIP-1263): until then the last one stands.
        """
        updated = wish.member
        if group.assignment_epoch >= wish.epoch or not self._may_assign(group):
            return group.assignment_epoch, last_target(group, updated)
        members = members_after(group, updated)
        present = dict(group.targets)
        previous = group.static_members.get(updated.instance_id) if updated.instance_id is not None else None
        if previous is not None and previous != updated.member_id:
            present[updated.member_id] = group.target(previous)
        old = group.members.get(updated.member_id) or group.static_member(updated.instance_id)
        name = group.next_assignor(old, updated, self.settings.consumer_assignors[0])
        homogeneous = group.is_homogeneous(wish.looked_at)
        targets = next_targets(group, members, present, SERVER_ASSIGNORS[name], homogeneous, self.image)
        for member_id in _in_map_order(targets):
            if targets[member_id] != group.targets.get(member_id):
                plan.entries.append(target_entry(group.group_id, member_id, targets[member_id]))
        plan.entries.append(target_epoch_entry(group.group_id, wish.epoch, self._now_ms()))
        return wish.epoch, targets.get(updated.member_id, {})

    def _may_assign(self, group: ConsumerGroup) -> bool:
        interval_ms = self._settings_of(group.group_id).consumer_assignment_interval_ms
        if group.assignment_timestamp_ms == 0 or interval_ms == 0:
            return True
        return self._now_ms() >= group.assignment_timestamp_ms + interval_ms

    def reconcile(
        self,
        group: ConsumerGroup,
        wish: Subscribed,
        target_epoch: int,
        target: Target,
        owned: OwnedPartitions | None,
        plan: Plan,
    ) -> ConsumerMember:
        """Take a member one step towards its target."""
        member = wish.member
        if not wish.changed and member.is_reconciled_to(target_epoch):
            return member
        updated = reconcile(
            member,
            target_epoch,
            target,
            subscribed=ids_of(group.topics_of(member), self.image),
            resubscribed=wish.changed,
            epoch_of=group.epoch_of,
            owned=owned,
        )
        if updated != member:
            plan.entries.append(assignment_entry(group.group_id, updated))
            if updated.classic is None:  # classic members have deadlines to join and to sync
                plan.afterwards.append(lambda live: self._watch_revocation(live, updated))
        return updated

    def _watch_revocation(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        key = TimerKey(REBALANCE, group.group_id, member.member_id)
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            self._timers.schedule(key, self._now_ms() + member.rebalance_timeout_ms)
        else:
            self._timers.cancel(key)

    # ---- going --------------------------------------------------------------------------------

    def leave_for_a_while(self, group: ConsumerGroup, member: ConsumerMember, plan: Plan) -> None:
        """A static member goes and keeps its place until its session ends."""
        # From epoch 0, so that commits under its old id are refused once it is back (KIP-1251).
        reset: Owned = {
            topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in member.assigned.items()
        }
        away = replace(member, member_epoch=AWAY, assigned=reset, revoking={})
        plan.entries.append(assignment_entry(group.group_id, away))

    def remove(self, group: ConsumerGroup, leaving: Iterable[ConsumerMember], plan: Plan) -> None:
        """Take members out, and their expressions if they were the last to have them."""
        gone = {member.member_id: member for member in leaving}
        for member_id in gone:
            plan.entries += member_tombstones(group.group_id, member_id)
        stay = [member for member_id, member in group.members.items() if member_id not in gone]
        regexes = dict(group.regexes)
        left = {member.regex for member in gone.values() if member.regex}
        for regex in sorted(left - {member.regex for member in stay}):
            plan.entries.append(regex_entry(group.group_id, regex, None))
            regexes.pop(regex, None)
        metadata_hash = hash_of(names_of(stay, regexes), self.image)
        plan.entries.append(epoch_entry(group.group_id, group.epoch + 1, metadata_hash))


# ---- members ----------------------------------------------------------------------------------


def members_after(group: ConsumerGroup, updated: ConsumerMember) -> dict[str, ConsumerMember]:
    """The members with `updated` among them, and without the one whose place it takes."""
    members = dict(group.members)
    if updated.instance_id is not None:
        previous = group.static_members.get(updated.instance_id)
        if previous is not None and previous != updated.member_id:
            members.pop(previous, None)
    members[updated.member_id] = updated
    return members


def last_target(group: ConsumerGroup, member: ConsumerMember) -> Target:
    """The target as it stands: that of the place, for a static member."""
    if member.instance_id is None:
        return group.target(member.member_id)
    previous = group.static_members.get(member.instance_id)
    return {} if previous is None else group.target(previous)


def replaced(group: ConsumerGroup, old: ConsumerMember, member_id: str, plan: Plan) -> ConsumerMember:
    """A static member under its new id, with all that the old one had."""
    new = replace(old, member_id=member_id, member_epoch=JOINING, previous_member_epoch=0)
    plan.entries += member_tombstones(group.group_id, old.member_id)
    plan.entries += (
        member_entry(group.group_id, new),
        target_entry(group.group_id, member_id, group.target(old.member_id)),
        assignment_entry(group.group_id, new),
    )
    return new


def known_static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember:
    """The member with an instance id. Raises Refused if there is none, or another id has taken its place."""
    member = group.static_member(instance_id)
    if member is None:
        raise Refused(E.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise Refused(
            E.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by {member.member_id}.",
        )
    return member


def unknown_member(group: ConsumerGroup, member_id: str) -> Refused:
    """The refusal of a member that the group does not have."""
    return Refused(E.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")


def _check_epoch(member: ConsumerMember, body: ConsumerGroupHeartbeat) -> None:
    """Raises Refused (FENCED_MEMBER_EPOCH) unless the epoch is the member's, or 0 to join again.

    The one before is right, too, as long as it claims nothing that is not its: the answer with the new one
    may have been lost.
    """
    epoch = body.member_epoch
    if epoch in (JOINING, member.member_epoch):
        return
    if epoch > member.member_epoch:
        how = "greater"
    elif epoch == member.previous_member_epoch and _is_within(body.topic_partitions, member.assigned):
        return
    else:
        how = "smaller"
    raise Refused(
        E.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {how} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.member_epoch}). The member must abandon all its partitions and rejoin.",
    )


def _is_within(claimed: tuple[tuple[UUID, tuple[int, ...]], ...] | None, assigned: Owned) -> bool:
    if claimed is None:
        return False
    return all(set(partitions) <= assigned.get(topic_id, {}).keys() for topic_id, partitions in claimed)


def _in_map_order(member_ids: Iterable[str]) -> list[str]:
    return hash_order(list(member_ids), string_hash)
