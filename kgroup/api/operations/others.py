"""Positions of other groups on the partitions of a plan."""

from collections.abc import Sequence
from dataclasses import replace

from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.group_asks import GroupAsks, Refused
from kgroup.net.admin.group_listing import list_groups
from kgroup.net.admin.group_offsets import committed
from kgroup.operations.model import PlanRow
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.table import counted


def with_others(cluster: Cluster, rows: Sequence[PlanRow]) -> tuple[list[PlanRow], list[str]]:
    """The rows with the commits of all other groups of the cluster, and a line on groups that were refused.

    Fifty groups to a request, from Kafka 3.0 on. Raises SourceError if the groups cannot be listed.
    """
    planned = {row.change.group for row in rows}
    listed = list_groups(cluster)
    asks = GroupAsks(cluster, {group: each.node_id for group, each in listed.items()})
    at: dict[TopicPartition, list[tuple[str, int]]] = {row.change.place: [] for row in rows}
    refused = 0
    for group, commits in sorted(committed(asks, sorted(listed.keys() - planned), lambda done: None).items()):
        if isinstance(commits, Refused):
            refused += 1
            continue
        for commit in commits:
            if (commit.topic, commit.partition) in at:
                at[commit.topic, commit.partition].append((group, commit.offset))
    problems = [f"{counted(refused, 'other group')} could not be asked"] if refused else []
    return [replace(row, others=tuple(at[row.change.place])) for row in rows], problems
