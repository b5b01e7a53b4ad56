"""Leader epochs of the offsets topic: whether a log is still the one read before (KIP-101, KIP-320)."""

from collections.abc import Mapping
from typing import Final

from kafka.protocol.consumer import OffsetForLeaderEpochRequest

from kgroup.net.admin.cluster import Cluster, UnsupportedError
from kgroup.protocol.group_hash import OFFSETS_TOPIC

EpochEnd = tuple[int, int]
"""The greatest epoch that is not above the one asked for, -1 if that is above all, and where it ends."""

_STEPS_MAX: Final = 16


def epoch_ends(cluster: Cluster, epochs: Mapping[int, int]) -> dict[int, EpochEnd | None]:
    """The ends of these leader epochs, by partition: OffsetForLeaderEpoch, as Kafka's consumers send it.

    None where brokers cannot say, being older than 2.0. Without partitions that have no leader, or whose
    leader has just changed: to be asked again.
    """
    by_leader: dict[int, dict[int, int]] = {}
    for topic in cluster.topics([OFFSETS_TOPIC]).values():
        for partition, leader in topic.leaders.items():
            if partition in epochs and leader is not None:
                by_leader.setdefault(leader, {})[partition] = epochs[partition]
    ends: dict[int, EpochEnd | None] = {}
    for leader, asked in sorted(by_leader.items()):
        try:
            answer = cluster.ask(_request(asked), leader)
        except UnsupportedError:
            ends.update(dict.fromkeys(asked))
            continue
        for ended in answer.topics:
            ends.update(
                (part.partition, (part.leader_epoch, part.end_offset))
                for part in ended.partitions
                if part.error_code == 0
            )
    return ends


def epochs_before(cluster: Cluster, offsets: Mapping[int, int]) -> dict[int, int | None]:
    """The leader epoch of the record before an offset, by partition; None where brokers do not know.

    Without partitions of which it has to be asked again.
    """
    topics = cluster.topics([OFFSETS_TOPIC])
    known = topics[OFFSETS_TOPIC].leader_epochs if topics else {}
    found: dict[int, int | None] = {
        partition: known.get(partition) for partition in offsets if known.get(partition, 0) == 0
    }
    # The record is of the newest epoch that begins before the offset: down from the leader's own.
    asked = {partition: known[partition] for partition in offsets if partition not in found}
    for _ in range(_STEPS_MAX):
        if not asked:
            break
        ends = epoch_ends(cluster, {partition: epoch - 1 for partition, epoch in asked.items()})
        still: dict[int, int] = {}
        for partition, end in ends.items():
            if end is None or end[0] < 0:
                found[partition] = None
            elif end[1] < offsets[partition]:
                found[partition] = asked[partition]
            elif end[0] == 0:
                found[partition] = 0
            else:
                still[partition] = end[0]
        asked = still
    found.update(dict.fromkeys(asked))
    return found


def _request(epochs: Mapping[int, int]) -> OffsetForLeaderEpochRequest:
    topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    partitions = [
        topic.OffsetForLeaderPartition(partition=partition, current_leader_epoch=-1, leader_epoch=epoch)
        for partition, epoch in sorted(epochs.items())
    ]
    return OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[topic(topic=OFFSETS_TOPIC, partitions=partitions)], min_version=1
    )
