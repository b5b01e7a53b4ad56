"""The offsets topic itself, and groups that fill it."""

from kgroup.protocol.records.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
)
from kgroup.protocol.records.entries import RecordType
from kgroup.protocol.records.keys import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
)
from tests.incidents.world import World


def log_that_no_broker_loads(world: World) -> None:
    """Members of a consumer group come before the group's own record: as they are replayed, it is unknown."""
    world.topic("plain", 2, 1)
    group = world.group("beside", "plain")
    group.start_all("beside-1")
    world.run(300)
    began = world.now_ms
    member = "Zk3mQ8VJQ0a6U1yqDqk7-w"
    world.append(
        group.name + "-modern",
        (
            RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
            ConsumerGroupCurrentMemberAssignmentKey(group_id=group.name + "-modern", member_id=member),
            ConsumerGroupCurrentMemberAssignmentValue(
                member_epoch=4,
                previous_member_epoch=3,
                state=0,
                assigned_partitions=(),
                partitions_pending_revocation=(),
            ),
        ),
        (
            RecordType.CONSUMER_GROUP_MEMBER_METADATA,
            ConsumerGroupMemberMetadataKey(group_id=group.name + "-modern", member_id=member),
            ConsumerGroupMemberMetadataValue(
                instance_id=None,
                rack_id=None,
                client_id="modern-1",
                client_host="/10.0.0.9",
                subscribed_topic_names=("plain",),
                subscribed_topic_regex=None,
                rebalance_timeout_ms=300_000,
                server_assignor="uniform",
                classic_member_metadata=None,
            ),
        ),
    )
    world.run(60)
    world.proven("no record of the group's epoch comes before, or ever", True)
    world.wrong(group.name + "-modern", "unloadable-log", began)


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
