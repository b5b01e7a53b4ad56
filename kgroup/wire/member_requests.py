"""A member's requests as kafka-python's objects of a version, and the choice of that version.

With `member_responses.py` the mirror of `frames.py`, on the same codec. Versions end where topic ids would be
needed (Fetch 12, OffsetCommit and OffsetFetch 9); every broker from 0.11 to 4.x speaks what lies below.
"""

from collections.abc import Mapping
from typing import Any, Final, assert_never

from kafka.protocol.consumer import (
    FetchRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListOffsetsRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from kgroup.errors import SourceError
from kgroup.protocol.requests.client import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    Fetch,
    FindCoordinator,
    ListOffsets,
    MemberRequest,
    Metadata,
    OffsetFetch,
)
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat
from kgroup.protocol.requests.coordinator import Heartbeat, JoinGroup, LeaveGroup, OffsetCommit, SyncGroup
from kgroup.protocol.topic_partition import group_by_topic
from kgroup.wire.consumer_group_messages import ConsumerGroupHeartbeatRequest

_CLASSES: Final[dict[type, Any]] = {
    FindCoordinator: FindCoordinatorRequest,
    Metadata: MetadataRequest,
    JoinGroup: JoinGroupRequest,
    SyncGroup: SyncGroupRequest,
    Heartbeat: HeartbeatRequest,
    LeaveGroup: LeaveGroupRequest,
    ConsumerGroupHeartbeat: ConsumerGroupHeartbeatRequest,
    OffsetCommit: OffsetCommitRequest,
    OffsetFetch: OffsetFetchRequest,
    ListOffsets: ListOffsetsRequest,
    Fetch: FetchRequest,
}
SPOKEN: Final[Mapping[str, tuple[int, int]]] = {
    "FindCoordinator": (0, 6),
    "Metadata": (1, 13),
    "JoinGroup": (0, 9),
    "SyncGroup": (0, 5),
    "Heartbeat": (0, 4),
    "LeaveGroup": (0, 5),
    "ConsumerGroupHeartbeat": (1, 1),  # before it, members did not make their own ids
    "OffsetCommit": (2, 9),
    "OffsetFetch": (1, 9),
    "ListOffsets": (1, 9),
    "Fetch": (4, 12),
}
"""Api -> the lowest and the highest version that a member sends."""
API_KEYS: Final = {
    name: kind.API_KEY for name, kind in ((each.__name__, _CLASSES[each]) for each in _CLASSES)
}
_CLIENT = -1
_NO_EPOCH = -1


def api_of(body: MemberRequest) -> str:
    """The api's name."""
    return type(body).__name__


def choose_version(api: str, lowest: int, highest: int, pinned: int | None = None) -> int:
    """The highest version that both sides speak, or the one that is pinned. Raises SourceError."""
    ours = SPOKEN[api]
    if pinned is not None:
        if not lowest <= pinned <= highest:
            raise SourceError(f"the broker speaks {api} {lowest} to {highest}, and not version {pinned}")
        return pinned
    version = min(highest, ours[1])
    if version < max(lowest, ours[0]):
        raise SourceError(
            f"the broker speaks {api} {lowest} to {highest}, and a member {ours[0]} to {ours[1]}"
        )
    return version


def write_request(body: MemberRequest, version: int) -> Any:
    """kafka-python's request of this version; fields that it has not are left out."""
    return _CLASSES[type(body)](version=version, **_fields(body, version))


def _fields(body: MemberRequest, version: int) -> dict[str, Any]:
    match body:
        case FindCoordinator():
            if version >= 4:
                return {"key_type": body.key_type, "coordinator_keys": [body.key]}
            return {"key": body.key, "key_type": body.key_type}
        case Metadata():
            topic = MetadataRequest.MetadataRequestTopic
            topics = None if body.topics is None else [topic(name=name) for name in body.topics]
            return {"topics": topics, "allow_auto_topic_creation": False}
        case JoinGroup():
            protocol = JoinGroupRequest.JoinGroupRequestProtocol
            return {
                "group_id": body.group_id,
                "session_timeout_ms": body.session_timeout_ms,
                "rebalance_timeout_ms": body.rebalance_timeout_ms,
                "member_id": body.member_id,
                "group_instance_id": body.group_instance_id,
                "protocol_type": body.protocol_type,
                "protocols": [protocol(name=name, metadata=metadata) for name, metadata in body.protocols],
                "reason": body.reason,
            }
        case SyncGroup():
            share = SyncGroupRequest.SyncGroupRequestAssignment
            return {
                "group_id": body.group_id,
                "generation_id": body.generation_id,
                "member_id": body.member_id,
                "group_instance_id": body.group_instance_id,
                "protocol_type": body.protocol_type,
                "protocol_name": body.protocol_name,
                "assignments": [
                    share(member_id=member_id, assignment=assignment)
                    for member_id, assignment in body.assignments
                ],
            }
        case Heartbeat():
            return {
                "group_id": body.group_id,
                "generation_id": body.generation_id,
                "member_id": body.member_id,
                "group_instance_id": body.group_instance_id,
            }
        case LeaveGroup():
            leaving = LeaveGroupRequest.MemberIdentity
            if version < 3:
                return {"group_id": body.group_id, "member_id": body.members[0].member_id}
            return {
                "group_id": body.group_id,
                "members": [
                    leaving(
                        member_id=each.member_id,
                        group_instance_id=each.group_instance_id,
                        reason=each.reason,
                    )
                    for each in body.members
                ],
            }
        case ConsumerGroupHeartbeat():
            return _consumer_heartbeat_fields(body)
        case OffsetCommit():
            return _commit_fields(body)
        case OffsetFetch():
            return _offset_fetch_fields(body, version)
        case ListOffsets():
            return _list_fields(body)
        case Fetch():
            return _fetch_fields(body)
    assert_never(body)


def _consumer_heartbeat_fields(body: ConsumerGroupHeartbeat) -> dict[str, Any]:
    topic = ConsumerGroupHeartbeatRequest.TopicPartitions
    names, owned = body.subscribed_topic_names, body.topic_partitions
    return {
        "group_id": body.group_id,
        "member_id": body.member_id,
        "member_epoch": body.member_epoch,
        "instance_id": body.instance_id,
        "rack_id": body.rack_id,
        "rebalance_timeout_ms": body.rebalance_timeout_ms,
        "subscribed_topic_names": None if names is None else list(names),
        "subscribed_topic_regex": body.subscribed_topic_regex,
        "server_assignor": body.server_assignor,
        "topic_partitions": None
        if owned is None
        else [topic(topic_id=topic_id, partitions=list(numbers)) for topic_id, numbers in owned],
    }


def _commit_fields(body: OffsetCommit) -> dict[str, Any]:
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    partition = topic.OffsetCommitRequestPartition
    return {
        "group_id": body.group_id,
        "generation_id_or_member_epoch": body.generation_id,
        "member_id": body.member_id,
        "group_instance_id": body.group_instance_id,
        "retention_time_ms": body.retention_time_ms,
        "topics": [
            topic(
                name=each.name,
                partitions=[
                    partition(
                        partition_index=commit.partition_index,
                        committed_offset=commit.committed_offset,
                        committed_leader_epoch=commit.committed_leader_epoch,
                        committed_metadata=commit.committed_metadata,
                    )
                    for commit in each.partitions
                ],
            )
            for each in body.topics
        ],
    }


def _offset_fetch_fields(body: OffsetFetch, version: int) -> dict[str, Any]:
    if version >= 8:
        group = OffsetFetchRequest.OffsetFetchRequestGroup
        topics = group.OffsetFetchRequestTopics
        return {
            "groups": [
                group(
                    group_id=body.group_id,
                    member_id=body.member_id,
                    member_epoch=body.member_epoch,
                    topics=[topics(name=name, partition_indexes=list(ids)) for name, ids in body.topics],
                )
            ],
            "require_stable": True,
        }
    topic = OffsetFetchRequest.OffsetFetchRequestTopic
    return {
        "group_id": body.group_id,
        "topics": [topic(name=name, partition_indexes=list(ids)) for name, ids in body.topics],
        "require_stable": True,
    }


def _list_fields(body: ListOffsets) -> dict[str, Any]:
    topic = ListOffsetsRequest.ListOffsetsTopic
    partition = topic.ListOffsetsPartition
    return {
        "replica_id": _CLIENT,
        "isolation_level": READ_COMMITTED if body.read_committed else READ_UNCOMMITTED,
        "topics": [
            topic(
                name=name,
                partitions=[
                    partition(
                        partition_index=number, current_leader_epoch=_NO_EPOCH, timestamp=body.timestamp
                    )
                    for number in numbers
                ],
            )
            for name, numbers in group_by_topic(body.partitions).items()
        ],
    }


def _fetch_fields(body: Fetch) -> dict[str, Any]:
    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition
    offsets = dict(body.offsets)
    return {
        "replica_id": _CLIENT,
        "max_wait_ms": body.max_wait_ms,
        "min_bytes": body.min_bytes,
        "max_bytes": body.max_bytes,
        "isolation_level": READ_COMMITTED if body.read_committed else READ_UNCOMMITTED,
        "session_id": body.session_id,
        "session_epoch": body.session_epoch,
        "topics": [
            topic(
                topic=name,
                partitions=[
                    partition(
                        partition=number,
                        current_leader_epoch=_NO_EPOCH,
                        fetch_offset=offsets[name, number],
                        last_fetched_epoch=_NO_EPOCH,
                        log_start_offset=-1,
                        partition_max_bytes=body.partition_max_bytes,
                    )
                    for number in numbers
                ],
            )
            for name, numbers in group_by_topic([each for each, _ in body.offsets]).items()
        ],
        "forgotten_topics_data": [
            FetchRequest.ForgottenTopic(topic=name, partitions=numbers)
            for name, numbers in group_by_topic(body.forgotten).items()
        ],
        "rack_id": body.rack_id,
    }
