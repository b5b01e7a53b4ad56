"""Rows of share groups: from what a cluster answers, or from `__share_group_state` in a log directory."""

from collections.abc import Iterable, Mapping

from kgroup.api.opened import OpenedLogs
from kgroup.history.groups.model import Group, GroupKind
from kgroup.history.groups.share_offset import ShareOffset
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.lag.measures.rows import LagRow
from kgroup.log.topics.log_ends import LogDirEndsReader
from kgroup.log.topics.share_state import read_share_state


def share_rows(group: Group, offsets: Iterable[ShareOffset], ends: LogEnds) -> Iterable[LagRow]:
    """A share group's partitions; each may have several members, so rows name none."""
    for offset in offsets:
        log = ends.find(offset.topic, offset.partition)
        yield LagRow(
            group=group.group_id,
            topic=offset.topic,
            partition=offset.partition,
            current_offset=offset.start_offset,
            log_end_offset=log.log_end_offset if log else None,
            lag=offset.lag,
            log_start_offset=log.log_start_offset if log else None,
            leader_epoch=offset.leader_epoch,
            metadata=None,
            commit_timestamp=None,
            member_id=None,
            group_instance_id=None,
            host=None,
            client_id=None,
            group_kind=group.kind,
            group_state=group.state,
            topic_id=log.topic_id if log else None,
            topic_state=ends.topic_state(offset.topic, offset.partition),
            log_end_source=log.source if log else None,
            notes=(),
        )


def logged_share_rows(
    logs: OpenedLogs, groups: Mapping[str, Group]
) -> tuple[dict[str, tuple[LagRow, ...]], list[str]]:
    """The rows of those of `groups` that are share groups and have a state in the log directories.

    Lag is the end of the log less the start offset and what is done with from there on, as brokers since
    Kafka 4.2 reckon it; None without one of the three. With them comes what could not be read.
    """
    shares = {group_id: group for group_id, group in groups.items() if group.kind is GroupKind.SHARE}
    if not shares:
        return {}, []
    log_dirs = logs.sources.log_dirs
    progress, problems = read_share_state(log_dir.path for log_dir in log_dirs)
    if not progress:
        return {}, problems
    reader = LogDirEndsReader(log_dirs)
    names = reader.topic_names()
    topics = {name for _, topic_id, _ in progress if (name := names.get(topic_id)) is not None}
    read = reader.read(topics)
    ends = LogEnds([read.segments, read.checkpoints])
    offsets: dict[str, list[ShareOffset]] = {}
    for (group_id, topic_id, partition), at in progress.items():
        if group_id not in shares:
            continue
        topic = names.get(topic_id)
        if topic is None:
            problems.append(f"share group {group_id}: no topic here has the id {topic_id} of its state")
            continue
        log = ends.find(topic, partition)
        lag = None
        if log is not None and log.log_end_offset is not None and at.start_offset is not None:
            lag = None if at.complete is None else max(log.log_end_offset - at.start_offset - at.complete, 0)
        offsets.setdefault(group_id, []).append(
            ShareOffset(
                topic=topic,
                partition=partition,
                start_offset=at.start_offset,
                leader_epoch=at.leader_epoch,
                lag=lag,
            )
        )
    return {
        group_id: tuple(share_rows(shares[group_id], sorted(of_group, key=_place), ends))
        for group_id, of_group in offsets.items()
    }, problems


def _place(offset: ShareOffset) -> tuple[str, int]:
    return offset.topic, offset.partition
