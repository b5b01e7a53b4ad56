"""Groups that change protocol while they have members (KIP-848, online upgrade and downgrade).

Up, when the first member of the consumer protocol joins a classic group of consumers; down, when the last one
of them goes. Behaves as GroupMetadataManager of Kafka 4.3.1.
"""

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from kgroup.errors import DecodeError
from kgroup.group.coordinator.classic.group import ClassicGroup, Member
from kgroup.group.coordinator.classic.groups import ClassicGroups
from kgroup.group.coordinator.consumer.entries import (
    assignment_entry,
    epoch_entry,
    group_tombstones,
    member_entry,
    target_entry,
    target_epoch_entry,
)
from kgroup.group.coordinator.consumer.group import ConsumerGroup, hash_of
from kgroup.group.coordinator.consumer.member import ConsumerMember, Target
from kgroup.group.coordinator.consumer.plan import Plan
from kgroup.group.coordinator.consumer.refused import Refused
from kgroup.group.coordinator.metadata_image import MetadataImage
from kgroup.group.coordinator.settings import DOWNGRADES, UPGRADES, GroupSettings
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.consumer_group import ClassicMemberMetadata, ClassicProtocol
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.subscription import (
    Assignment,
    NamedTopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)

E = ErrorCode
LAST_ONE_GONE: Final = "the group's last member of the consumer protocol is gone"
"""Why a group that has become classic rebalances."""


class Migration:
    """Turns classic groups into consumer groups and back, as far as the policy lets it."""

    def __init__(self, settings: GroupSettings, classic: ClassicGroups, image: MetadataImage) -> None:
        self._settings = settings
        self._classic = classic
        self._image = image

    # ---- up -----------------------------------------------------------------------------------

    def upgraded(self, group_id: str, plan: Plan) -> ConsumerGroup:
        """The consumer group of a classic group that is not Empty: all members are Stable with what they had.

        Members that wait in a rebalance hear REBALANCE_IN_PROGRESS, as with Kafka even if the newcomer is
        refused for what its group or itself turns out to be. Raises Refused: GROUP_ID_NOT_FOUND for a group
        that cannot be upgraded, UNKNOWN_SERVER_ERROR for one whose members have not chosen a protocol yet.
        """
        classic = self._classic.watched(group_id)
        assert classic is not None
        if self._settings.consumer_migration_policy not in UPGRADES:
            raise _no_upgrade(group_id, "online upgrade is disabled")
        if not classic.uses_consumer_protocol:
            raise _no_upgrade(group_id, "the group does not use the consumer embedded protocol")
        if len(classic.members) > self._settings.consumer_max_size:
            raise _no_upgrade(group_id, "it is larger than a consumer group may be")
        self._classic.send_back(group_id, E.REBALANCE_IN_PROGRESS)
        group = self._consumer_group_of(classic)
        plan.before.append(lambda: self._classic.abandon(group_id))
        plan.entries += self._classic.tombstones(group_id)
        plan.entries += _creation(group)
        return group

    def _consumer_group_of(self, classic: ClassicGroup) -> ConsumerGroup:
        group = ConsumerGroup(classic.group_id)
        group.epoch = group.assignment_epoch = classic.generation_id
        for member in classic.members.values():
            if classic.protocol_name is None:
                # Its first round is on: `ConsumerGroup.fromClassicGroup` of 4.3.1 fails on the first
                # member, and has no words for it. A round that all have left has none to fail on.
                raise Refused(E.UNKNOWN_SERVER_ERROR, "")
            try:
                upgraded, target = self._upgraded_member(member, classic.protocol_name, classic.generation_id)
            except DecodeError as error:
                why = f"the embedded consumer protocol is malformed: {error}"
                raise _no_upgrade(classic.group_id, why) from error
            group.targets[member.member_id] = target
            group.put(upgraded)
        group.metadata_hash = hash_of(group.subscribed_names(), self._image)
        return group

    def _upgraded_member(self, member: Member, protocol: str, epoch: int) -> tuple[ConsumerMember, Target]:
        target: dict[UUID, frozenset[int]] = {}
        if member.assignment:  # none yet, if it has never synced
            assignment = decode_assignment(member.assignment)
            if assignment.user_data:
                raise Refused(
                    E.GROUP_ID_NOT_FOUND,
                    "Cannot upgrade: a custom assignor is in use, and its user data would be lost.",
                )
            for named in assignment.assigned_partitions:
                topic = self._image.topic(named.topic)
                if topic is not None:
                    target[topic.topic_id] = frozenset(named.partitions)
        subscription = decode_subscription(member.metadata(protocol))
        upgraded = ConsumerMember(
            member_id=member.member_id,
            member_epoch=epoch,
            previous_member_epoch=epoch,
            instance_id=member.group_instance_id,
            rack_id=subscription.rack,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            client_id=member.client_id,
            client_host=member.client_host,
            topics=frozenset(subscription.topics),
            assigned={
                topic_id: dict.fromkeys(sorted(partitions), epoch) for topic_id, partitions in target.items()
            },
            classic=ClassicMemberMetadata(
                session_timeout_ms=member.session_timeout_ms,
                supported_protocols=tuple(
                    ClassicProtocol(name=name, metadata=metadata) for name, metadata in member.protocols
                ),
            ),
        )
        return upgraded, target

    # ---- down ---------------------------------------------------------------------------------

    def may_downgrade_by_replacing(self, group: ConsumerGroup, static: ConsumerMember) -> bool:
        """A classic member takes the place of the last one that speaks the consumer protocol."""
        return (
            static.classic is None
            and group.is_classic_without((static,))
            and self._settings.consumer_migration_policy in DOWNGRADES
            and len(group.members) <= self._settings.max_size
        )

    def may_downgrade_without(self, group: ConsumerGroup, leaving: Iterable[ConsumerMember]) -> bool:
        """Whether the leaving members are the last that speak the consumer protocol, and others stay."""
        gone = list(leaving)
        stay = len(group.members) - len(gone)
        return (
            group.is_classic_without(gone)
            and stay > 0
            and self._settings.consumer_migration_policy in DOWNGRADES
            and stay <= self._settings.max_size
        )

    def downgrade(
        self,
        group: ConsumerGroup,
        leaving: Iterable[ConsumerMember],
        joining: ConsumerMember | None,
        rebalances: bool,
        plan: Plan,
    ) -> None:
        """Make the group a classic one of those who stay, each with its target for an assignment.

        A `joining` static member has taken the place of another, in records that stand in the plan already.
        """
        instance_id = None if joining is None else joining.instance_id
        before = group.static_members.get(instance_id) if instance_id is not None else None
        swapped = {before: joining.member_id} if joining is not None and before is not None else {}
        plan.entries += group_tombstones(group, swapped)
        gone = {member.member_id for member in leaving} | ({before} if before is not None else set())
        stay = [member for member_id, member in group.members.items() if member_id not in gone]
        if joining is not None:
            stay.append(joining)
        targets = {member.member_id: group.target(member.member_id) for member in stay}
        if joining is not None and before is not None:
            targets[joining.member_id] = group.target(before)
        classic = self._classic_group_of(group, stay, targets)
        assignments = {member_id: member.assignment for member_id, member in classic.members.items()}
        plan.entries.append(classic.record(assignments))
        group_id = group.group_id
        why = LAST_ONE_GONE if rebalances else None
        plan.afterwards.append(lambda live: self._classic.adopt(group_id, classic, why))

    def _classic_group_of(
        self, group: ConsumerGroup, stay: Iterable[ConsumerMember], targets: Mapping[str, Target]
    ) -> ClassicGroup:
        classic = self._classic.new_group(group.group_id)
        classic.generation_id = group.epoch
        for each in stay:
            assert each.classic is not None
            member = Member(
                member_id=each.member_id,
                group_instance_id=each.instance_id,
                client_id=each.client_id,
                client_host=each.client_host,
                rebalance_timeout_ms=each.rebalance_timeout_ms,
                session_timeout_ms=each.classic.session_timeout_ms,
                protocols=tuple((known.name, known.metadata) for known in each.classic.supported_protocols),
            )
            classic.add(member, "consumer")
        classic.protocol_name = classic.choose_protocol()
        for member in classic.members.values():
            subscription = member.metadata(classic.protocol_name)
            member.assignment = assignment_bytes(targets[member.member_id], subscription, self._image)
        return classic


def assignment_bytes(owned: Mapping[UUID, Iterable[int]], subscription: bytes, image: MetadataImage) -> bytes:
    """A classic member's partitions, as an assignment of the version of its own subscription."""
    named = [
        NamedTopicPartitions(topic=name, partitions=tuple(sorted(partitions)))
        for topic_id, partitions in owned.items()
        if (name := image.name_of(topic_id)) is not None
    ]
    named.sort(key=lambda each: each.topic)
    version = decode_subscription(subscription).version
    return encode_assignment(Assignment(assigned_partitions=tuple(named)), version)


def _creation(group: ConsumerGroup) -> list[OffsetsEntry]:
    """The records of a group that comes up with its members."""
    group_id = group.group_id
    members = list(group.members.values())
    return [
        *(member_entry(group_id, member) for member in members),
        epoch_entry(group_id, group.epoch, group.metadata_hash),
        *(target_entry(group_id, member.member_id, group.target(member.member_id)) for member in members),
        target_epoch_entry(group_id, group.assignment_epoch, group.assignment_timestamp_ms),
        *(assignment_entry(group_id, member) for member in members),
    ]


def _no_upgrade(group_id: str, why: str) -> Refused:
    return Refused(E.GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group {group_id}: {why}.")
