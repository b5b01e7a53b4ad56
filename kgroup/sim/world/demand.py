"""The partitions that groups must have readers for, as topics and subscriptions come, grow and go."""

from collections.abc import Mapping

from kgroup.sim.watch.tallies import GroupPartition, Measures
from kgroup.sim.world.cluster_host import ClusterHost
from kgroup.sim.world.member_host import MemberHost


class Demand:
    """Looks again whenever a member starts or changes its subscription, or a topic changes."""

    def __init__(self, cluster: ClusterHost, members: Mapping[str, MemberHost], measures: Measures) -> None:
        self._cluster = cluster
        self._members = members
        self._measures = measures
        self._needed: dict[GroupPartition, None] = {}

    def look(self, now_ms: int) -> None:
        """A member that was ever started counts: its group has to do without it, and to read all the same."""
        needed = {
            (member.spec.group, partition): None
            for member in self._members.values()
            if member.number
            for topic in member.topics(self._cluster.topic_names)
            for partition in self._cluster.partitions_of(topic)
        }
        for group_partition in needed:
            if group_partition not in self._needed:
                self._measures.need(group_partition, now_ms)
        for group_partition in self._needed:
            if group_partition not in needed:
                self._measures.spare(group_partition, now_ms)
        self._needed = needed
