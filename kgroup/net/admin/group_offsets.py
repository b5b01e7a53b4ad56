"""Groups' committed offsets from their coordinators (OffsetFetch), and the positions of share groups."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from kafka.protocol.consumer.group import OffsetFetchRequest

from kgroup.history.groups.share_offset import ShareOffset
from kgroup.lag.measures.rows import Commit
from kgroup.net.admin.cluster import UnsupportedError
from kgroup.net.admin.group_asks import Answers, GroupAsks, Refused
from kgroup.wire.other_group_messages import DescribeShareGroupOffsetsRequest

_AT_ONCE: Final = 50
_NONE: Final = -1
_ALL_TOPICS: Final = 2  # the first version that can ask for all that a group has committed
_MANY_GROUPS: Final = 8
_LAST_BY_NAME: Final = 9  # later versions know topics by their ids only


def committed(
    asks: GroupAsks, groups: Sequence[str], advance: Callable[[int], None]
) -> dict[str, tuple[Commit, ...] | Refused]:
    """All that these groups have committed, by topic and partition; many groups to a request from 3.0 on.

    When it was committed is not said. Partitions whose commit the coordinator does not hand out are left
    out, as are offsets below 0.
    """
    try:
        return asks.ask(groups, _many_groups, _answers_of_groups, groups_at_once=_AT_ONCE, advance=advance)
    except UnsupportedError:
        return asks.ask(groups, _one_group, _answer_of_one_group, groups_at_once=1, advance=advance)


def share_offsets(
    asks: GroupAsks, groups: Sequence[str], advance: Callable[[int], None]
) -> dict[str, tuple[ShareOffset, ...] | Refused]:
    """The positions of these share groups, by topic and partition."""
    group = DescribeShareGroupOffsetsRequest.Group
    return asks.ask(
        groups,
        lambda some: DescribeShareGroupOffsetsRequest(
            groups=[group(group_id=name, topics=None) for name in some]
        ),
        _share_answers,
        groups_at_once=_AT_ONCE,
        advance=advance,
    )


def _many_groups(groups: Sequence[str]) -> Any:
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    return OffsetFetchRequest(
        groups=[group(group_id=name, topics=None) for name in groups],
        min_version=_MANY_GROUPS,
        max_version=_LAST_BY_NAME,
    )


def _answers_of_groups(answer: Any, _: Sequence[str]) -> Answers[tuple[Commit, ...]]:
    for group in answer.groups:
        yield group.group_id, group.error_code, _commits(group.group_id, group.topics)


def _one_group(groups: Sequence[str]) -> Any:
    (group,) = groups
    return OffsetFetchRequest(
        group_id=group, topics=None, min_version=_ALL_TOPICS, max_version=_MANY_GROUPS - 1
    )


def _answer_of_one_group(answer: Any, groups: Sequence[str]) -> Answers[tuple[Commit, ...]]:
    (group,) = groups
    yield group, answer.error_code, _commits(group, answer.topics)


def _commits(group: str, topics: Iterable[Any]) -> tuple[Commit, ...]:
    return tuple(sorted(_read_commits(group, topics), key=lambda commit: (commit.topic, commit.partition)))


def _read_commits(group: str, topics: Iterable[Any]) -> Iterator[Commit]:
    for topic in topics:
        name = topic.name
        for partition in topic.partitions:
            if not partition.error_code and partition.committed_offset > _NONE:
                epoch = getattr(partition, "committed_leader_epoch", _NONE)
                yield Commit(
                    group=group,
                    topic=name,
                    partition=partition.partition_index,
                    offset=partition.committed_offset,
                    leader_epoch=None if epoch == _NONE else epoch,
                    metadata=partition.metadata or "",
                )


def _share_answers(answer: Any, _: Sequence[str]) -> Answers[tuple[ShareOffset, ...]]:
    for group in answer.groups:
        yield group.group_id, group.error_code, tuple(sorted(_share_offsets(group), key=_place))


def _place(offset: ShareOffset) -> tuple[str, int]:
    return offset.topic, offset.partition


def _share_offsets(group: Any) -> Iterator[ShareOffset]:
    for topic in group.topics:
        for partition in topic.partitions:
            if not partition.error_code:
                yield ShareOffset(
                    topic=topic.topic_name,
                    partition=partition.partition_index,
                    start_offset=_known(partition.start_offset),
                    leader_epoch=_known(partition.leader_epoch),
                    lag=_known(getattr(partition, "lag", _NONE)),
                )


def _known(number: int) -> int | None:
    return None if number == _NONE else number
