"""The offsets topic itself, and groups that fill it."""

from itertools import count

from kgroup.protocol.group_hash import partition_for
from kgroup.protocol.records.entries import RecordType
from kgroup.protocol.records.keys import StreamsGroupMemberMetadataKey, StreamsGroupMetadataKey
from kgroup.protocol.records.streams_group import StreamsGroupMemberMetadataValue, StreamsGroupMetadataValue
from tests.incidents.world import World


def log_that_no_broker_loads(world: World) -> None:
    """An application moved to the streams protocol, and compaction took the tombstone of its classic group.

    Its old commits come before its new records. Kafka 4.1 and 4.2.0 (KAFKA-20254) make a classic group of the
    commits, fail at the streams group's first record, and answer NOT_COORDINATOR to all groups beside it.
    """
    world.kafka = "4.2.0"
    world.topic("plain", 2, 1)
    group = world.group("beside", "plain")
    names = (f"moved-{number}" for number in count())
    moved = next(name for name in names if partition_for(name) == partition_for(group.name))
    began = world.now_ms
    world.commit(moved, ("plain", 0, 0), ("plain", 1, 0))
    member = "Zk3mQ8VJQ0a6U1yqDqk7-w"
    of_member = StreamsGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="moved-1",
        client_host="/10.0.0.1",
        topology_epoch=0,
        process_id="Zk3mQ8VJQ0a6U1yqDqk7-x",
        user_endpoint=None,
        client_tags=(),
    )
    world.append(
        moved,
        (
            RecordType.STREAMS_GROUP_MEMBER_METADATA,
            StreamsGroupMemberMetadataKey(group_id=moved, member_id=member),
            of_member,
        ),
        (
            RecordType.STREAMS_GROUP_METADATA,
            StreamsGroupMetadataKey(group_id=moved),
            StreamsGroupMetadataValue(epoch=1, metadata_hash=0),
        ),
    )
    group.start_all("beside-1")
    world.run(360)
    first, second, *_ = world.offsets[partition_for(group.name)]
    world.proven("its commits come before it", len(first.records) == len(second.records) == 2)
    world.wrong(group.name, "unloadable-log", began)


def cleaner_is_dead(world: World) -> None:
    """Segment after segment is closed and never cleaned: nearly all of it is older commits of few keys."""
    world.segment_bytes = 1_000_000
    world.topic("busy", 20, 3)
    group = world.group("committer", "busy")
    began = world.now_ms
    group.start_all("committer-1", commit_s=3)
    world.run(3 * 3600, 3000)
    batches = world.offsets[partition_for(group.name)]
    records = sum(len(batch.records) for batch in batches)
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
