"""The offsets topic itself, and groups that fill it."""

from itertools import count

from kgroup.protocol.group_hash import partition_for
from kgroup.protocol.records.entries import RecordType
from kgroup.protocol.records.keys import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
)
from tests.incidents.world import World


def log_that_no_broker_loads(world: World) -> None:
    """Compaction has left a consumer group's tombstones and nothing before them.

    Brokers before KAFKA-17306 was mended (`GroupMetadataManager.replay` of a tombstone asks for the group,
    and throws GroupIdNotFoundException) fail to load the partition: NOT_COORDINATOR for its groups.
    """
    world.topic("plain", 2, 1)
    group = world.group("beside", "plain")
    names = (f"gone-{number}" for number in count())
    gone = next(name for name in names if partition_for(name) == partition_for(group.name))
    member = "Zk3mQ8VJQ0a6U1yqDqk7-w"
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=gone, member_id=member)
    of_member = ConsumerGroupMemberMetadataKey(group_id=gone, member_id=member)
    world.append(
        gone,
        (RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, key, None),
        (RecordType.CONSUMER_GROUP_MEMBER_METADATA, of_member, None),
        (RecordType.CONSUMER_GROUP_METADATA, ConsumerGroupMetadataKey(group_id=gone), None),
    )
    began = world.now_ms
    group.start_all("beside-1")
    world.run(360)
    (first, *_) = world.offsets[partition_for(group.name)]
    world.proven("its first records are tombstones", all(value is None for _, value in first.records))
    world.wrong(group.name, "unloadable-log", began)


def cleaner_is_dead(world: World) -> None:
    """One offsets partition grows and grows: nearly all of it is older commits of the same keys."""
    world.topic("busy", 20, 3)
    group = world.group("committer", "busy")
    began = world.now_ms
    group.start_all("committer-1", commit_s=1)
    world.run(1800, 1000)
    records = sum(len(batch.records) for batches in world.offsets.values() for batch in batches)
    world.proven("a thousand values of each key", records > 20 * 1000)
    world.wrong(group.name, "cleaner-dead", began)


def commits_of_the_idle(world: World) -> None:
    """Nothing is written to the topic, and the group commits the same offsets every second."""
    topic = world.topic("sleepy", 12, 1)
    group = world.group("insomniac", "sleepy")
    group.start_all("insomniac-1", library="java", commit_s=1)
    world.run(300)
    topic.write(0)
    began = world.now_ms
    world.run(3600, 1000)
    world.proven("nothing is new", group.lag(("sleepy", 0)) == 0)
    world.wrong(group.name, "idle-commits", began)
