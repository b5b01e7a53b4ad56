"""The first requests of every operation, and the refusals that follow from the answers."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from kgroup.durations import lasting
from kgroup.errors import RefusedError, SourceError, did_you_mean
from kgroup.history.groups.model import Group, GroupKind, Member
from kgroup.lag.findings.text import listed
from kgroup.net.admin.broker_settings import broker_setting
from kgroup.net.admin.cluster import Cluster, OffsetSpec
from kgroup.net.admin.group_states import is_idle, present_groups
from kgroup.net.admin.unread import UnreadPlace, fetch_first_unread
from kgroup.operations.model import PartitionLimits, PlanRow
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.table import counted

_MINUTE_MS: Final = 60_000
_RETENTION: Final = "offsets.retention.minutes"


def idle_groups(
    cluster: Cluster,
    groups: Iterable[str],
    *,
    create: bool,
    can_create: bool = False,
    progress: Progress = NO_PROGRESS,
) -> dict[str, Group | None]:
    """These groups, None for one that is not there and that `create` allows to make.

    `can_create` is for the error: whether the user may ask for that. Raises RefusedError for the first that
    is not there, that somebody is in, or that is of a kind without commits.
    """
    found = _found(cluster, groups, progress)
    for group, each in found.items():
        if each is None:
            if not create:
                hint = "; --create makes it" if can_create else ""
                raise RefusedError(f"no group {group!r} in this cluster{_like(cluster, group)}{hint}")
            continue
        if each.kind is GroupKind.SHARE:
            raise RefusedError(f"group {group!r} is a share group: it has no committed offsets to change")
        if not is_idle(each):
            raise RefusedError(f"group {group!r} is {each.state.value}: {who(each)}; stop its members first")
    return found


def existing_groups(
    cluster: Cluster, groups: Iterable[str], *, progress: Progress = NO_PROGRESS
) -> dict[str, Group]:
    """These groups, active or not. Raises RefusedError for the first that is not there."""
    existing = {}
    for group, found in _found(cluster, groups, progress).items():
        if found is None:
            raise RefusedError(f"no group {group!r} in this cluster{_like(cluster, group)}")
        existing[group] = found
    return existing


def _found(cluster: Cluster, groups: Iterable[str], progress: Progress) -> dict[str, Group | None]:
    """Each group as it is, None for one that is not there. Raises as the first that cannot be asked does."""
    asked = list(dict.fromkeys(groups))
    if "" in asked:
        raise RefusedError("a group has a name, and this one is empty")
    with progress.counted("looking at groups", len(asked)) as advance:
        answers = present_groups(cluster, asked, advance)
    found: dict[str, Group | None] = {}
    for group, answer in answers.items():
        if isinstance(answer, SourceError):
            raise answer
        found[group] = answer
    return found


def _like(cluster: Cluster, group: str) -> str:
    try:
        return did_you_mean(group, cluster.group_ids())
    except SourceError:
        return ""


def who(group: Group) -> str:
    """The members of a group in words: `2 members are in it (c1 at /10.0.0.1, c2 at /10.0.0.2)`."""
    if not group.members:
        return "somebody is in it"
    verb = "is" if len(group.members) == 1 else "are"
    names = listed([_named(member) for member in group.members])
    return f"{counted(len(group.members), 'member')} {verb} in it ({names})"


def _named(member: Member) -> str:
    static = f" [{member.instance_id}]" if member.instance_id else ""
    return f"{member.client_id}{static} at {member.client_host}"


def existing_topics(cluster: Cluster, topics: Collection[str]) -> dict[str, list[int]]:
    """The partitions of these topics. Raises RefusedError for one that is not there, or may not be seen."""
    found = partitions_by_topic(cluster, topics)
    for name, code in sorted(cluster.why_unlisted(set(topics) - found.keys()).items()):
        if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise RefusedError(f"topic {name!r}: this user may not see it (TOPIC_AUTHORIZATION_FAILED)")
        raise RefusedError(f"no topic {name!r} in this cluster{did_you_mean(name, cluster.topics())}")
    return found


def partitions_by_topic(cluster: Cluster, topics: Collection[str]) -> dict[str, list[int]]:
    """The partitions of those of these topics that exist and may be seen."""
    if not topics:
        return {}
    return {name: sorted(topic.leaders) for name, topic in cluster.topics(topics).items()}


def gone_partitions(cluster: Cluster, places: Collection[TopicPartition]) -> set[TopicPartition]:
    """The partitions that do not exist. One that may not be seen is not among them."""
    topics = {topic for topic, _ in places}
    there = partitions_by_topic(cluster, topics)
    why = cluster.why_unlisted(topics - there.keys())
    gone = {topic for topic, code in why.items() if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    return {
        (topic, partition)
        for topic, partition in places
        if topic in gone or (topic in there and partition not in there[topic])
    }


def limits_of(cluster: Cluster, places: Sequence[TopicPartition]) -> dict[TopicPartition, PartitionLimits]:
    """Log starts and high watermarks. Raises SourceError for a partition whose leader does not give them."""
    found = known_limits(cluster, places)
    for topic, partition in places:
        if (topic, partition) not in found:
            raise SourceError(
                f"{cluster.name}: {topic}-{partition}: its log's start and end are unavailable: no leader,"
                " or this user may not see them"
            )
    return found


def known_limits(cluster: Cluster, places: Sequence[TopicPartition]) -> dict[TopicPartition, PartitionLimits]:
    """The same as far as leaders give them."""
    wanted: dict[str, set[int]] = {}
    for name, partition in places:
        wanted.setdefault(name, set()).add(partition)
    topics = []
    for name, topic in cluster.topics(wanted).items() if wanted else ():
        leaders = {number: node for number, node in topic.leaders.items() if number in wanted[name]}
        topics.append(replace(topic, leaders=leaders))
    starts = cluster.list_offsets(topics, OffsetSpec.EARLIEST)
    ends = cluster.list_offsets(topics, OffsetSpec.LATEST)
    return {
        place: PartitionLimits(log_start=starts[place], log_end=ends[place])
        for place in places
        if place in starts and place in ends
    }


def with_times(
    cluster: Cluster, rows: Sequence[PlanRow], now_ms: int
) -> tuple[list[PlanRow], tuple[str, ...]]:
    """The rows with the time between their positions, and a line for each place that could not be read.

    A position has the time of the first record there or after it; the log's end has that of now.
    """
    moved = {row.change: places for row in rows if (places := _places(row)) is not None}
    answers = fetch_first_unread(cluster, {place for both in moved.values() for place in both})

    def time_ms(place: UnreadPlace) -> int | None:
        if place not in answers.records:
            return None
        record = answers.records[place]
        if record is None:
            return now_ms
        return record.timestamp_ms if record.timestamp_ms >= 0 else None

    timed = []
    for row in rows:
        if row.change not in moved:
            timed.append(row)
            continue
        before, after = map(time_ms, moved[row.change])
        timed.append(row.with_time(None if before is None or after is None else after - before))
    return timed, answers.problems


def _places(row: PlanRow) -> tuple[UnreadPlace, UnreadPlace] | None:
    """The old and the new position, as near to them as the log has records; None if nothing moves."""
    old, new, log = row.change.old, row.change.new, row.limits
    if old is None or new is None or log is None or old.offset == new.offset:
        return None
    before, after = (min(max(each.offset, log.log_start), log.log_end) for each in (old, new))
    return UnreadPlace(*row.change.place, before), UnreadPlace(*row.change.place, after)


def expiry_note(cluster: Cluster, group: str) -> str | None:
    """A note on when a broker deletes unused offsets, by its own setting; None if it does not say."""
    (coordinator,) = cluster.find_coordinators([group])
    if coordinator.node_id is None:
        return None
    minutes = broker_setting(cluster, coordinator.node_id, _RETENTION)
    if minutes is None or not minutes.isdigit():
        return None
    return (
        f"if no member comes, the broker deletes these offsets in {lasting(int(minutes) * _MINUTE_MS)}"
        f" ({_RETENTION}={minutes})"
    )
