"""`lag-report` about the present: one report, shown as rows, findings or metrics."""

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

from kgroup.api.lag.chunks import LagChunk, ReportedGroup
from kgroup.api.lag.options import matcher
from kgroup.api.lag.report import LagReport, Reported, report_on
from kgroup.api.opened import OpenedLogs
from kgroup.cli.lag.request import LagRequest
from kgroup.cli.lag.spark import said_saved, save_batches
from kgroup.cli.lag.spool import FINDINGS, Spool
from kgroup.cli.lag.views import metrics, problems_of_rows
from kgroup.cli.shell.say import say
from kgroup.durations import lasting
from kgroup.report.emit import (
    OutputFormat,
    arrow_batches,
    emit_lines,
    emit_page,
    iso_time,
)
from kgroup.report.emit_columns import Columns, column_batches, selected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kgroup.api.lag_history.page import PageRows
    from kgroup.lag.findings.model import Finding
    from kgroup.report.lag.finding_rows import Found


class Present:
    """Makes one report and shows it as the request says; every row passes here once."""

    def __init__(self, request: LagRequest, session: "SparkSession | None", logs: OpenedLogs) -> None:
        self._request = request
        self._session = session
        self._logs = logs
        self._page = _rows_of_page(request)
        self._findings: list[Finding] = []
        self._on_page: dict[str, Sequence[Finding]] = {}

    def report(self) -> tuple[str, ...]:
        """Say on standard error what else there is to say. Returns what could not be read.

        Without --now the clock counts, or, for files, their end.
        """
        request, logs = self._request, self._logs
        report = report_on(
            logs,
            request.options,
            now_ms=request.now_ms,
            clock_ms=int(time.time() * 1000),
            progress=request.progress,
            spark=self._session,
        )
        remarks = list(remarks_on_time(report))
        if request.save_as is None and request.asked.explain is not None:
            from kgroup.api.lag.explain import explain_groups, past_of

            # A history is read here; Spark is for logs that one machine would be slow to read.
            is_here = self._session is None
            past = past_of(logs, [request.asked.explain], request.progress) if is_here else None
            emit_page(partial(explain_groups, self._explained(report), past), request.output)
            problems = report.row_problems
        elif request.save_as is None and request.asked.stuck:
            from kgroup.report.lag.finding_rows import with_clients

            findings = [*self._of_cluster(report)]
            findings += (finding for _, of_group in self._groups(report) for finding in self._shown(of_group))
            found = with_clients(findings, report.inputs.groups)
            remarks += show_findings(found, report.as_of.now_ms, request)
            problems = report.row_problems
        else:
            self._show_rows(report)
            problems = problems_of_rows(report)
        if request.options.findings:
            remarks += report.proof_problems
        if self._page is not None and request.views.html is not None:
            from kgroup.api.pages import write_reported

            write_reported(
                report,
                self._page,
                self._on_page if request.options.findings else None,
                logs,
                request.views.html,
                since_ms=request.since_ms,
                progress=request.progress,
                spark=self._session,
            )
        say_besides(request, logs, report, remarks, problems)
        return problems

    def _show_rows(self, report: LagReport) -> None:
        request, made = self._request, self._chunks(report)
        # A cluster that does not answer is known before anything is written.
        chunks = chain(list(islice(made, 1)), made)
        columns = request.view.columns(report)
        if self._session is not None and request.save_as is not None:
            self._save(self._session, request.save_as, report, chunks)
        elif request.views.prometheus:
            seconds = time.monotonic() - request.began_s
            emit_lines(metrics(report, chunks, seconds, only_lagging=request.only_lagging), request.output)
        elif request.only_page:
            for _ in chunks:  # each is noted for the page as it passes
                pass
        else:
            request.show_chunks(request.view.chunks(chunks), columns)

    def _save(
        self, session: "SparkSession", name: str, report: LagReport, chunks: Iterable[LagChunk]
    ) -> None:
        view, quiet = self._request.view, self._request.quiet
        columns = view.columns(report)
        if self._request.spool is not None:
            self._request.spool.keep_chunks(view.chunks(chunks), columns)
            if self._request.asked.stuck:
                from kgroup.report.lag.finding_rows import with_clients

                keep_findings(self._request.spool, with_clients(self._findings, report.inputs.groups))
            return
        rows = save_batches(session, name, column_batches(view.chunks(chunks), columns), columns)
        if self._request.asked.stuck:
            from kgroup.report.lag.finding_rows import FINDING_COLUMNS, finding_rows, with_clients

            found = finding_rows(with_clients(self._findings, report.inputs.groups))
            batches = arrow_batches(found, FINDING_COLUMNS)
            findings = save_batches(session, f"{name}_findings", batches, FINDING_COLUMNS)
            said_saved(f"{name}_findings", findings, quiet=quiet)
        said_saved(name, rows, quiet=quiet)

    def _chunks(self, report: LagReport) -> Iterator[LagChunk]:
        """The report's rows, also passed on to other consumers of them."""
        of_cluster = self._of_cluster(report)
        if self._request.asked.stuck:
            self._findings += of_cluster
        for chunk in report.chunks():
            self._request.failing.note_rows(chunk.columns)
            for (facts, _), findings in chunk.groups:
                self._request.failing.note_findings(findings)
                self._on_page[facts.group.group_id] = self._shown(findings)
                if self._request.asked.stuck:
                    self._findings += self._shown(findings)
            if self._page is not None:
                self._page.note(chunk.all_rows)
            yield chunk

    def _of_cluster(self, report: LagReport) -> "Sequence[Finding]":
        findings = report.cluster_findings()
        self._request.failing.note_findings(findings)
        return findings

    def _explained(self, report: LagReport) -> Iterator[ReportedGroup]:
        return ((judged, self._shown(findings)) for judged, findings in self._groups(report))

    def _shown(self, findings: "Sequence[Finding]") -> "tuple[Finding, ...]":
        """The findings to show."""
        return tuple(finding for finding in findings if is_shown(finding, self._request))

    def _groups(self, report: LagReport) -> Iterator[ReportedGroup]:
        """The same of groups, where no rows are shown."""
        wanted, failing = matcher(self._request.options.topics), self._request.failing
        if not self._request.asked.stuck:
            self._of_cluster(report)
        for (facts, verdicts), findings in report.groups():
            rows = [partition.row for partition in facts.partitions]
            if failing.lags or failing.statuses:
                columns: Columns = {
                    "group": [row.group for row in rows],
                    "lag": [row.lag for row in rows],
                    "status": [None if verdict is None else verdict.status for verdict in verdicts],
                }
                failing.note_rows(selected(columns, [wanted(row.topic) for row in rows]))
            failing.note_findings(findings)
            if self._page is not None:
                self._page.note(rows)
                self._on_page[facts.group.group_id] = self._shown(findings)
            yield (facts, verdicts), findings


def _rows_of_page(request: LagRequest) -> "PageRows | None":
    if request.views.html is None:
        return None
    from kgroup.api.lag_history.page import PageRows

    return PageRows(request.options)


def is_shown(finding: "Finding", request: LagRequest) -> bool:
    """Whether it is asked for: hygiene may be here for --fail-on alone."""
    from kgroup.lag.findings.model import Severity

    return request.asked.hygiene or finding.severity is Severity.TROUBLE


def remarks_on_time(report: Reported) -> Iterator[str]:
    """Lines on the time the report is as of, where the user gave none, and on its consequences."""
    as_of = report.as_of
    if as_of.ended_ago_ms is not None:
        yield (
            f"judged as of {iso_time(as_of.now_ms)}, the last write to the log,"
            f" {lasting(as_of.ended_ago_ms)} ago; use --now TIME for another time"
        )
    if as_of.log_goes_on and report.options.judges:
        yield "the log continues after --now: statuses and findings use all of it"


def show_findings(found: "Iterable[Found]", now_ms: int, request: LagRequest) -> list[str]:
    """Show them as rows. Returns what to try, where the rows do not say it."""
    from kgroup.report.lag.finding_rows import (
        FINDING_COLUMNS,
        FINDING_TABLE,
        Remedies,
        finding_rows,
        finding_table,
    )

    if request.output.format is not OutputFormat.TABLE:
        request.show_rows(finding_rows(found), FINDING_COLUMNS)
        return []
    remedies = Remedies()
    request.show_rows(finding_table(map(remedies.noted, found), now_ms), FINDING_TABLE)
    return remedies.lines() or ["nothing found"]


def keep_findings(spool: Spool, found: "Iterable[Found]") -> None:
    """Keep them for a table of several clusters."""
    from kgroup.report.lag.finding_rows import FINDING_COLUMNS, finding_rows

    spool.keep_rows(finding_rows(found), FINDING_COLUMNS, FINDINGS)


def say_besides(
    request: LagRequest,
    logs: OpenedLogs,
    report: Reported,
    remarks: Iterable[str],
    problems: Iterable[str],
) -> None:
    """Say everything but rows on standard error, by the names that the user knows."""
    for line in [*([] if request.quiet else [*report.remarks, *remarks]), *problems]:
        say(logs.message(line))
    for line in report.missing():
        say(line)
