"""Computes every member's next target with the assignor that most of them ask for."""

from collections.abc import Mapping
from uuid import UUID

from kgroup.assignors.model import AssignorError, ServerAssignor, TargetMember, Topic
from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import ConsumerMember, Target
from kgroup.group.coordinator.consumer.refused import Refused
from kgroup.group.coordinator.metadata_image import MetadataImage
from kgroup.protocol.error_codes import ErrorCode


def next_targets(
    group: ConsumerGroup,
    members: Mapping[str, ConsumerMember],
    present: Mapping[str, Target],
    assignor: ServerAssignor,
    homogeneous: bool,
    image: MetadataImage,
) -> dict[str, Target]:
    """The targets of `members`, whose targets at present are `present`; the group knows their expressions.

    Raises Refused (UNKNOWN_SERVER_ERROR) where Kafka's assignor throws.
    """
    topics: dict[str, Topic] = {}
    for member in members.values():
        for name in group.topics_of(member):
            there = image.topic(name)
            if there is not None:
                topics[name] = Topic(name=name, partitions=there.partitions, topic_id=there.topic_id)
    names: dict[UUID, str] = {topic.topic_id: name for name, topic in topics.items() if topic.topic_id}
    for target in present.values():
        for topic_id in target:
            if topic_id not in names:
                names[topic_id] = _other_topic(topic_id, topics, image)
    asked = [
        TargetMember(
            member_id=member_id,
            topics=tuple(sorted(group.topics_of(member))),
            group_instance_id=member.instance_id,
            assigned={
                names[topic_id]: sorted(partitions)
                for topic_id, partitions in present.get(member_id, {}).items()
            },
        )
        for member_id, member in members.items()
    ]
    try:
        assignment = assignor.assign(asked, list(topics.values()), homogeneous=homogeneous)
    except AssignorError as error:
        raise Refused(
            ErrorCode.UNKNOWN_SERVER_ERROR, f"Failed to compute a new target assignment: {error}"
        ) from error
    ids = {name: topic_id for topic_id, name in names.items()}
    return {
        member_id: {
            ids[name]: frozenset(partitions)
            for name, partitions in assignment.get(member_id, {}).items()
            if partitions
        }
        for member_id in members
    }


def _other_topic(topic_id: UUID, topics: dict[str, Topic], image: MetadataImage) -> str:
    """A topic that is assigned and not subscribed: one to be taken away, or one that is deleted."""
    name = image.name_of(topic_id)
    there = image.topic(name) if name is not None else None
    if name is None or there is None:
        name = f"deleted {topic_id}"  # no topic can have such a name
        topics[name] = Topic(name=name, partitions=0, topic_id=topic_id, deleted=True)
    else:
        topics[name] = Topic(name=name, partitions=there.partitions, topic_id=topic_id)
    return name
