"""Target assignments of consumer groups, held against what their members subscribe to.

The assignor chooses which member gets a partition. It has no choice in that each goes to one member, which
subscribes to the topic. A target that was worked out for other subscriptions shows here, long before a
partition stays without a reader.
"""

from collections.abc import Iterator
from uuid import UUID

from kgroup.group.coordinator.consumer.group import ConsumerGroup, hash_of
from kgroup.group.coordinator.consumer.member import ConsumerMember
from kgroup.group.coordinator.metadata_image import MetadataImage
from kgroup.sim.watch.coordinators import CoordinatorChecker, Scene
from kgroup.sim.watch.result import TARGETS_FIT


class TargetsFit(CoordinatorChecker):
    """Each partition of a group's topics is in one target, of a member that subscribes (targets-fit)."""

    def __init__(self, scene: Scene, image: MetadataImage) -> None:
        super().__init__(scene)
        self._image = image

    def look(self, now_ms: int, is_awake: bool) -> None:
        """All groups whose targets are of today."""
        for group in self.scene.consumer_groups():
            for why in misfits(group, self._image):
                self.scene.report(TARGETS_FIT, f"{group.group_id}: {why}")


def misfits(group: ConsumerGroup, image: MetadataImage) -> Iterator[str]:
    """What is wrong with the targets of a group, in words; nothing while they are not of today."""
    if not _is_of_today(group, image):
        return
    owners: dict[tuple[UUID, int], str] = {}
    wanted: dict[UUID, tuple[str, int]] = {}
    for member in group.members.values():
        subscribed = set()
        for name in group.topics_of(member):
            topic = image.topic(name)
            if topic is not None:
                subscribed.add(topic.topic_id)
                wanted[topic.topic_id] = (name, topic.partitions)
        for topic_id, partitions in group.target(member.member_id).items():
            if topic_id not in subscribed and not _raises_no_epoch(member):
                name = image.name_of(topic_id) or str(topic_id)
                yield f"the target of {member.member_id} has {name}, to which it does not subscribe"
            for partition in sorted(partitions):
                owner = owners.setdefault((topic_id, partition), member.member_id)
                if owner != member.member_id:
                    what = f"{image.name_of(topic_id)}-{partition}"
                    yield f"{what} is in the targets of {owner} and {member.member_id}"
    if not owners and any(_raises_no_epoch(member) for member in group.members.values()):
        return
    for topic_id, (name, partitions_there) in sorted(wanted.items(), key=lambda each: each[1]):
        nobodys = [partition for partition in range(partitions_there) if (topic_id, partition) not in owners]
        if nobodys:
            yield f"{name}: nobody's target has {' '.join(map(str, nobodys))}"


def _raises_no_epoch(member: ConsumerMember) -> bool:
    """Whether a member subscribes to nothing, so that nothing shows that it has come.

    If the epoch is ahead of the targets then, since another has left, they are worked out with it: and Kafka
    looks anew at whether all subscribe to the same only where it raises the epoch. Its assignor is told that
    they do. It takes what they subscribe to from the first that it comes upon: if that is the newcomer,
    nobody gets anything, and else the newcomer gets a share of what the others read, of which it is never
    told. Either lasts until the next epoch. As a broker of 4.3.1, asked the same (fixtures/conformance,
    `joins_without_topics`).
    """
    return not member.topics and not member.regex


def _is_of_today(group: ConsumerGroup, image: MetadataImage) -> bool:
    """Whether the targets were worked out for the subscriptions and the topics as they are now.

    They are not while the assignment interval runs, before a change of the topics has been noticed, and
    between the change of an expression and its resolution. One that matches nothing raises no epoch. Nor does
    the static member of a classic group that comes back by the other protocol with the subscription it had:
    the upgraded group goes on with what the classic leader assigned, with Kafka 4.3.1, too.
    """
    was_worked_out_here = group.assignment_timestamp_ms != 0
    return (
        was_worked_out_here
        and group.assignment_epoch == group.epoch
        and all(
            member.regex in group.regexes and bool(group.regexes[member.regex].topics)
            for member in group.members.values()
            if member.regex
        )
        and group.metadata_hash == hash_of(group.subscribed_names(), image)
    )
