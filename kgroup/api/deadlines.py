"""Deadlines: when a group's lag exceeds a bound, and when retention deletes what the group has not read."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kgroup.api.lag.inputs import gather
from kgroup.api.lag.options import LagOptions, matcher
from kgroup.api.lag.reading import AsOf, read_log
from kgroup.api.lag.windows import Windows
from kgroup.api.names import names_given, nothing_matches, without_match
from kgroup.api.opened import OpenedLogs
from kgroup.api.tabular import Tabular
from kgroup.errors import InputError, SourceError
from kgroup.lag.deadlines.deadlines import Forecast, passed
from kgroup.lag.deadlines.model import (
    Deadline,
    DeadlineKind,
    DeadlineNote,
    Outlook,
    PartitionPast,
    Seen,
)
from kgroup.lag.findings.text import listed
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.measures.rows import LagRow
from kgroup.log.files.sources import STDIN
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.report.deadline_rows import DEADLINE_COLUMNS, PartitionDeadline, deadline_rows, deadline_table
from kgroup.report.emit import Column, Row
from kgroup.report.html_table import html_table
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.table import counted
from kgroup.scan.reductions.scan import newest_time
from kgroup.scan.reductions.scanned import ScanPlan

if TYPE_CHECKING:
    from kgroup.net.admin.cluster import Cluster
    from kgroup.net.admin.topic_retention import TopicRetention

_COMMITS: Final = 64  # the last ones that a pace is from
_COMMITS_LIVE: Final = 16  # as each takes a request to every broker
_TIMES: Final = 120
_TIMES_LIVE: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds to check: lags in records and in ms, `retention.ms` and `retention.bytes`; None is not.

    With `of_topics` retention is each topic's own.
    """

    slo_records: Sequence[int] = ()
    slo_ms: Sequence[int] = ()
    retention_ms: int | None = None
    retention_bytes: int | None = None
    of_topics: "Mapping[str, TopicRetention] | None" = None

    def of(self, topic: str) -> "Bounds":
        """The bounds for a topic."""
        if self.of_topics is None:
            return self
        ms, size = self.of_topics.get(topic, (None, None))
        return replace(self, retention_ms=ms, retention_bytes=size, of_topics=None)

    def require(self) -> None:
        """Raises InputError without any bound, or for an invalid one."""
        given = (*self.slo_records, *self.slo_ms, self.retention_ms, self.retention_bytes)
        if all(each is None for each in given) and self.of_topics is None:
            raise InputError("no bound given: an SLO, as 10m or 10000 records, or a topic's retention")
        if any(each is not None and each < 1 for each in given):
            raise InputError("a bound is at least 1")

    @property
    def longest_ms(self) -> int:
        """The time back from now over which log ends are needed."""
        return max((*self.slo_ms, self.retention_ms or 0), default=0)


def deadlines(
    logs: OpenedLogs,
    *,
    slo_records: int | Sequence[int] = (),
    slo_ms: int | Sequence[int] = (),
    retention_ms: int | None = None,
    retention_bytes: int | None = None,
    topic_retention: bool = False,
    groups: str | Sequence[str] | None = None,
    topics: str | Sequence[str] | None = None,
    log_ends: str | Path | None = None,
    now_ms: int | None = None,
    clock_ms: int | None = None,
    progress: Progress = NO_PROGRESS,
) -> "Deadlines":
    """Predict when each partition's lag will first exceed bounds, and when retention will overtake it.

    `slo_records` and `slo_ms` are bounds of the lag in records and in time; `retention_ms` and
    `retention_bytes` are the topics' settings of that name, which no log contains; `topic_retention` asks a
    live cluster for each topic's own. At least one is required. Each answer is an interval, computed from
    the pace of the group's last commits and of the topic's own log. As of `now_ms` (epoch ms), by default
    the newest record in the log.

    Raises SourceError if the logs cannot be read, or no group or topic matches; InputError without any
    bound, for a stream, or for topics' own retention without a cluster.
    """
    if any(segment.path == STDIN for segment in logs.every_replica):
        raise InputError("-: standard input has no topics' logs next to it: give files")
    bounds = Bounds(
        slo_records=(slo_records,) if isinstance(slo_records, int) else tuple(slo_records),
        slo_ms=(slo_ms,) if isinstance(slo_ms, int) else tuple(slo_ms),
        retention_ms=retention_ms,
        retention_bytes=retention_bytes,
        of_topics={} if topic_retention else None,
    )
    bounds.require()
    if topic_retention and logs.cluster is None:
        raise InputError("topics' own retention is a live cluster's to say: give --retention DURATION")
    group_names, topic_names = names_given(groups), names_given(topics)
    live = logs.cluster is not None
    commits = _COMMITS_LIVE if live else _COMMITS
    logs.pass_over_leaderless()
    scanned = read_log(logs, ScanPlan(slots=commits, findings=False), progress, None)
    assert scanned.last is not None
    as_of = AsOf.of(
        LagOptions(findings=True),
        newest_time(scanned.newest),
        live=live,
        now_ms=now_ms,
        clock_ms=clock_ms,
    )
    file = None if log_ends is None else Path(log_ends)
    there: set[str] = set()
    wanted = matcher(group_names)

    def is_wanted(group: str) -> bool:
        there.add(group)
        return wanted(group)

    inputs = gather(scanned.newest, logs.sources, file, is_wanted, logs.listing, logs.judged)
    missing = _missing("group", group_names, there) + _missing("topic", topic_names, inputs.topics())
    rows = [row for row in inputs.rows() if matcher(topic_names)(row.topic)]
    if missing and not rows:
        raise SourceError("; ".join(missing))
    kept: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    if topic_retention and logs.cluster is not None:
        from kgroup.net.admin.topic_retention import topic_retention as asked

        named = {row.topic for row in rows}
        own = asked(logs.cluster, named)
        bounds = replace(bounds, of_topics=own)
        kept = tuple(sorted(topic for topic, bound in own.items() if bound == (None, None)))
        hidden = tuple(f"topic {topic}: its settings may not be read" for topic in sorted(named - own.keys()))
    reader = _PastReader(logs, Windows(scanned.last, commits), as_of.now_ms)
    made = [each for row in rows for each in _of_row(row, bounds.of(row.topic), reader)]
    made.sort(key=_soonest)
    return Deadlines(
        deadlines=tuple(made),
        now_ms=as_of.now_ms,
        problems=tuple(dict.fromkeys((*inputs.problems, *reader.problems, *hidden))),
        missing=tuple(missing),
        kept=kept,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines(Tabular):
    """Deadlines, soonest first; as a table, a row for each. `problems` say what could not be read.

    `kept` lists topics whose own settings mean that retention never deletes from them.
    """

    deadlines: tuple[PartitionDeadline, ...]
    now_ms: int
    problems: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def in_sight(self) -> tuple[PartitionDeadline, ...]:
        """The deadlines already passed or expected."""
        near = (Outlook.PASSED, Outlook.EXPECTED)
        return tuple(each for each in self.deadlines if each.deadline.outlook in near)

    def within(self, length_ms: int) -> tuple[PartitionDeadline, ...]:
        """The deadlines in sight that may be met within this many ms from now."""
        until_ms = self.now_ms + length_ms
        return tuple(each for each in self.in_sight if (each.deadline.low_ms or 0) <= until_ms)

    def __repr__(self) -> str:
        return f"<Deadlines: {len(self.in_sight)} of {len(self.deadlines)} in sight>"

    def _repr_html_(self) -> str:
        return html_table(deadline_rows(self.deadlines, self.now_ms), deadline_table(), repr(self))

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup deadlines -o parquet`."""
        return DEADLINE_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each deadline."""
        return deadline_rows(self.deadlines, self.now_ms)


def _missing(kind: str, names: tuple[str, ...] | None, there: set[str]) -> list[str]:
    unmatched = without_match(names, there) if names else []
    return [nothing_matches(kind, unmatched, there)] if unmatched else []


def _soonest(each: PartitionDeadline) -> tuple[object, ...]:
    deadline = each.deadline
    order = list(Outlook).index(deadline.outlook)
    return order, deadline.low_ms or 0, each.group, each.topic, each.partition, deadline.kind, deadline.bound


def _of_row(row: LagRow, bounds: Bounds, reader: "_PastReader") -> Iterator[PartitionDeadline]:
    past = reader.past(row, bounds)
    forecast = None if isinstance(past, DeadlineNote) else Forecast(past)
    asked: list[tuple[DeadlineKind, int, Callable[[Forecast], Deadline]]] = [
        *((DeadlineKind.SLO_RECORDS, n, lambda f, n=n: f.slo_records(n)) for n in bounds.slo_records),
        *((DeadlineKind.SLO_TIME, ms, lambda f, ms=ms: f.slo_time(ms)) for ms in bounds.slo_ms),
    ]
    if (retention_ms := bounds.retention_ms) is not None:
        asked.append((DeadlineKind.RETENTION_TIME, retention_ms, lambda f: f.retention_time(retention_ms)))
    if (size := bounds.retention_bytes) is not None:
        asked.append((DeadlineKind.RETENTION_BYTES, size, lambda f: f.retention_bytes(size)))
    for kind, bound, answer in asked:
        if forecast is not None:
            deadline = answer(forecast)
        else:
            assert isinstance(past, DeadlineNote)
            if kind is DeadlineKind.SLO_RECORDS and row.lag is not None and row.lag > bound:
                deadline = passed(kind, bound, reader.now_ms)  # that takes no pace
            else:
                deadline = Deadline(kind=kind, bound=bound, outlook=Outlook.UNKNOWN, note=past)
        yield PartitionDeadline(
            group=row.group, topic=row.topic, partition=row.partition, lag=row.lag, deadline=deadline
        )


@dataclass(slots=True)
class _PastReader:
    """Puts together what forecasts are made from."""

    logs: OpenedLogs
    windows: Windows
    now_ms: int
    problems: list[str] = field(default_factory=list)
    _data_logs: DataLogs = field(init=False)

    def __post_init__(self) -> None:
        self._data_logs = DataLogs(self.logs.sources.log_dirs)

    def past(self, row: LagRow, bounds: Bounds) -> PartitionPast | DeadlineNote:
        """None of it where the reason stands in its place."""
        if row.topic_state in (TopicState.DELETED, TopicState.RECREATED):
            return DeadlineNote.TOPIC_GONE
        commits = [each for each in self.windows.of_row(row).commits if each.timestamp <= self.now_ms]
        if not commits:
            return DeadlineNote.NO_COMMIT
        if row.log_end_offset is None:
            return DeadlineNote.NO_LOG_END
        step_ms = max(bounds.longest_ms, self.now_ms - commits[0].timestamp)
        times = _TIMES if self.logs.cluster is None else _TIMES_LIVE
        grid = {self.now_ms - step_ms * number // times for number in range(times + 1)}
        times_ms = sorted(grid | {commit.timestamp for commit in commits})
        try:
            ends = self._ends(row, times_ms)
            nothing_left = ends is not None and self._nothing_left(row, commits[-1].offset)
        except SourceError as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))
            return DeadlineNote.UNREADABLE
        if ends is None:
            return DeadlineNote.NO_DATA_LOG
        known = KnownEnds(times_ms, ends)
        end = known.at(self.now_ms) or row.log_end_offset
        return PartitionPast(
            seen=tuple(
                Seen(commit.timestamp, commit.offset, known.at(commit.timestamp) or 0) for commit in commits
            ),
            position=end if nothing_left else commits[-1].offset,
            end=end,
            now_ms=self.now_ms,
            ended_at=known.at,
            deleted_from=self._segment_base(row),
            bytes_per_record=self._bytes_per_record(row),
        )

    def _ends(self, row: LagRow, times_ms: list[int]) -> list[int | None] | None:
        """The log's end at each of these times; None if the log is not here."""
        assert row.log_end_offset is not None
        if self.logs.cluster is not None:
            return _live_ends(self.logs.cluster, row, times_ms)
        if self._data_logs.end(row.topic, row.partition) is None:
            return None
        ends = self._data_logs.ends_at(row.topic, row.partition, times_ms)
        # Before its first record that is left the log ended no later than there.
        return [row.log_start_offset if end is None else end for end in ends]

    def _nothing_left(self, row: LagRow, offset: int) -> bool:
        """Whether only markers of transactions follow, which nobody reads."""
        if self.logs.cluster is not None or offset >= (row.log_end_offset or 0):
            return False
        return self._data_logs.first_unread(row.topic, row.partition, offset) is None

    def _segment_base(self, row: LagRow) -> Callable[[int], int]:
        folder = None
        if self.logs.cluster is None:
            folder = self._data_logs.folder(row.topic, row.partition)
        bases = [segment.base_offset or 0 for segment in folder.segments] if folder is not None else []
        return lambda offset: bases[max(bisect_right(bases, offset) - 1, 0)] if bases else offset

    def _bytes_per_record(self, row: LagRow) -> float | None:
        folder = self._data_logs.folder(row.topic, row.partition) if self.logs.cluster is None else None
        if folder is None or not folder.segments:
            return None
        size = sum(Path(segment.path).stat().st_size for segment in folder.segments)
        records = (row.log_end_offset or 0) - (folder.segments[0].base_offset or 0)
        return size / records if records > 0 and size else None


def _live_ends(cluster: "Cluster", row: LagRow, times_ms: list[int]) -> list[int | None]:
    from kgroup.net.admin.timestamps import TimeInLog, first_newer

    asked = [TimeInLog(row.topic, row.partition, time_ms) for time_ms in times_ms]
    answers = first_newer(cluster, asked)
    return [row.log_end_offset if (end := answers.get(each)) is None else end for each in asked]


@dataclass(frozen=True, slots=True)
class KnownEnds:
    """Log ends at rising times; between two of them on a line."""

    times_ms: list[int]
    ends: list[int | None]

    def at(self, time_ms: int) -> int | None:
        """The log end at that time; None before the first time, or where that is unknown."""
        index = bisect_right(self.times_ms, time_ms)
        if index == 0:
            return None
        before, after = self.ends[index - 1], self.ends[min(index, len(self.ends) - 1)]
        if before is None or after is None or index == len(self.times_ms):
            return before
        from_ms, to_ms = self.times_ms[index - 1], self.times_ms[index]
        return before + (after - before) * (time_ms - from_ms) // (to_ms - from_ms)


def summary(made: Deadlines) -> str:
    """The number of deadlines in sight, and of those that are unknown."""
    unknown = [each.deadline.note for each in made.deadlines if each.deadline.outlook is Outlook.UNKNOWN]
    reasons = ", ".join(sorted({str(note) for note in unknown if note is not None}))
    of_unknown = f"; of {len(unknown)} nothing is known: {reasons}" if unknown else ""
    of_kept = f"; no retention deletes {listed(made.kept)}" if made.kept else ""
    return f"{len(made.in_sight)} of {counted(len(made.deadlines), 'deadline')} in sight{of_unknown}{of_kept}"
