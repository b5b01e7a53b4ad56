"""The lag report: how far groups are behind, their statuses, and their findings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from kgroup.api.lag.chunks import ColumnGroup, LagChunk, ReportedGroup, row_columns, status_columns
from kgroup.api.lag.down import OffsetsPartitionsDown
from kgroup.api.lag.inputs import LagInputs, gather
from kgroup.api.lag.options import LagOptions, matcher
from kgroup.api.lag.plain_commits import PlainNewest
from kgroup.api.lag.reading import AsOf, read_log, read_plainly
from kgroup.api.names import LISTED, member_of, names_given, nothing_matches, without_match
from kgroup.api.opened import OpenedLogs, left_out
from kgroup.api.tabular import Tabular
from kgroup.errors import InputError, NoMatchError, SourceError
from kgroup.lag.measures.offset_expiry import RETENTION_MS
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.lag.status.rule_set import RuleSet
from kgroup.log.files.sources import Sources
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.report.emit import Column, iso_time
from kgroup.report.emit_columns import column_batches, rows_of
from kgroup.report.html_table import html_table
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.scan.memory import give_back

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from kgroup.api.lag.breakdown import BreakdownColumns, PartsSource
    from kgroup.api.lag.facts import GroupFactReader
    from kgroup.api.lag.past import Past
    from kgroup.api.lag.proof import GroupRows, JudgedGroup, ProofReader
    from kgroup.api.lag.time_columns import TimeLagColumns, TimeSource
    from kgroup.api.lag.transactions import TransactionSource
    from kgroup.api.lag.windows import Windows
    from kgroup.lag.findings.model import Finding
    from kgroup.lag.measures.successive import LagLooks
    from kgroup.lag.status.window import CommitWindow
    from kgroup.scan.reductions.newest import Newest
    from kgroup.scan.reductions.scanned import Scanned

_ROWS_AT_ONCE: Final = 4096


def lag_report(
    logs: OpenedLogs,
    *,
    groups: str | Sequence[str] | None = None,
    topics: str | Sequence[str] | None = None,
    log_ends: str | Path | None = None,
    status: bool | str | RuleSet = False,
    time_lag: str | TimeLagMethod | None = None,
    breakdown: bool = False,
    findings: bool = False,
    hygiene: bool = False,
    retention_ms: int = RETENTION_MS,
    now_ms: int | None = None,
    progress: Progress = NO_PROGRESS,
    spark: "SparkSession | None" = None,
) -> "LagReport":
    """Report every group's lag.

    `groups` and `topics` are names or shell patterns. `log_ends` is a file of log ends to use instead of
    those found next to the logs. `status` judges each partition by kgroup's rules, or by those given;
    `findings` reports what is wrong with groups, with `hygiene` also what is not trouble yet.
    `retention_ms` is the broker's offsets.retention.minutes. Everything is as of `now_ms` (epoch ms), by
    default the newest record in the log. With `spark`, executors read the log.

    Raises SourceError if the logs cannot be read, or if no group or topic matches; InputError for unknown
    rules or methods, or for a time lag method that does not work with this source.
    """
    rules = RuleSet.KGROUP if status is True else status or None
    options = LagOptions(
        groups=names_given(groups),
        topics=names_given(topics),
        log_ends=None if log_ends is None else Path(log_ends),
        rules=None if rules is None else member_of(RuleSet, rules, "status"),
        time_lag=None if time_lag is None else member_of(TimeLagMethod, time_lag, "time_lag"),
        findings=findings,
        hygiene=hygiene,
        breakdown=breakdown,
        retention_ms=retention_ms,
    )
    options.check(live=logs.cluster is not None, repeated=False)
    return report_on(logs, options, now_ms=now_ms, progress=progress, spark=spark)


def report_on(
    logs: OpenedLogs,
    options: LagOptions,
    *,
    now_ms: int | None = None,
    clock_ms: int | None = None,
    progress: Progress = NO_PROGRESS,
    spark: "SparkSession | None" = None,
) -> "LagReport":
    """The same by options. Without `now_ms` the clock counts, if `clock_ms` is given, as `AsOf` has it."""
    logs.pass_over_leaderless()
    live = logs.cluster is not None

    def as_of(newest_ms: int | None) -> AsOf:
        return AsOf.of(options, newest_ms, live=live, now_ms=now_ms, clock_ms=clock_ms)

    plain = read_plainly(logs, options, progress) if spark is None else None
    if plain is not None:
        inputs = _inputs(logs, options, plain)
        return report_from(logs, options, inputs, None, as_of(plain.newest_time()), progress=progress)
    report = _report_read(logs, options, as_of, progress, spark)
    give_back()
    return report


def _report_read(
    logs: OpenedLogs,
    options: LagOptions,
    as_of: Callable[[int | None], AsOf],
    progress: Progress,
    spark: "SparkSession | None",
) -> "LagReport":
    from kgroup.api.lag.past import Past
    from kgroup.scan.reductions.scan import newest_time

    scanned = read_log(logs, options.plan, progress, spark)
    give_back()
    inputs = _inputs(logs, options, scanned.newest)
    time = as_of(newest_time(scanned.newest))
    give_back()
    past = Past.of(scanned)
    del scanned  # a fifth of all that is held here
    give_back()
    return report_from(logs, options, inputs, past, time, progress=progress)


def report_of(
    logs: OpenedLogs,
    options: LagOptions,
    scanned: "Scanned",
    as_of: AsOf,
    *,
    looks: "LagLooks | None" = None,
    progress: Progress = NO_PROGRESS,
) -> "LagReport":
    """Put together what a scan of the logs found. The report takes its rows to `looks`, and rates from them.

    Raises SourceError if no group or topic is or matches what was asked for.
    """
    from kgroup.api.lag.past import Past

    inputs = _inputs(logs, options, scanned.newest)
    return report_from(logs, options, inputs, Past.of(scanned), as_of, looks=looks, progress=progress)


def report_from(
    logs: OpenedLogs,
    options: LagOptions,
    inputs: LagInputs,
    past: "Past | None",
    as_of: AsOf,
    *,
    looks: "LagLooks | None" = None,
    progress: Progress = NO_PROGRESS,
) -> "LagReport":
    """The same of inputs that were put together already; `logs` need no more than the data topics' logs.

    Rows alone need nothing of the past.
    """
    data_logs = DataLogs(logs.sources.log_dirs)
    proofs = facts = None
    if options.judges and past is not None:
        from kgroup.api.lag.proof import ProofReader
        from kgroup.api.lag.stands import Stands

        leaps = None
        if options.findings:
            from kgroup.api.lag.leaps import Leaps

            leaps = Leaps(past.last, inputs.ends, data_logs)
        transactions = _transactions(logs, data_logs)
        stands = None if past.history is None else Stands(past.last)
        proofs = ProofReader(past.windows, past.history, data_logs, as_of.now_ms, transactions, leaps, stands)
    if options.findings and past is not None and past.history is not None:
        from kgroup.api.lag.assigned import AssignedReader
        from kgroup.api.lag.facts import GroupFactReader
        from kgroup.api.lag.past_ends import EndsInCluster
        from kgroup.api.lag.steps import Steps

        reaches = proofs.reaches if proofs is not None else None
        assigned = AssignedReader(inputs.ends, reaches, data_logs, hygiene=options.hygiene)
        past_ends = EndsInCluster(logs.cluster, inputs.ends) if logs.cluster is not None else data_logs
        steps = Steps(past.last, past_ends)
        facts = GroupFactReader(
            past.pending, past.history, inputs.groups, options.retention_ms, assigned, steps
        )
    if looks is not None:
        looks.begin(as_of.now_ms)
    breakdown = None
    if options.breakdown:
        from kgroup.api.lag.breakdown import BreakdownColumns

        parts = _parts(logs, data_logs, progress)
        breakdown = BreakdownColumns(inputs=inputs, retention_ms=options.retention_ms, source=parts)
    times = None
    if options.time_lag is not None and past is not None:
        from kgroup.api.lag.time_columns import TimeLagColumns

        source = _times(logs, options.time_lag, data_logs, past.windows, as_of.now_ms, looks)
        times = TimeLagColumns(method=options.time_lag, source=source)
    return LagReport(
        options=options,
        as_of=as_of,
        inputs=inputs,
        sources=logs.sources,
        down=OffsetsPartitionsDown.of(logs),
        looks=looks,
        _proofs=proofs,
        _facts=facts,
        _times=times,
        _breakdown=breakdown,
    )


class Reported(Protocol):
    """Everything about a report besides its rows, wherever those are made."""

    @property
    def options(self) -> LagOptions:
        """The options of the report."""

    @property
    def as_of(self) -> AsOf:
        """The time the report is as of."""

    @property
    def looks(self) -> "LagLooks | None":
        """The source of rates, None for a single look."""

    @property
    def problems(self) -> tuple[str, ...]:
        """See LagReport."""

    @property
    def row_problems(self) -> tuple[str, ...]:
        """See LagReport."""

    @property
    def proof_problems(self) -> tuple[str, ...]:
        """See LagReport."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """See LagReport."""

    def missing(self) -> Iterator[str]:
        """See LagReport."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LagReport(Tabular):
    """The lag of groups at `as_of.now_ms`.

    Rows, chunks and findings are computed again at each call, some thousand rows at a time, and query a
    live cluster again where they need it.
    """

    options: LagOptions
    as_of: AsOf
    inputs: LagInputs
    sources: Sources
    down: OffsetsPartitionsDown
    looks: "LagLooks | None"
    _proofs: "ProofReader | None"
    _facts: "GroupFactReader | None"
    _times: "TimeLagColumns | None"
    _breakdown: "BreakdownColumns | None"
    _held: tuple[LagChunk, ...] | None = field(default=None)

    def rows(self) -> Iterator[LagRow]:
        """The partitions that were asked for, by group, topic, partition."""
        wanted = matcher(self.options.topics)
        return (row for row in self.inputs.rows() if wanted(row.topic))

    def chunks(self) -> Iterator[LagChunk]:
        """The same rows with all columns, and their groups where findings were asked for."""
        if self._held is not None:
            yield from self._held
        elif self._proofs is None:
            rows = self.inputs.rows()
            while some := list(islice(rows, _ROWS_AT_ONCE)):
                yield self._chunk(some, None)
        else:
            from kgroup.api.lag.proof import some_groups

            for groups in some_groups(self.inputs):
                yield self._chunk([row for _, of_group in groups for row in of_group], groups)

    def groups(self) -> Iterator[ReportedGroup]:
        """Each group with what is known and wrong of it, by group id.

        Raises InputError if findings were not asked for.
        """
        if not self.options.findings:
            raise InputError("the report was made without findings: ask for them")
        from kgroup.api.lag.proof import some_groups

        for groups in some_groups(self.inputs):
            yield from self._found(self._judged(groups))

    def findings(self) -> "tuple[Finding, ...]":
        """Findings by group id; those on partitions of the offsets topic come first.

        Raises InputError if findings were not asked for.
        """
        of_groups = (finding for _, findings in self.groups() for finding in findings)
        return (*self.cluster_findings(), *of_groups)

    def last_commits(self, row: LagRow) -> "CommitWindow":
        """The last ten commits of a row. Raises InputError if the report judges nothing."""
        if self._proofs is None:
            raise InputError("the report was made without findings or statuses: ask for them")
        return self._proofs.window(row)

    def cluster_findings(self) -> "tuple[Finding, ...]":
        """Findings on groups of which a cluster cannot say anything. Empty if findings were not asked for."""
        return tuple(self.down.findings(self.options.groups)) if self.options.findings else ()

    def held(self) -> "LagReport":
        """The same report with all of its chunks made, so that nobody is asked again."""
        return replace(self, _held=tuple(self.chunks()))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of rows for programs."""
        return self.options.columns(is_table=False, rates=self.looks is not None)

    def arrow_columns(self) -> tuple[Column, ...]:
        """See Tabular."""
        return self.columns

    def batches(self) -> "Iterator[pa.RecordBatch]":
        """The rows as Arrow batches, with the types that a Parquet file of them has."""
        return column_batches((chunk.columns for chunk in self.chunks()), self.columns, _ROWS_AT_ONCE)

    @property
    def problems(self) -> tuple[str, ...]:
        """Places that could not be read. Complete when the rows have been made."""
        return tuple(dict.fromkeys((*self.row_problems, *self.proof_problems)))

    @property
    def row_problems(self) -> tuple[str, ...]:
        """The problems that leave numbers of rows unknown."""
        times = self._times.source.problems if self._times is not None else ()
        parts = self._breakdown.problems if self._breakdown is not None else ()
        return tuple(dict.fromkeys((*self.down.problems(), *self.inputs.problems, *times, *parts)))

    @property
    def proof_problems(self) -> tuple[str, ...]:
        """The problems that leave statuses and findings without a proof."""
        return tuple(self._proofs.problems) if self._proofs is not None else ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on what rows leave out and users may miss. Complete when the rows have been made."""
        census = self._census() if self.options.findings and self.options.hygiene else ()
        return (*left_out(self.sources), *self.inputs.remarks(), *self.unread_parts, *census)

    @property
    def unread_parts(self) -> Sequence[str]:
        """The remarks of those of what the breakdown did not read. Complete when the rows have been made."""
        return self._breakdown.source.remarks if self._breakdown is not None else ()

    def _census(self) -> Iterator[str]:
        from kgroup.lag.findings.census import families, remark_on

        return map(remark_on, families(self.inputs.groups_by_id()))

    def missing(self) -> Iterator[str]:
        """The groups and topics that were asked for and do not exist."""
        groups, topics = self.options.groups or (), self.options.topics or ()
        if len(groups) > 1 and (absent := without_match(groups, self.inputs.group_ids())):
            yield nothing_matches("group", absent, self.inputs.group_ids())
        if len(topics) > 1:
            there = set(filter(matcher(topics), self.inputs.topics()))
            if absent := without_match(topics, there):
                yield nothing_matches("topic", absent, there)

    def __repr__(self) -> str:
        number = len(self.inputs.group_ids())
        return (
            f"<LagReport of {number} group{'' if number == 1 else 's'}, as of {iso_time(self.as_of.now_ms)}>"
        )

    def _repr_html_(self) -> str:
        columns = self.options.columns(is_table=True, rates=self.looks is not None)
        names = [column.name for column in columns]
        rows = (row for chunk in self.chunks() for row in rows_of(chunk.columns, names))
        return html_table(rows, columns, repr(self))

    def _chunk(self, rows: Sequence[LagRow], groups: "Sequence[GroupRows] | None") -> LagChunk:
        wanted = matcher(self.options.topics)
        is_chosen = [wanted(row.topic) for row in rows]
        chosen = [row for row, is_wanted in zip(rows, is_chosen, strict=True) if is_wanted]
        if self.looks is not None:
            self.looks.add(chosen)
        columns = row_columns(chosen)
        judged: list[JudgedGroup] = []
        if groups is not None:
            judged = self._judged(groups)
        if self.options.rules is not None:
            # Of whole groups, as a partition's status is proven by the group's others, whatever their topic.
            verdicts = (verdict for _, of_group in judged for verdict in of_group)
            columns |= status_columns(
                verdict for verdict, is_wanted in zip(verdicts, is_chosen, strict=True) if is_wanted
            )
        for group in self._column_groups():
            columns |= group.fill(chosen)
        reported = tuple(self._found(judged)) if self.options.findings else ()
        return LagChunk(rows=chosen, columns=columns, all_rows=rows, groups=reported)

    def _column_groups(self) -> Iterator[ColumnGroup]:
        if self._breakdown is not None:
            yield self._breakdown
        if self._times is not None:
            yield self._times
        elif self.looks is not None:
            from kgroup.api.lag.time_columns import SuccessiveRateColumns

            yield SuccessiveRateColumns(self.looks)

    def _judged(self, groups: "Sequence[GroupRows]") -> "list[JudgedGroup]":
        """The groups with all that is known of them; without rules nothing of them has a status."""
        assert self._proofs is not None, "the log was read for it"
        judged: list[JudgedGroup]
        if self.options.rules is None:
            judged = [(facts, [None] * len(facts.partitions)) for facts in self._proofs.facts(groups)]
        else:
            from kgroup.lag.status.rule_sets import rules_named

            judged = self._proofs.judged(groups, rules_named(self.options.rules))
        if self._facts is None:
            return judged
        return [(self._facts.complete(facts), verdicts) for facts, verdicts in judged]

    def _found(self, judged: "Sequence[JudgedGroup]") -> Iterator[ReportedGroup]:
        from kgroup.api.lag.facts import about_topic
        from kgroup.lag.findings.find import find

        wanted = matcher(self.options.topics) if self.options.topics else None
        for facts, verdicts in judged:
            findings = find(facts, hygiene=self.options.hygiene)
            yield (facts, verdicts), tuple(about_topic(findings, facts, wanted))


def _inputs(logs: OpenedLogs, options: LagOptions, newest: "Newest | PlainNewest") -> LagInputs:
    wanted, groups = matcher(options.groups), set[str]()

    def is_wanted(group: str) -> bool:
        groups.add(group)
        return wanted(group)

    inputs = gather(newest, logs.sources, options.log_ends, is_wanted, logs.listing, logs.judged)
    if options.groups and not inputs.groups and not len(inputs.commits):
        if options.findings and any(OffsetsPartitionsDown.of(logs).findings(options.groups)):
            return inputs
        if (problem := next(OffsetsPartitionsDown.of(logs).problems(), None)) is not None:
            raise SourceError(problem)
        raise NoMatchError(nothing_matches("group", options.groups, groups, LISTED))
    if options.topics and not any(map(matcher(options.topics), topics := inputs.topics())):
        otherwise, among = "; leave out --topic to see all", "of these groups" if options.groups else "here"
        raise NoMatchError(nothing_matches("topic", options.topics, topics, otherwise, among))
    return inputs


def _parts(logs: OpenedLogs, data_logs: DataLogs, progress: Progress) -> "PartsSource":
    if logs.cluster is None:
        from kgroup.api.lag.breakdown import PartsInLogs

        return PartsInLogs(data_logs)
    from kgroup.api.lag.breakdown_live import PartsInCluster

    return PartsInCluster(cluster=logs.cluster, progress=progress)


def _transactions(logs: OpenedLogs, data_logs: DataLogs) -> "TransactionSource":
    if logs.cluster is None:
        from kgroup.api.lag.transactions import TransactionsInLogs

        return TransactionsInLogs(data_logs)
    from kgroup.api.lag.transactions_live import TransactionsInCluster

    return TransactionsInCluster(cluster=logs.cluster)


def _times(
    logs: OpenedLogs,
    method: TimeLagMethod,
    data_logs: DataLogs,
    windows: "Windows",
    now_ms: int,
    looks: "LagLooks | None",
) -> "TimeSource":
    if logs.cluster is None:
        from kgroup.api.lag.time import TimesInLogs

        return TimesInLogs(method=method, logs=data_logs, windows=windows, now_ms=now_ms)
    from kgroup.api.lag.time_live import TimesInCluster

    return TimesInCluster(method=method, cluster=logs.cluster, windows=windows, now_ms=now_ms, looks=looks)
