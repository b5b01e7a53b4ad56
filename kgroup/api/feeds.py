"""Edges between groups and topics: what groups' transactions write, what they read, who waits for whom."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from kgroup.api.lag.options import LagOptions, matcher
from kgroup.api.lag.reading import AsOf, read_log
from kgroup.api.lag.report import LagReport, report_of
from kgroup.api.names import LISTED, names_given, nothing_matches, without_match
from kgroup.api.opened import OpenedLogs
from kgroup.api.tabular import Tabular
from kgroup.errors import InputError, SourceError
from kgroup.history.feeds.connected import connected
from kgroup.history.feeds.declared import declared_feeds
from kgroup.history.feeds.edges import FeedFinder
from kgroup.history.feeds.model import Feed, FeedKind, TopicWriters
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.late import Because, Late, Lateness, Pulse, Reading
from kgroup.lag.findings.model import STUCK_KINDS
from kgroup.lag.measures.rows import LagRow
from kgroup.log.files.damage_text import damage_text
from kgroup.log.files.log_dir import OFFSETS_TOPIC
from kgroup.log.files.recording import RECORDING_TOPIC
from kgroup.log.files.sources import STDIN
from kgroup.log.format.batch import Damage
from kgroup.log.topics.logged_transactions import (
    LoggedTransaction,
    TransactionReader,
    logged_transactions,
    offsets_transactions,
)
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.report.emit import Column, Row
from kgroup.report.feed_rows import FEED_COLUMNS, feed_rows, feed_table
from kgroup.report.html_table import html_table
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.table import counted
from kgroup.scan.reductions.scan import newest_time

_INTERNAL: Final = frozenset(
    {OFFSETS_TOPIC, RECORDING_TOPIC, "__transaction_state", "__cluster_metadata", "__share_group_state"}
)


def feeds(
    logs: OpenedLogs,
    *,
    groups: str | Sequence[str] | None = None,
    now_ms: int | None = None,
    clock_ms: int | None = None,
    progress: Progress = NO_PROGRESS,
) -> "Feeds":
    """The edges between groups and topics, and which groups are late because others are.

    `groups` are names or shell patterns: only what leads to or from them is kept, through any number of
    steps. Lateness is as of `now_ms` (epoch ms), by default the newest record in the log, or `clock_ms` for
    a live cluster. For a live cluster only what groups read and declare is known, because what transactions
    wrote is in the topics' logs.

    Raises SourceError if the logs cannot be read, or none of the groups exists; InputError for a stream,
    which can be read only once.
    """
    if any(segment.path == STDIN for segment in logs.every_replica):
        raise InputError("-: standard input is read once, and feeds reads twice: give files")
    names = names_given(groups)
    options = LagOptions(findings=True)
    logs.pass_over_leaderless()
    scanned = read_log(logs, options.plan, progress, None)
    live = logs.cluster is not None
    as_of = AsOf.of(options, newest_time(scanned.newest), live=live, now_ms=now_ms, clock_ms=clock_ms)
    report = report_of(logs, options, scanned, as_of, progress=progress)
    there = report.inputs.group_ids()
    if names is not None and len(unmatched := without_match(names, there)) == len(set(names)):
        raise SourceError(nothing_matches("group", unmatched, there, LISTED))
    reader = _Reader(logs)
    found = list(reader.read(progress))
    found += declared_feeds(scanned.newest.others)
    found += _reads(report.rows())
    found.sort(key=lambda feed: (feed.group, not feed.is_into_group, feed.topic, feed.kind))
    late = _late(logs, report, found, reader.pulses)
    if names is not None:
        wanted = matcher(names)
        asked = {group for group in there if wanted(group)}
        found = list(connected(found, asked))
        late = [each for each in late if each.group in asked]
    else:
        # The writer of a quiet topic is always unknown: said only when asked for by name.
        late = [each for each in late if each.because is not Because.UNKNOWN]
    return Feeds(
        feeds=tuple(found),
        writers=reader.finder.writers(),
        late=tuple(late),
        groups=len(there),
        transactional=len(reader.finder.groups),
        as_of_ms=as_of.now_ms,
        is_live=live,
        problems=tuple(dict.fromkeys((*report.problems, *reader.problems))),
        missing=nothing_matches("group", unmatched, there) if names is not None and unmatched else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Feeds(Tabular):
    """Edges by group, what goes in first; as a table a row for each. `late` is by group and topic.

    `writers` are of the topics whose logs were looked into. Of `groups` groups `transactional` commit in
    transactions. `problems` are what could not be read: where and why.
    """

    feeds: tuple[Feed, ...]
    writers: tuple[TopicWriters, ...]
    late: tuple[Late, ...]
    groups: int
    transactional: int
    as_of_ms: int
    is_live: bool
    problems: tuple[str, ...] = ()
    missing: str | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Limits of what the edges can show."""
        return tuple(self._remarks())

    def _remarks(self) -> Iterator[str]:
        without = self.groups - self.transactional
        if without:
            yield (
                f"{counted(without, 'group')} of {self.groups:,} commit without transactions: what they write"
                " is unknown"
            )
        if self.is_live:
            yield (
                "of a live cluster only what groups read and declare: what their transactions write is in the"
                " topics' logs"
            )
        elif self.transactional and not self.writers:
            yield "no data topic's log lies next to the offsets topic, so what was written is unknown"

    def __repr__(self) -> str:
        return f"<Feeds of {counted(self.groups, 'group')}: {counted(len(self.feeds), 'edge')}>"

    def _repr_html_(self) -> str:
        return html_table(feed_rows(self.feeds), feed_table(), repr(self))

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup feeds -o parquet`."""
        return FEED_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each edge."""
        return feed_rows(self.feeds)


@dataclass(slots=True)
class _Reader:
    """Reads the headers of all batches, of the offsets topic and then of data topics."""

    logs: OpenedLogs
    finder: FeedFinder = field(default_factory=FeedFinder)
    pulses: dict[str, Pulse] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def read(self, progress: Progress) -> Iterator[Feed]:
        """The edges from groups to topics."""
        sources = self.logs.sources
        for _, segments in groupby(sources, key=lambda segment: (segment.partition, segment.folder)):
            for item in offsets_transactions(segments):
                if isinstance(item, Damage):
                    self.problems.append(damage_text(item))
                else:
                    self.finder.add_commits(*item)
        if self.logs.cluster is None and self.finder.groups:
            self._read_data()
        yield from self.finder.feeds()

    def _read_data(self) -> None:
        logs = DataLogs(self.logs.sources.log_dirs)
        for topic, places in groupby(logs.places(), key=lambda place: place[0]):
            if topic in _INTERNAL:
                continue
            pulses = [self._read_partition(logs, *place) for place in places]
            newest = [newest_ms for newest_ms, _ in pulses if newest_ms >= 0]
            gaps = [gap_ms for _, gap_ms in pulses if gap_ms is not None]
            if newest:
                self.pulses[topic] = Pulse(newest_ms=max(newest), longest_gap_ms=min(gaps, default=None))

    def _read_partition(self, logs: DataLogs, topic: str, partition: int) -> tuple[int, int | None]:
        """The newest time in its log and the longest gap between two batches."""
        reader = TransactionReader()
        try:
            folder = logs.folder(topic, partition)
            assert folder is not None, "it is one of those that are here"
            start = folder.log_start_offset() or 0
            for item in logged_transactions(folder.segments, reader, from_offset=start):
                if isinstance(item, LoggedTransaction):
                    self.finder.add_written(topic, partition, item)
                else:
                    self.problems.append(damage_text(item))
        except SourceError as error:
            self.problems.append(str(error))
        self.finder.add_outside(topic, reader.outside)
        return reader.newest_ms, reader.longest_gap_ms


def _reads(rows: Iterator[LagRow]) -> Iterator[Feed]:
    """Edges from topics to the groups that read them, by their commits."""
    committed = (row for row in rows if row.current_offset is not None)
    for (group, topic), of_topic in groupby(committed, key=lambda row: (row.group, row.topic)):
        rows_of_topic = list(of_topic)
        yield Feed(
            group=group,
            topic=topic,
            kind=FeedKind.READS,
            grade=Grade.RECORDED,
            partitions=tuple(row.partition for row in rows_of_topic),
            last_ms=max((row.commit_timestamp or 0 for row in rows_of_topic), default=None),
        )


def _late(
    logs: OpenedLogs, report: LagReport, found: Sequence[Feed], pulses: Mapping[str, Pulse]
) -> list[Late]:
    if not pulses:
        return []
    data_logs = DataLogs(logs.sources.log_dirs)
    readings: list[Reading] = []
    standing: dict[str, str] = {}
    for (facts, _), findings in report.groups():
        stuck = next((finding for finding in findings if finding.kind in STUCK_KINDS), None)
        group = facts.group.group_id
        if stuck is not None:
            standing[group] = f"{stuck.kind}: {stuck.evidence}"
        rows = (partition.row for partition in facts.partitions)
        committed = [row for row in rows if row.current_offset is not None]
        for topic, of_topic in groupby(committed, key=lambda row: row.topic):
            readings.append(_reading(group, topic, list(of_topic), data_logs))
    return list(Lateness(found, readings, pulses, standing, report.as_of.now_ms).all())


def _reading(group: str, topic: str, rows: Sequence[LagRow], data_logs: DataLogs) -> Reading:
    unread, since = 0, list[int]()
    for row in rows:
        if row.lag is None or row.current_offset is None:
            return Reading(group=group, topic=topic, unread=None)
        if row.lag <= 0:
            continue
        try:
            first = data_logs.first_unread(topic, row.partition, row.current_offset)
        except SourceError:
            return Reading(group=group, topic=topic, unread=None)
        if first is None and data_logs.end(topic, row.partition) is not None:
            continue  # markers of transactions, and no record
        unread += row.lag
        if first is not None and first.timestamp_ms >= 0:
            since.append(first.timestamp_ms)
    return Reading(group=group, topic=topic, unread=unread, unread_since_ms=min(since, default=None))
