"""Describes a consumer group for ConsumerGroupDescribe."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from kgroup.assignors.java_order import sorted_strings
from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import ConsumerMember
from kgroup.group.coordinator.metadata_image import MetadataImage
from kgroup.protocol.requests.consumer_group import (
    CLASSIC_MEMBER,
    CONSUMER_MEMBER,
    AssignedTopic,
    ConsumerAssignment,
    DescribedConsumerGroup,
    DescribedConsumerMember,
)


def described(group: ConsumerGroup, default_assignor: str, image: MetadataImage) -> DescribedConsumerGroup:
    """The group with its members; topics that are gone are left out."""
    return DescribedConsumerGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.assignor(default_assignor),
        members=[_member(group, member, image) for member in group.members.values()],
    )


def _member(group: ConsumerGroup, member: ConsumerMember, image: MetadataImage) -> DescribedConsumerMember:
    has: dict[UUID, set[int]] = {}
    for owned in (member.assigned, member.revoking):
        for topic_id, partitions in owned.items():
            has.setdefault(topic_id, set()).update(partitions)
    return DescribedConsumerMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted_strings(member.topics),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(has, image),
        target_assignment=_assignment(group.target(member.member_id), image),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _assignment(owned: Mapping[UUID, Iterable[int]], image: MetadataImage) -> ConsumerAssignment:
    return ConsumerAssignment(
        topic_partitions=[
            AssignedTopic(topic_id=topic_id, topic_name=name, partitions=sorted(partitions))
            for topic_id, partitions in owned.items()
            if (name := image.name_of(topic_id)) is not None
        ]
    )
