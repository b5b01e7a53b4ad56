"""A lag report whose rows are made by executors, so that the driver's memory does not grow with the groups.

The log is reduced to pieces of whole groups. Of each the driver hears how much it is, of which topics, and
how far anybody had got in these. By this it finds log ends, and plans ranges of groups; each range goes to
one executor, from all offsets partitions, with what is known of the whole. There rows are made and judged as
they are here, and stay until the driver fetches one range after the other, or lets executors write a table.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from json import loads
from typing import TYPE_CHECKING, Any, Final

from kgroup.api.lag.chunks import LagChunk
from kgroup.api.lag.found_texts import found_of
from kgroup.api.lag.inputs import problems_in, raised, remarks_on_all
from kgroup.api.lag.on_spark import amount_of, job_of, job_progress, reduction_of
from kgroup.api.lag.options import LagOptions, matcher
from kgroup.api.lag.piece_report import FINDINGS, PieceNote, PieceReport, texts_in
from kgroup.api.lag.piece_summary import Summary, Summing
from kgroup.api.lag.reading import AsOf
from kgroup.api.names import LISTED, nothing_matches, without_match
from kgroup.api.opened import OpenedLogs, left_out
from kgroup.errors import NoMatchError
from kgroup.lag.findings.census import large, remark_on, together
from kgroup.lag.findings.kinds import remarks_on_streams
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.log.files.log_dir import OFFSETS_TOPIC, LogDir
from kgroup.log.topics.log_ends import LogDirEndsReader
from kgroup.log.topics.log_ends_file import read_log_ends_file
from kgroup.report.emit import Column, Kind, arrow_batches
from kgroup.report.emit_batches import transit_columns, transit_schema
from kgroup.report.emit_columns import Columns
from kgroup.report.lag.finding_rows import FINDING_COLUMNS, Found, finding_rows
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.scan.reductions.cut_groups import LEFT_OUT, cut_by_hash, cut_groups
from kgroup.scan.reductions.history import History
from kgroup.scan.reductions.scanned import ScanPlan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kgroup.net.connect.properties import ConnectionOptions
    from kgroup.spark.exchange import KeptBatches

WORTH_BYTES: Final = 16 * 1024 * 1024
"""Of a log that one task reads, rows are made where its part comes to: more steps would cost more."""

_ROWS_OF_TASK: Final = 1 << 16
_SUMMARIES: Final = "summaries of all parts of the log"
_NAMES: Final = "the names of all groups"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportThere:
    """A report made by executors. Its lines are complete; rows and findings are fetched at each call."""

    options: LagOptions
    as_of: AsOf
    row_problems: tuple[str, ...]
    proof_problems: tuple[str, ...]
    remarks: tuple[str, ...]
    records: int
    """The records of the offsets topic that it is made of."""
    looks: None = None
    _session: "SparkSession"
    _kept: "KeptBatches"
    _missing: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """Places that could not be read."""
        return tuple(dict.fromkeys((*self.row_problems, *self.proof_problems)))

    def chunks(self) -> Iterator[LagChunk]:
        """The rows, by group, topic, partition, with all columns and nothing else."""
        nested = {
            column.name for column in self.options.columns(is_table=False) if column.kind is Kind.NESTED
        }
        for batch in self._kept.fetched():
            yield LagChunk(rows=(), columns=_columns(batch, nested), all_rows=())

    def found(self) -> Iterator[Found]:
        """The findings, by group."""
        for batch in self._kept.fetched(FINDINGS):
            yield from map(found_of, texts_in(batch))

    def missing(self) -> Iterator[str]:
        """The groups and topics that were asked for and do not exist."""
        return iter(self._missing)

    def save(self, name: str, columns: Sequence[Column], *, only_lagging: bool) -> int:
        """Let executors write rows as a table of Spark's catalog; return how many they are."""
        return self._saved(name, columns, self._frame(only_lagging=only_lagging))

    def save_findings(self, name: str, *, hygiene: bool) -> int:
        """The same of findings, with those of hygiene or without."""
        turn = partial(_finding_batch, hygiene=hygiene)
        frame = self._kept.turned(FINDINGS, transit_schema(FINDING_COLUMNS), turn)
        return self._saved(name, FINDING_COLUMNS, frame)

    def frame(self, columns: Sequence[Column], *, only_lagging: bool) -> "DataFrame":
        """The rows as rows of Spark, for its writers."""
        from kgroup.spark.tables import with_times

        return with_times(self._frame(only_lagging=only_lagging), _times(columns))

    def _frame(self, *, only_lagging: bool) -> "DataFrame":
        frame = self._kept.as_frame()
        return frame.filter("lag > 0") if only_lagging else frame

    def _saved(self, name: str, columns: Sequence[Column], frame: "DataFrame") -> int:
        from kgroup.spark.tables import save_frame

        return save_frame(self._session, name, frame, _times(columns))


def is_worth_it(logs: OpenedLogs) -> bool:
    """Whether a log is so large that executors had better make the rows."""
    from kgroup.spark.tasks import bytes_of

    return bytes_of((logs.sources if logs.remote is None else logs.remote.sources).segments) > WORTH_BYTES


@contextmanager
def report_there(
    session: "SparkSession",
    logs: OpenedLogs,
    options: LagOptions,
    *,
    now_ms: int | None,
    clock_ms: int | None,
    only_findings: bool = False,
    progress: Progress = NO_PROGRESS,
) -> Iterator[ReportThere]:
    """The report on files that `report_on` would make, from executors.

    With `only_findings` rows have no more than --fail-on looks at. Raises as `report_on` does, and
    KgroupError with the settings that help if too much would come to the driver.
    """
    from kgroup.spark import jobs

    def time_of(newest_ms: int | None) -> AsOf:
        return AsOf.of(options, newest_ms, live=False, now_ms=now_ms, clock_ms=clock_ms)

    with (
        jobs.kept_pieces(session, *job_of(logs, reduction_of(options.plan)), cut_by_hash) as parts,
        report_of_parts(
            session,
            parts,
            logs,
            options,
            options.plan,
            time_of,
            reading=f"Spark is reading {amount_of(logs)}",
            only_findings=only_findings,
            progress=progress,
        ) as report,
    ):
        yield report


@contextmanager
def report_of_parts(
    session: "SparkSession",
    parts: "DataFrame",
    logs: OpenedLogs,
    options: LagOptions,
    plan: ScanPlan,
    time_of: Callable[[int | None], AsOf],
    *,
    reading: str,
    connection: "ConnectionOptions | None" = None,
    only_findings: bool = False,
    progress: Progress = NO_PROGRESS,
) -> Iterator[ReportThere]:
    """The same of what a plan has left of the log already, a part for each piece of whole groups.

    `time_of` gets the time of the newest record. Of a live cluster, by whose `connection` executors ask
    it, groups that are asked for may be missing: it may not have been read to its end. Inside, failures of
    Spark are the caller's to name.
    """
    from kgroup.spark import exchange, jobs

    reader = LogDirEndsReader(logs.sources.log_dirs)
    live = logs.listing
    said = [read_log_ends_file(options.log_ends)] if options.log_ends else []
    said += [live] if live is not None else []
    known_names = {**reader.topic_names(), **LogEnds(said).topic_names()}
    summing = Summing(options=options, plan=plan, known_names=known_names, recorded_ms=reader.recorded_ms)
    with job_progress(session, reading, progress):
        summary = Summary.of(jobs.of_each_part(parts, summing.of, _SUMMARIES))
    if options.groups and not summary.sample and live is None:
        groups = (name for part in jobs.of_each_part(parts, summing.group_ids, _NAMES) for name in part)
        raise NoMatchError(nothing_matches("group", options.groups, set(groups), LISTED))
    as_of = time_of(summary.newest_ms)
    names = {**summary.logged_names, **summary.committed_names, **known_names}
    topics = summary.topics(names)
    ends = reader.read(topics)
    if live is not None:
        said[-1] = logs.judged(topics) or live
    all_ends = LogEnds([*said, ends.segments, ends.checkpoints, raised(ends.recorded, summary.furthest)])
    making = PieceReport(
        options=options,
        plan=plan,
        as_of=as_of,
        ends=all_ends,
        names=names,
        reach=_packed(summary.reach),
        data_logs=_data_logs(logs),
        connection=connection,
        only_findings=only_findings,
    )
    ranges = GroupRanges.of(summary.sample)
    sent = exchange.sent(parts, partial(_by_range, options=options, ranges=ranges), len(ranges))
    columns = options.columns(is_table=False)
    with job_progress(session, "Spark is making rows", progress):
        kept = exchange.kept_batches(sent, making.of, transit_schema(columns))
    try:
        problems = (*problems_in(summary.unowned, logs.sources), *reader.problems)
        notes = sorted((PieceNote(**note) for note in kept.notes), key=lambda note: note.first)
        of_all = _Said(logs, options, notes, all_ends)
        yield ReportThere(
            options=options,
            as_of=as_of,
            row_problems=tuple(dict.fromkeys((*problems, *of_all.lines("row_problems")))),
            proof_problems=tuple(dict.fromkeys(of_all.lines("proof_problems"))),
            remarks=tuple(of_all.remarks()),
            records=summary.unowned.records,
            _session=session,
            _kept=kept,
            _missing=tuple(of_all.missing()),
        )
    finally:
        kept.forget()


@dataclass(frozen=True, slots=True)
class GroupRanges:
    """Ranges of groups that follow each other, numbered from 0; range i ends before `ends[i]`."""

    ends: tuple[str, ...]

    @classmethod
    def of(cls, sample: Sequence[tuple[str, int]]) -> "GroupRanges":
        """Pieces with about the same number of rows each, by groups that stand for a number of rows."""
        from kgroup.spark.ranges import even_ends

        return cls(even_ends(sample, _ROWS_OF_TASK))

    def __len__(self) -> int:
        return len(self.ends) + 1

    def number(self, group: str) -> int:
        """The range that a group is in."""
        return bisect_right(self.ends, group)


class _Said:
    """The combined notes on all groups. Raises NoMatchError if no topic matches what was asked for."""

    def __init__(
        self, logs: OpenedLogs, options: LagOptions, notes: Sequence[PieceNote], ends: LogEnds
    ) -> None:
        self._logs = logs
        self._options = options
        self._notes = notes
        self._ends = ends
        self._topics = {topic for note in notes for topic in note.topics}
        self._group_ids = [group for note in notes for group in note.group_ids]
        if options.topics and not any(map(matcher(options.topics), self._topics)):
            otherwise, among = (
                "; leave out --topic to see all",
                "of these groups" if options.groups else "here",
            )
            raise NoMatchError(nothing_matches("topic", options.topics, self._topics, otherwise, among))

    def lines(self, name: str) -> Iterator[str]:
        """The lines of all notes, with paths as the user gave them; executors have whole ones."""
        paths = [(str(each.path.absolute()), str(each.path)) for each in self._logs.sources.log_dirs]
        for line in (line for note in self._notes for line in getattr(note, name)):
            said = line
            for whole, given in paths:
                said = said.replace(whole, given)
            yield said

    def remarks(self) -> Iterator[str]:
        """The same remarks as those of a report that is made here."""
        yield from left_out(self._logs.sources)
        yield from self.lines("remarks")
        yield from remarks_on_streams(sorted(name for note in self._notes for name in note.streams))
        pending = sum(note.pending for note in self._notes)
        commits = sum(note.commits for note in self._notes)
        yield from remarks_on_all(self._ends, self._topics, pending, commits)
        yield from dict.fromkeys(self.lines("unread"))
        families = (family for note in self._notes for family in note.families)
        yield from map(remark_on, large(together(families)))

    def missing(self) -> Iterator[str]:
        """The groups and topics that were asked for and do not exist."""
        groups, topics = self._options.groups or (), self._options.topics or ()
        if len(groups) > 1 and (absent := without_match(groups, self._group_ids)):
            yield nothing_matches("group", absent, self._group_ids)
        if len(topics) > 1:
            there = set(filter(matcher(topics), self._topics))
            if absent := without_match(topics, there):
                yield nothing_matches("topic", absent, there)


def _by_range(parts: Iterator[Any], options: LagOptions, ranges: GroupRanges) -> Iterator[tuple[int, Any]]:
    wanted = matcher(options.groups)

    def piece_of(group: str) -> int:
        return ranges.number(group) if wanted(group) else LEFT_OUT

    for part in parts:
        yield from enumerate(cut_groups(part, piece_of, len(ranges)))


def _packed(reach: History | None) -> bytes | None:
    from kgroup.spark.parts.kinds import pack

    return None if reach is None else pack(reach)


def _data_logs(logs: OpenedLogs) -> tuple[LogDir, ...]:
    """Folders of topics' logs, by paths that do not depend on the working folder.

    What stands here for segments on a storage has no records in it, and is not there for executors.
    """
    return tuple(
        log_dir.elsewhere(lambda folder: logs.remote is None or folder.topic != OFFSETS_TOPIC)
        for log_dir in logs.sources.log_dirs
    )


def _times(columns: Sequence[Column]) -> list[str]:
    return [column.name for column in columns if column.kind is Kind.TIME_MS]


def _columns(batch: "pa.RecordBatch", nested: set[str]) -> Columns:
    columns = {name: batch[name].to_pylist() for name in batch.schema.names}
    for name in nested & columns.keys():
        columns[name] = [None if text is None else loads(text) for text in columns[name]]
    return columns


def _finding_batch(batch: "pa.RecordBatch", *, hygiene: bool) -> "pa.RecordBatch":
    from kgroup.lag.findings.model import Severity

    found = map(found_of, texts_in(batch))
    rows = finding_rows(one for one in found if hygiene or one[0].severity is Severity.TROUBLE)
    # A batch has fewer than are made at once, so there is one, perhaps of no rows.
    return next(arrow_batches(rows, transit_columns(FINDING_COLUMNS)))
