"""A group's commits in a live cluster: reading, setting, deleting."""

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from kafka.protocol.consumer import OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest

from kgroup.errors import SourceError
from kgroup.net.admin.cluster import Cluster, UnsupportedError, error_name
from kgroup.net.admin.coordinated import Sleep, ask_coordinator, refuse
from kgroup.operations.model import GroupOffsets, Position
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.topic_partition import TopicPartition, group_by_topic

_NO_OFFSET: Final = -1
_NO_MEMBER: Final = -1

Refused = dict[TopicPartition, str]
"""Why each of these partitions was refused: Kafka's error name."""


def fetch_offsets(cluster: Cluster, group: str, sleep: Sleep = time.sleep) -> GroupOffsets:
    """All commits of a group, none of one that is not there; `unstable` is not asked for.

    Raises SourceError if they cannot be read.
    """
    commits, _ = _fetch(cluster, group, sleep, stable=False)
    return GroupOffsets(group=group, commits=commits)


def fetch_offsets_and_open(cluster: Cluster, group: str, sleep: Sleep = time.sleep) -> GroupOffsets:
    """The same with those that an open transaction is to commit, where the broker can say (Kafka 2.5 on)."""
    offsets = fetch_offsets(cluster, group, sleep)
    try:
        _, unstable = _fetch(cluster, group, sleep, stable=True)
    except UnsupportedError:
        return offsets
    return replace(offsets, unstable=frozenset(unstable))


def _fetch(
    cluster: Cluster, group: str, sleep: Sleep, *, stable: bool
) -> tuple[dict[TopicPartition, Position], list[TopicPartition]]:
    def request() -> Any:
        # One group to a request, as versions up to 7 have it; 8 brought several, 10 topics by id.
        return OffsetFetchRequest(
            group_id=group, topics=None, require_stable=stable, min_version=7 if stable else 2, max_version=7
        )

    def codes(answer: Any) -> list[int]:
        return [answer.error_code]

    answer = ask_coordinator(cluster, group, request, codes, sleep)
    refuse(cluster, answer.error_code, f"read the offsets of group {group!r}")
    commits: dict[TopicPartition, Position] = {}
    unstable = []
    for topic, each in _partitions(answer):
        place = topic, each.partition_index
        if each.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT:
            unstable.append(place)
        elif each.error_code:
            raise SourceError(
                f"{cluster.name}: cannot read the offset of group {group!r} for {topic}-{place[1]}:"
                f" {error_name(each.error_code)}"
            )
        elif each.committed_offset != _NO_OFFSET:
            epoch = getattr(each, "committed_leader_epoch", None)
            commits[place] = Position(
                each.committed_offset, -1 if epoch is None else epoch, each.metadata or ""
            )
    return commits, unstable


def commit_offsets(
    cluster: Cluster, group: str, positions: Mapping[TopicPartition, Position], sleep: Sleep = time.sleep
) -> Refused:
    """Commit these in one request, as a client without membership. Raises SourceError without an answer."""
    topic = OffsetCommitRequest.OffsetCommitRequestTopic

    def request() -> Any:
        return OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=_NO_MEMBER,
            member_id="",
            group_instance_id=None,
            retention_time_ms=-1,
            topics=[
                topic(
                    name=name,
                    partitions=[
                        topic.OffsetCommitRequestPartition(
                            partition_index=index,
                            committed_offset=positions[name, index].offset,
                            committed_leader_epoch=positions[name, index].leader_epoch,
                            committed_metadata=positions[name, index].metadata,
                        )
                        for index in indexes
                    ],
                )
                for name, indexes in group_by_topic(sorted(positions)).items()
            ],
            max_version=9,  # from 10 on topics go by id
        )

    answer = ask_coordinator(cluster, group, request, _codes, sleep)
    return _refused(answer, positions)


def delete_offsets(
    cluster: Cluster, group: str, places: Collection[TopicPartition], sleep: Sleep = time.sleep
) -> Refused:
    """Delete these (KIP-496) in one request. Raises SourceError without an answer, or if all is refused."""
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic

    def request() -> Any:
        return OffsetDeleteRequest(
            group_id=group,
            topics=[
                topic(
                    name=name,
                    partitions=[
                        topic.OffsetDeleteRequestPartition(partition_index=index) for index in indexes
                    ],
                )
                for name, indexes in group_by_topic(sorted(places)).items()
            ],
        )

    def codes(answer: Any) -> list[int]:
        return [answer.error_code, *_codes(answer)]

    answer = ask_coordinator(cluster, group, request, codes, sleep)
    refuse(cluster, answer.error_code, f"delete offsets of group {group!r}")
    return _refused(answer, places)


def _partitions(answer: Any) -> Iterator[tuple[str, Any]]:
    for topic in answer.topics or ():
        for partition in topic.partitions:
            yield topic.name, partition


def _codes(answer: Any) -> list[int]:
    return [partition.error_code for _, partition in _partitions(answer)]


def _refused(answer: Any, asked: Collection[TopicPartition]) -> Refused:
    codes = {(topic, each.partition_index): each.error_code for topic, each in _partitions(answer)}
    silent = {place: "no answer" for place in asked if place not in codes}
    return silent | {place: error_name(code) for place, code in codes.items() if code}
