"""`lag-report --stuck`, `--explain` and `--fail-on`: findings in place of rows, a page, an exit status."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from kgroup.api.lag.explain import explain_groups
from kgroup.api.lag.facts import FactReader, about_topic
from kgroup.api.lag.proof import JudgedGroup
from kgroup.api.lag.report import Look, matcher
from kgroup.cli.lag.fail_on import FailOn
from kgroup.lag.findings.absence import PATIENCE_MS
from kgroup.lag.findings.find import find
from kgroup.lag.findings.model import Finding, GroupFacts
from kgroup.lag.findings.text import lasting
from kgroup.lag.status.model import Judged
from kgroup.lag.status.rule_sets import RuleSet, rules_named
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.report.emit import Column, OutputFormat, OutputOptions, Row, emit, emit_page, iso_time
from kgroup.report.lag.finding_rows import (
    FINDING_COLUMNS,
    FINDING_TABLE,
    finding_rows,
    finding_table,
    remedies,
)
from kgroup.scan.reductions.scan import Newest, newest_time
from kgroup.scan.reductions.scanned import Scanned


def judged_at(log: Newest, clock_ms: int) -> tuple[int, list[str]]:
    """When to judge a log that nobody gave --now for (epoch ms), and what to say of it.

    By the clock, unless the log ended long before: a copy of it would show nothing but stopped groups.
    """
    newest_ms = newest_time(log)
    if newest_ms is None or clock_ms - newest_ms <= PATIENCE_MS:
        return clock_ms, []
    ago = lasting(clock_ms - newest_ms)
    return newest_ms, [
        f"judged as of {iso_time(newest_ms)}, when anything was written to the log last, {ago} ago;"
        " --now TIME for another time"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """What to show of findings: rows, a page about each group, or, for --fail-on alone, nothing."""

    stuck: bool
    explain: str | None
    rules: RuleSet
    save: Callable[[Iterable[Row], Sequence[Column]], None] | None = None
    """Takes the rows instead of standard output."""


def emit_findings(
    look: Look,
    scanned: Scanned,
    view: FindingView,
    failing: FailOn,
    options: OutputOptions,
) -> list[str]:
    """Find what is wrong as of the look; show it, and return what else there is to say."""
    assert look.windows is not None and scanned.history is not None, "the question was one about findings"
    data_logs = DataLogs(look.sources.log_dirs)
    retention_ms = look.question.retention_ms
    reader = FactReader(scanned.newest, look.windows, scanned.history, data_logs, look.now_ms, retention_ms)
    groups = _Groups(reader, look, view, failing)
    told: list[str] = []
    if view.explain is not None:
        emit_page(partial(explain_groups, groups.to_explain()), options)
    else:
        findings = tuple(groups.findings())
        if view.stuck:
            told += _show(findings, look, view, options)
    failing.look_at(groups.rows)
    return [*told, *reader.problems]


def _show(
    findings: Sequence[Finding], look: Look, view: FindingView, options: OutputOptions
) -> Iterator[str]:
    """Show them as rows, and say what to try where the rows do not."""
    if view.save is None and options.format is OutputFormat.TABLE:
        emit(finding_table(findings, look.inputs.groups, look.now_ms), FINDING_TABLE, options)
        return iter(list(remedies(findings)) or ["nothing found"])
    rows = finding_rows(findings, look.inputs.groups)
    if view.save is not None:
        view.save(rows, FINDING_COLUMNS)
    else:
        emit(rows, FINDING_COLUMNS, options)
    return iter(())


class _Groups:
    """Goes through the groups once, and notes for --fail-on what it meets.

    `rows` are those that --fail-on asks about where no rows are shown: complete when all groups were gone
    through.
    """

    def __init__(self, reader: FactReader, look: Look, view: FindingView, failing: FailOn) -> None:
        self._reader = reader
        self._inputs = look.inputs
        self._rules = rules_named(view.rules)
        self._failing = failing
        self._wanted_topic = matcher(look.question.topics) if look.question.topics else None
        shows_rows = view.save is not None or not (view.stuck or view.explain is not None)
        self._notes_rows = not shows_rows and failing.asks_rows
        self.rows: list[Row] = []

    def findings(self) -> Iterator[Finding]:
        """All findings that the topics asked for have to do with."""
        if self._notes_rows and self._failing.statuses:
            for group, judged in self._reader.judged(self._inputs, self._rules):
                self._note_rows(group, judged)
                yield from self._watched(group, find(group))
            return
        for group in self._reader.facts(self._inputs):
            self._note_rows(group, [None] * len(group.partitions))
            yield from self._watched(group, find(group))

    def to_explain(self) -> Iterator[tuple[JudgedGroup, Sequence[Finding]]]:
        """Each group with all that is found wrong with it."""
        for group, judged in self._reader.judged(self._inputs, self._rules):
            findings = find(group)
            self._note_rows(group, judged)
            deque(self._watched(group, findings), maxlen=0)
            yield (group, judged), findings

    def _watched(self, group: GroupFacts, findings: Iterable[Finding]) -> Iterator[Finding]:
        return self._failing.watched(about_topic(findings, group, self._wanted_topic))

    def _note_rows(self, group: GroupFacts, judged: Sequence[Judged | None]) -> None:
        if not self._notes_rows:
            return
        for partition, verdict in zip(group.partitions, judged, strict=True):
            row = partition.row
            if self._wanted_topic is None or self._wanted_topic(row.topic):
                status = verdict.status if verdict is not None else None
                self.rows.append({"group": row.group, "lag": row.lag, "status": status})
