"""`kafka-groups`, a row for each generation of a group, and `kafka-timeline`, a row for each event."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import pyarrow as pa

from kgroup.api.opened import OpenedLogs
from kgroup.api.replay import slices_of
from kgroup.api.spark_sources.answers import AnswerOptions, AnswerReader, Columns, in_chunks
from kgroup.history.timeline.model import Cause, Generation, Partition, Timeline, TimelineMember
from kgroup.history.timeline.replay import replay
from kgroup.log.files.damage_text import damage_text, undecodable_text
from kgroup.log.format.batch import Damage
from kgroup.log.topics.log_ends import LogDirEndsReader
from kgroup.protocol.records.entries import LoggedEntry, OffsetGap, Undecodable
from kgroup.report.timeline.rows import event_rows
from kgroup.scan.reductions.select import select
from kgroup.spark.sources.options import GivenOptions
from kgroup.spark.sources.tables import TIME, TableSource, table

_TEXTS: Final = pa.list_(pa.string())
_PARTITIONS: Final = pa.list_(pa.struct([("topic", pa.string()), ("partition", pa.int32())]))
_WHO: Final = [
    ("member_id", pa.string()),
    ("instance_id", pa.string()),
    ("client_id", pa.string()),
    ("host", pa.string()),
]
_MEMBER: Final = pa.struct(
    [
        *_WHO,
        ("session_timeout_ms", pa.int64()),
        ("rebalance_timeout_ms", pa.int64()),
        ("subscribed", _TEXTS),
        ("subscribed_regex", pa.string()),
        ("assigned", _PARTITIONS),
        ("unreadable", pa.string()),
    ]
)
_SHARES: Final = pa.list_(pa.struct([("member_id", pa.string()), ("partitions", _PARTITIONS)]))
_CAUSE: Final = pa.struct(
    [
        ("cause", pa.string()),
        ("grade", pa.string()),
        ("evidence", pa.string()),
        ("member_ids", _TEXTS),
        ("alternatives", _TEXTS),
        ("remedy", pa.string()),
    ]
)

GROUPS_TABLE: Final = table(
    [
        ("group", pa.string()),
        ("generation", pa.int32()),
        ("time", TIME),
        ("kind", pa.string()),
        ("is_last", pa.bool_()),
        ("protocol_type", pa.string()),
        ("protocol", pa.string()),
        ("leader", pa.string()),
        ("members", pa.list_(_MEMBER)),
        ("joined", pa.list_(pa.struct(_WHO))),
        ("left", pa.list_(pa.struct(_WHO))),
        ("replaced", pa.list_(pa.struct([("old_member_id", pa.string()), ("new_member_id", pa.string())]))),
        ("gained", _SHARES),
        ("lost", _SHARES),
        ("moved", pa.int32()),
        ("kept", pa.int32()),
        ("leader_changed", pa.bool_()),
        ("since_previous_ms", pa.int64()),
        ("commits", pa.int64()),
        ("commit_gap_ms", pa.int64()),
        ("unfinished_generations", pa.int32()),
        ("records_missing", pa.bool_()),
        ("causes", pa.list_(_CAUSE)),
        ("offsets_partition", pa.int32()),
        ("log_offset", pa.int64()),
    ],
    required=("group", "generation"),
)
"""Version 1. `kind` is the group's protocol; `is_last` says that no later generation is in the log."""

TIMELINE_TABLE: Final = table(
    [
        ("group", pa.string()),
        ("time", TIME),
        ("generation", pa.int32()),
        ("event", pa.string()),
        ("grade", pa.string()),
        ("alternatives", _TEXTS),
        ("member_ids", _TEXTS),
        ("client_ids", _TEXTS),
        ("partitions", _PARTITIONS),
        ("evidence", pa.string()),
        ("remedy", pa.string()),
        ("offsets_partition", pa.int32()),
        ("log_offset", pa.int64()),
    ],
    required=("group",),
)
"""Version 1. The events of `kgroup replay --events`."""


class TimelineReader(AnswerReader):
    """Replays the groups of one offsets partition after the other."""

    def answered(self, logs: OpenedLogs) -> Iterator[Columns]:
        """See AnswerReader. Damage is reported after the rows of its partition."""
        names = LogDirEndsReader(logs.sources.log_dirs).topic_names()
        for number in dict.fromkeys(segment.partition for segment in logs.sources):
            problems: list[str] = []
            entries = select(slices_of(logs.of_partitions([number])), self.wanted())
            timelines = replay(_readable(entries, problems), names)
            self.unread(problems, logs)
            yield from in_chunks(self.rows(timelines.values()), self.table)

    @abstractmethod
    def rows(self, timelines: Iterable[Timeline]) -> Iterator[Mapping[str, Any]]:
        """The rows of groups, in order."""


class GroupsReader(TimelineReader):
    """Generations."""

    def rows(self, timelines: Iterable[Timeline]) -> Iterator[Mapping[str, Any]]:
        """See TimelineReader."""
        for timeline in timelines:
            last = len(timeline.generations) - 1
            for number, generation in enumerate(timeline.generations):
                yield _generation(timeline, generation, is_last=number == last)


class EventsReader(TimelineReader):
    """Events."""

    def rows(self, timelines: Iterable[Timeline]) -> Iterator[Mapping[str, Any]]:
        """See TimelineReader."""
        for row in event_rows(timelines):
            texts = row.get("partitions")
            assert texts is None or isinstance(texts, list)
            yield {**row, "partitions": [_named(text) for text in texts or ()]}


class GroupsSource(TableSource):
    """`kafka-groups`."""

    NAME: ClassVar[str] = "kafka-groups"
    TABLE: ClassVar[pa.Schema] = GROUPS_TABLE
    OPTIONS: ClassVar[tuple[str, ...]] = ("damage", "since", "until")

    def table_reader(self, given: GivenOptions, schema: pa.Schema) -> GroupsReader:
        """See TableSource."""
        return GroupsReader(AnswerOptions.of(given), GROUPS_TABLE, schema)


class TimelineSource(TableSource):
    """`kafka-timeline`."""

    NAME: ClassVar[str] = "kafka-timeline"
    TABLE: ClassVar[pa.Schema] = TIMELINE_TABLE
    OPTIONS: ClassVar[tuple[str, ...]] = ("damage", "since", "until")

    def table_reader(self, given: GivenOptions, schema: pa.Schema) -> EventsReader:
        """See TableSource."""
        return EventsReader(AnswerOptions.of(given), TIMELINE_TABLE, schema)


def _readable(
    items: Iterable[LoggedEntry | OffsetGap | Damage], problems: list[str]
) -> Iterator[LoggedEntry | OffsetGap]:
    for item in items:
        if isinstance(item, Damage):
            problems.append(damage_text(item))
        elif isinstance(item, LoggedEntry) and isinstance(item.entry, Undecodable):
            problems.append(undecodable_text(item, item.entry))
        else:
            yield item


def _generation(timeline: Timeline, generation: Generation, *, is_last: bool) -> Mapping[str, Any]:
    roster, moved = generation.roster, generation.moved
    return {
        "group": timeline.group_id,
        "generation": roster.generation,
        "time": roster.at_ms,
        "kind": roster.kind.value,
        "is_last": is_last,
        "protocol_type": roster.protocol_type or None,
        "protocol": roster.protocol,
        "leader": roster.leader,
        "members": [_member(member) for member in roster.members],
        "joined": [_who(member) for member in generation.joined],
        "left": [_who(member) for member in generation.left],
        "replaced": [{"old_member_id": old, "new_member_id": new} for old, new in generation.replaced],
        "gained": _shares(moved.gained),
        "lost": _shares(moved.lost),
        "moved": moved.moved,
        "kept": moved.kept,
        "leader_changed": generation.leader_changed,
        "since_previous_ms": generation.since_previous_ms,
        "commits": generation.commits,
        "commit_gap_ms": max((gap.length_ms for gap in generation.gaps), default=None),
        "unfinished_generations": generation.unfinished,
        "records_missing": generation.cut,
        "causes": [_cause(cause) for cause in generation.causes],
        "offsets_partition": roster.offsets_partition,
        "log_offset": roster.offset,
    }


def _who(member: TimelineMember) -> Mapping[str, Any]:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.client_host,
    }


def _member(member: TimelineMember) -> Mapping[str, Any]:
    return {
        **_who(member),
        "session_timeout_ms": member.session_timeout_ms,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "subscribed": None if member.subscribed is None else sorted(member.subscribed),
        "subscribed_regex": member.regex,
        "assigned": _partitions(sorted(member.owned)),
        "unreadable": member.unreadable,
    }


def _shares(shares: Mapping[str, Sequence[Partition]]) -> list[Mapping[str, Any]]:
    return [
        {"member_id": member_id, "partitions": _partitions(partitions)}
        for member_id, partitions in sorted(shares.items())
    ]


def _partitions(partitions: Iterable[Partition]) -> list[Mapping[str, Any]]:
    return [{"topic": each.topic, "partition": each.partition} for each in partitions]


def _cause(cause: Cause) -> Mapping[str, Any]:
    return {
        "cause": cause.kind.value,
        "grade": cause.grade.value,
        "evidence": cause.evidence,
        "member_ids": list(cause.member_ids),
        "alternatives": [each.value for each in cause.alternatives],
        "remedy": cause.remedy,
    }


def _named(text: str) -> Mapping[str, Any]:
    """A partition as rows of events have it: `topic-0`."""
    topic, _, partition = text.rpartition("-")
    return {"topic": topic, "partition": int(partition)}
