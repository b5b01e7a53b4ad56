"""`lag-report --windows`: how far groups were behind at the end of each window of time, from the whole log.

Two passes, locally and on Spark alike: a reduction of the log to the last commits of each window; then, with
the log ends of the time, rows of one offsets partition after the other.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from kgroup.cli.lag_look import WINDOW_COMMITS, LagQuestion, OpenedLogs, matcher
from kgroup.cli.lag_spark import job_of, job_progress, said_saved
from kgroup.cli.progress import byte_progress
from kgroup.cli.times import parse_length
from kgroup.errors import InputError, SourceError
from kgroup.group.lag_history import LagAt, LoggedCommit, WindowsOfTime, lag_history, proven_end
from kgroup.group.lag_rules import LagRules, RuleSet, rules_named
from kgroup.log.scan_last import Keep, LastPart, counting, last_part
from kgroup.report.emit import (
    Column,
    Kind,
    OutputFormat,
    OutputOptions,
    Row,
    arrow_batches,
    arrow_schema,
    emit,
    iso_time,
)
from kgroup.report.table import printable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kgroup.log.sources import Sources

COLUMNS: Final = (
    Column(name="window_start", kind=Kind.TIME_MS),
    Column(name="window_end", kind=Kind.TIME_MS),
    Column(name="group"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="current_offset", kind=Kind.INTEGER),
    Column(name="progress", kind=Kind.INTEGER),
    Column(name="log_end_offset", kind=Kind.INTEGER),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="status"),
    Column(name="rule"),
    Column(name="evidence", kind=Kind.NESTED),
    Column(name="offsets_partition", kind=Kind.INTEGER),
)
_ONLY_FOR_PROGRAMS: Final = {"window_end", "evidence", "offsets_partition"}
TABLE_COLUMNS: Final = tuple(column for column in COLUMNS if column.name not in _ONLY_FOR_PROGRAMS)

# Between executors and the driver times are numbers, as they are in all that is no table.
_TRANSIT_COLUMNS: Final = tuple(
    replace(column, kind=Kind.INTEGER) if column.kind is Kind.TIME_MS else column for column in COLUMNS
)
_ORDER: Final = ("group", "topic", "partition", "offsets_partition", "window_start")
_SLICE_BYTES: Final = 256 * 1024 * 1024  # between two looks at the progress bar
_WINDOWS_MAX: Final = 20_000  # 208 days of quarters of an hour

_ROWS_AT_ONCE: Final = 4096
_KEY: Final = ("group", "topic", "partition", "offsets_partition")
_VALUES: Final = ("offset", "commit_timestamp", "record_timestamp", "log_offset", "value_version")

TopicPartition = tuple[str, int]
_Key = tuple[str, str, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions:
    """What was asked for. `since_ms` and `until_ms` are as far as the log goes if None."""

    length_ms: int
    since_ms: int | None
    until_ms: int | None
    slots: int
    rules: LagRules
    wanted_group: Callable[[str], bool]
    wanted_topic: Callable[[str], bool]
    only_lagging: bool
    quiet: bool

    def is_wanted(self, group: str, topic: str) -> bool:
        """Whether rows of a group and topic are asked for."""
        return self.wanted_group(group) and self.wanted_topic(topic)

    @property
    def keep(self) -> Keep:
        """What the reduction keeps."""
        return Keep(slots=self.slots, period_ms=self.length_ms)


@dataclass(frozen=True, slots=True)
class Extent:
    """When the first and the last commit of a part were made, and which topic partitions they are of."""

    oldest_ms: int
    newest_ms: int
    places: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class PastEnds:
    """Of one topic partition: the log end when each window ended, and that of now; None is unknown."""

    by_window: Sequence[int | None]
    now: int | None


EndsIn = Callable[[Sequence[TopicPartition], Sequence[int]], Mapping[TopicPartition, PastEnds]]
"""Says where logs ended at rising times (epoch ms), and where they end now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All that the rows of any part are made with."""

    options: HistoryOptions
    windows: WindowsOfTime
    ends: Mapping[TopicPartition, PastEnds]

    def rows(self, part: LastPart) -> Iterator[Row]:
        """The rows of a part that holds whole offsets partitions, sorted by group, topic, partition."""
        found = counting(part, self.options.keep)
        changes = found.membership_changes
        for key, commits in _by_key(found.commits):
            group, topic, partition, offsets_partition = key
            if not self.options.is_wanted(group, topic):
                continue
            told = lag_history(
                commits,
                self.windows,
                self.options.slots,
                partial(self._end, (topic, partition)),
                self.options.rules,
                changes.get((offsets_partition, group), ()),
            )
            for row in told:
                if not self.options.only_lagging or (row.lag or 0) > 0:
                    yield self._row(key, row)

    def unknown(self) -> list[TopicPartition]:
        """Partitions of which no log end of the past is known."""
        return sorted(place for place, ends in self.ends.items() if not any(ends.by_window))

    def _end(self, place: TopicPartition, window: int, current_offset: int) -> int | None:
        ends = self.ends.get(place)
        if ends is None:
            return None
        return proven_end(ends.by_window[window - self.windows.first], current_offset, ends.now)

    def _row(self, key: _Key, row: LagAt) -> Row:
        group, topic, partition, offsets_partition = key
        verdict = row.verdict
        return {
            "window_start": self.windows.start_ms(row.window),
            "window_end": self.windows.end_ms(row.window),
            "group": group,
            "topic": topic,
            "partition": partition,
            "current_offset": row.current_offset,
            "progress": row.progress,
            "log_end_offset": row.log_end_offset,
            "lag": row.lag,
            "status": verdict.status.value if verdict else None,
            "rule": verdict.rule.value if verdict else None,
            "evidence": verdict.numbers() if verdict else None,
            "offsets_partition": offsets_partition,
        }


def window_length(text: str) -> int:
    """Milliseconds of `--windows`. Raises InputError if it is no duration, or below a second."""
    return parse_length(text, "--windows", least="1s")


def history_asked(
    question: LagQuestion, length: str, span_ms: tuple[int | None, int | None], rules: RuleSet
) -> HistoryOptions:
    """What the command's options ask for. Raises InputError for a length that is none."""
    since_ms, until_ms = span_ms
    return HistoryOptions(
        length_ms=window_length(length),
        since_ms=since_ms,
        until_ms=until_ms,
        slots=WINDOW_COMMITS,
        rules=rules_named(rules),
        wanted_group=matcher(question.groups),
        wanted_topic=matcher(question.topics),
        only_lagging=question.only_lagging,
        quiet=question.quiet,
    )


def report_history(
    session: "SparkSession | None",
    logs: OpenedLogs,
    options: HistoryOptions,
    save_as: str | None,
    destination: OutputOptions,
) -> None:
    """Read the log, here or on Spark, and write the rows to their destination or into a catalog's table."""
    columns = TABLE_COLUMNS if destination.format is OutputFormat.TABLE else COLUMNS
    if session is None:
        history, rows = history_here(logs.sources, options)
        emit(rows, columns, destination)
    else:
        with history_on_spark(session, logs, options) as (history, frame):
            if save_as is None:
                emit(rows_from_spark(frame), columns, destination)
            else:
                save_history(session, save_as, frame, quiet=options.quiet)
    unknown = history.unknown()
    if unknown and not options.quiet:
        partitions = "1 partition" if len(unknown) == 1 else f"{len(unknown)} partitions"
        topic, partition = unknown[0]
        more = f"{topic} {partition}" + (" and others" if len(unknown) > 1 else "")
        print(
            f"kgroup: no log ends of the time are known of {partitions} ({printable(more)}): lag is unknown",
            file=sys.stderr,
        )


def history_here(
    sources: "Sources", options: HistoryOptions, ends_in: "EndsIn | None" = None
) -> tuple[History, Iterator[Row]]:
    """Read the log here; also return the rows, sorted by group, topic, partition and window.

    `ends_in` knows past log ends, if the logs beside the offsets topic shall not be asked.
    """
    from kgroup.log.scan import split

    slices = [part for segment in sources for part in split(segment.path, segment.partition, _SLICE_BYTES)]
    with byte_progress(
        "reading", sum(part.end - part.start for part in slices), quiet=options.quiet
    ) as advance:
        part = last_part(slices, options.keep, advance)
    history = plan([extent_of(part, options)], sources, options, ends_in)
    return history, history.rows(part)


@contextmanager
def history_on_spark(
    session: "SparkSession", logs: OpenedLogs, options: HistoryOptions
) -> "Iterator[tuple[History, DataFrame]]":
    """Let executors read the log and make the rows: the same, as a DataFrame whose times are epoch ms."""
    from kgroup.spark import jobs
    from kgroup.spark.reductions import LastCommitsOfEach

    reduction = LastCommitsOfEach(options.keep)
    with jobs.kept_parts(session, *job_of(logs, reduction)) as parts:
        with job_progress(session, "Spark is reading", quiet=options.quiet):
            extents = jobs.of_each_part(parts, partial(extent_of, options=options))
        history = plan(extents, logs.sources, options)
        schema = arrow_schema(_TRANSIT_COLUMNS)
        yield history, jobs.rows_of_parts(parts, partial(_transit_batches, history), schema).orderBy(*_ORDER)


def rows_from_spark(frame: "DataFrame") -> Iterator[Row]:
    """The rows as they are here; one of Spark's partitions is held at a time."""
    from kgroup.spark.jobs import fetched

    for row in fetched(frame):
        evidence = row["evidence"]
        yield {**row, "evidence": None if evidence is None else json.loads(evidence)}


def save_history(session: "SparkSession", name: str, frame: "DataFrame", *, quiet: bool) -> None:
    """Let executors write the rows as a table of Spark's catalog."""
    from kgroup.spark.tables import save_frame

    times = [column.name for column in COLUMNS if column.kind is Kind.TIME_MS]
    said_saved(name, save_frame(session, name, frame, times), quiet=quiet)


def _transit_batches(history: History, part: LastPart) -> "Iterator[pa.RecordBatch]":
    return arrow_batches(history.rows(part), _TRANSIT_COLUMNS)


def plan(
    extents: Iterable[Extent | None],
    sources: "Sources",
    options: HistoryOptions,
    ends_in: "EndsIn | None" = None,
) -> History:
    """From what there is in the parts to the windows to tell of, and the log ends in them.

    Raises InputError if the windows are too many, SourceError if there is no commit.
    """
    known = [extent for extent in extents if extent is not None]
    if not known:
        raise SourceError("the log holds no commit, so it has no history")
    oldest_ms = min(extent.oldest_ms for extent in known)
    newest_ms = max(extent.newest_ms for extent in known)
    until_ms = newest_ms if options.until_ms is None else options.until_ms
    since_ms = oldest_ms if options.since_ms is None else max(options.since_ms, oldest_ms)
    windows = WindowsOfTime.between(since_ms, until_ms, options.length_ms)
    if len(windows) > _WINDOWS_MAX:
        raise InputError(
            f"--windows: {len(windows)} of them from {iso_time(since_ms)} to {iso_time(until_ms)};"
            f" no more than {_WINDOWS_MAX}: give longer ones, or a later --since"
        )
    times = [windows.end_ms(windows.first + number) - 1 for number in range(len(windows))]
    places = sorted({place for extent in known for place in extent.places})
    ends = (ends_in or partial(_ends_in_files, sources))(places, times)
    return History(options=options, windows=windows, ends=ends)


def _ends_in_files(
    sources: "Sources", places: Sequence[TopicPartition], times_ms: Sequence[int]
) -> dict[TopicPartition, PastEnds]:
    from kgroup.log.data_logs import DataLogs

    logs = DataLogs(sources.log_dirs)
    return {place: PastEnds(logs.ends_at(*place, times_ms), logs.end(*place)) for place in places}


def extent_of(part: LastPart, options: HistoryOptions) -> Extent | None:
    """What `plan` needs of a part; None if there is no commit in it. Its places are those that are wanted."""
    oldest_ms = newest_ms = None
    places: set[TopicPartition] = set()
    for (group, topic, partition, _), commits in _by_key(part.settled):
        times = [commit.timestamp for commit in commits if commit.offset is not None]
        if not times:
            continue
        oldest_ms = min(times) if oldest_ms is None else min(oldest_ms, *times)
        newest_ms = max(times) if newest_ms is None else max(newest_ms, *times)
        if options.is_wanted(group, topic):
            places.add((topic, partition))
    if oldest_ms is None or newest_ms is None:
        return None
    return Extent(oldest_ms, newest_ms, frozenset(places))


def _by_key(commits: "pa.Table") -> Iterator[tuple[_Key, Iterator[LoggedCommit]]]:
    """Each group, topic, partition and offsets partition with its commits and tombstones."""
    for key, rows in groupby(_in_order(commits), key=itemgetter(0)):
        yield key, (commit for _, commit in rows)


def _in_order(commits: "pa.Table") -> Iterator[tuple[_Key, LoggedCommit]]:
    for batch in commits.to_batches(max_chunksize=_ROWS_AT_ONCE):
        columns = {name: batch[name].to_pylist() for name in batch.schema.names}
        keys = zip(*(columns[name] for name in _KEY), strict=True)
        values = zip(*(columns[name] for name in _VALUES), strict=True)
        for key, (offset, committed_ms, recorded_ms, log_offset, version) in zip(keys, values, strict=True):
            if version < 0:
                yield key, LoggedCommit(None, recorded_ms, log_offset)
            else:
                yield key, LoggedCommit(offset, committed_ms, log_offset)
