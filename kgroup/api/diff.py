"""Changes between two moments of a cluster, and the positions of groups in a mirror of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgroup.api.lag.options import LagOptions, matcher
from kgroup.api.lag.report import LagReport, report_on
from kgroup.api.names import names_given, nothing_matches, without_match
from kgroup.api.opened import OpenedLogs
from kgroup.api.tabular import Tabular
from kgroup.errors import InputError, SourceError
from kgroup.history.groups.compared import Change, Committed, Moment, changes
from kgroup.history.groups.model import simple_group
from kgroup.lag.findings.mirrored import MirroredCommit, MirrorFinding, judged, mirror_findings
from kgroup.lag.measures.rows import LagRow
from kgroup.log.files.log_dir import LogDir, SegmentFile
from kgroup.log.files.sources import STDIN
from kgroup.log.format.batch import Damage
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.log.topics.translated import Mirrored, Recognised, content_of
from kgroup.log.topics.unread import records_of
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.diff_rows import CHANGE_COLUMNS, MIRROR_COLUMNS, change_rows, mirror_rows
from kgroup.report.emit import Column, Row
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.table import counted


@dataclass(frozen=True, kw_only=True)
class Diff(Tabular):
    """Changes by group. `groups` is the number of groups on either side."""

    changes: tuple[Change, ...]
    groups: int
    problems: tuple[str, ...] = ()
    missing: str | None = None

    def __repr__(self) -> str:
        return f"<Diff of {counted(self.groups, 'group')}: {counted(len(self.changes), 'change')}>"

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup diff -o parquet`."""
        return CHANGE_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each change."""
        return change_rows(self.changes)


@dataclass(frozen=True, kw_only=True)
class MirrorDiff(Tabular):
    """The position in the mirror of each group of the source, by group, topic and partition."""

    commits: tuple[MirroredCommit, ...]
    groups: int
    absent: tuple[str, ...]
    problems: tuple[str, ...] = ()
    missing: str | None = None

    @property
    def findings(self) -> tuple[MirrorFinding, ...]:
        """Findings by group."""
        return tuple(mirror_findings(self.commits))

    def __repr__(self) -> str:
        return f"<MirrorDiff of {counted(self.groups, 'group')}: {counted(len(self.commits), 'partition')}>"

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup diff --mirror -o parquet`."""
        return MIRROR_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each partition that a group has committed in the source."""
        return mirror_rows(self.commits)


def diff(
    before: OpenedLogs,
    after: OpenedLogs,
    *,
    groups: str | Sequence[str] | None = None,
    topics: str | Sequence[str] | None = None,
    progress: Progress = NO_PROGRESS,
) -> Diff:
    """Compare two moments of a cluster.

    `groups` and `topics` are names or a shell's patterns. Raises SourceError if logs cannot be read, or none
    of the groups is on either side.
    """
    sides = _Sides(before, after, groups, topics, progress)
    found = tuple(changes(sides.moment(sides.first), sides.moment(sides.second)))
    return Diff(changes=found, groups=len(sides.there), problems=sides.problems, missing=sides.missing)


def mirror_diff(
    source: OpenedLogs,
    mirror: OpenedLogs,
    *,
    prefix: str = "",
    groups: str | Sequence[str] | None = None,
    topics: str | Sequence[str] | None = None,
    progress: Progress = NO_PROGRESS,
) -> MirrorDiff:
    """Judge the offsets that groups of `source` have in `mirror`, whose topics have `prefix` in front.

    Records are recognised where both sides' logs of a topic lie next to the offsets topic. Raises SourceError
    if logs cannot be read, or none of the groups is on either side.
    """
    sides = _Sides(source, mirror, groups, topics, progress)
    translations = _Translations(source, mirror, prefix)
    # By their names here: those that were asked for are the source's.
    there = {(row.group, row.topic, row.partition): row for row in sides.second.inputs.rows()}
    ends = {(row.topic, row.partition): row.log_end_offset for row in there.values()}
    starts = {(row.topic, row.partition): row.log_start_offset for row in there.values()}
    wanted = [row for row in sides.rows(sides.first) if row.current_offset is not None]
    made = []
    with progress.counted("partitions", len(wanted)) as advance:
        for row in wanted:
            place = (prefix + row.topic, row.partition)
            found = there.get((row.group, *place))
            end = ends.get(place)
            assert row.current_offset is not None
            made.append(
                judged(
                    row.group,
                    row.topic,
                    row.partition,
                    source_offset=row.current_offset,
                    mirror_offset=None if found is None else found.current_offset,
                    mirror_start=starts.get(place),
                    mirror_end=translations.end(place) if end is None else end,
                    logs=translations.of((row.topic, row.partition)),
                )
            )
            advance(1)
    present = sides.second.inputs.group_ids()
    return MirrorDiff(
        commits=tuple(made),
        groups=len({commit.group for commit in made}),
        absent=tuple(sorted({commit.group for commit in made} - present)),
        problems=(*sides.problems, *translations.problems),
        missing=sides.missing,
    )


class _Sides:
    """Both sides' groups and commits, of those that were asked for."""

    def __init__(
        self,
        first: OpenedLogs,
        second: OpenedLogs,
        groups: str | Sequence[str] | None,
        topics: str | Sequence[str] | None,
        progress: Progress,
    ) -> None:
        if any(segment.path == STDIN for logs in (first, second) for segment in _files(logs)):
            raise InputError("-: standard input is one log, and diff compares two: give files")
        self.first = report_on(first, LagOptions(), progress=progress)
        self.second = report_on(second, LagOptions(), progress=progress)
        self._wanted, self._topics = matcher(names_given(groups)), matcher(names_given(topics))
        everywhere = self.first.inputs.group_ids() | self.second.inputs.group_ids()
        self.missing: str | None = None
        if (names := names_given(groups)) and (unmatched := without_match(names, everywhere)):
            self.missing = nothing_matches("group", unmatched, everywhere, among="on either side")
            if len(unmatched) == len(set(names)):
                raise SourceError(self.missing)
        self.there = {group for group in everywhere if self._wanted(group)}
        self.problems = tuple(dict.fromkeys((*self.first.problems, *self.second.problems)))

    def rows(self, side: LagReport) -> Iterator[LagRow]:
        for row in side.inputs.rows():
            if self._wanted(row.group) and self._topics(row.topic):
                yield row

    def moment(self, side: LagReport) -> Moment:
        committed: dict[str, dict[TopicPartition, Committed]] = {}
        for row in self.rows(side):
            if row.current_offset is not None:
                place = (row.topic, row.partition)
                made = Committed(offset=row.current_offset, topic_id=row.topic_id)
                committed.setdefault(row.group, {})[place] = made
        known = {group: side.inputs.groups.get(group) for group in side.inputs.group_ids()}
        return Moment(
            groups={
                name: simple_group(name) if group is None else group
                for name, group in known.items()
                if self._wanted(name)
            },
            committed=committed,
        )


class _Translations:
    """Data records of both sides, a partition at a time, as many groups ask for the same one."""

    def __init__(self, source: OpenedLogs, mirror: OpenedLogs, prefix: str) -> None:
        self._prefix = prefix
        self._source, self._mirror = DataLogs(_log_dirs(source)), DataLogs(_log_dirs(mirror))
        self._kept: dict[TopicPartition, Mirrored | None] = {}
        self.problems: list[str] = []

    def end(self, place: TopicPartition) -> int | None:
        return self._mirror.end(*place)

    def of(self, place: TopicPartition) -> Mirrored | None:
        if place not in self._kept:
            try:
                self._kept[place] = self._read(*place)
            except SourceError as error:
                self.problems.append(str(error))
                self._kept[place] = None
        return self._kept[place]

    def _read(self, topic: str, partition: int) -> Mirrored | None:
        copied = self._prefix + topic
        if self._source.end(topic, partition) is None or self._mirror.end(copied, partition) is None:
            return None
        made = Mirrored(
            list(_recognised(self._source, topic, partition)),
            list(_recognised(self._mirror, copied, partition)),
        )
        if made.anchors == []:
            # Its brokers may give records times of their own (LogAppendTime).
            made = Mirrored(
                list(_recognised(self._source, topic, partition, timed=False)),
                list(_recognised(self._mirror, copied, partition, timed=False)),
            )
        return made


def _recognised(logs: DataLogs, topic: str, partition: int, *, timed: bool = True) -> Iterator[Recognised]:
    for item in logs.batches_from(topic, partition, 0):
        if isinstance(item, Damage):
            raise SourceError(f"{item.segment}: byte {item.position}: {item.why}; {topic} is not compared")
        if not item.batch.control:
            for record in records_of(item):
                yield Recognised(record.offset, content_of(record, timed=timed))


def _files(logs: OpenedLogs) -> Sequence[SegmentFile]:
    return () if logs.cluster is not None else logs.every_replica.segments


def _log_dirs(logs: OpenedLogs) -> Sequence[LogDir]:
    return () if logs.cluster is not None else logs.sources.log_dirs
