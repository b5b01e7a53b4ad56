"""`lag-report --spark` about the present with rows made by executors, for logs that are worth it."""

import time
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

from kgroup.api.lag.chunks import LagChunk
from kgroup.api.opened import OpenedLogs
from kgroup.cli.lag.present import is_shown, keep_findings, remarks_on_time, say_besides, show_findings
from kgroup.cli.lag.request import LagRequest
from kgroup.cli.lag.spark import said_saved, save_batches
from kgroup.cli.lag.views import metrics, problems_of_rows
from kgroup.report.emit import emit_lines
from kgroup.report.emit_columns import column_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kgroup.api.lag.there import ReportThere
    from kgroup.report.lag.finding_rows import Found


def is_for_executors(request: LagRequest, logs: OpenedLogs) -> bool:
    """Whether rows are made there: not of a live cluster, which answers here alone, nor of a small log.

    Output drawn on a page, or about one group, is needed here as a whole.
    """
    from kgroup.api.lag.there import is_worth_it

    is_rows = request.asked.explain is None and request.views.html is None and not request.only_page
    return is_rows and logs.cluster is None and is_worth_it(logs)


class PresentThere:
    """Fetches one report from executors and shows it as the request says."""

    def __init__(self, request: LagRequest, session: "SparkSession", logs: OpenedLogs) -> None:
        self._request = request
        self._session = session
        self._logs = logs

    def report(self) -> tuple[str, ...]:
        """As `Present.report`: the same rows, and the same to be said."""
        from kgroup.api.lag.there import report_there

        request = self._request
        only_findings = request.asked.stuck and request.save_as is None
        with report_there(
            self._session,
            self._logs,
            request.options,
            now_ms=request.now_ms,
            clock_ms=int(time.time() * 1000),
            only_findings=only_findings,
            progress=request.progress,
        ) as report:
            remarks = list(remarks_on_time(report))
            if only_findings:
                self._note_rows(report)
                remarks += show_findings(self._found(report), report.as_of.now_ms, request)
                problems = report.row_problems
            else:
                self._show_rows(report)
                problems = problems_of_rows(report)
            if request.options.findings:
                remarks += report.proof_problems
            say_besides(request, self._logs, report, remarks, problems)
        return problems

    def _show_rows(self, report: "ReportThere") -> None:
        request = self._request
        if request.options.findings:
            for _ in self._found(report):  # each is noted as it passes
                pass
        if request.save_as is not None:
            self._save(report, request.save_as)
            return
        made = self._chunks(report)
        chunks = chain(list(islice(made, 1)), made)  # a job that fails does so before anything is written
        if request.views.prometheus:
            seconds = time.monotonic() - request.began_s
            emit_lines(metrics(report, chunks, seconds, only_lagging=request.only_lagging), request.output)
        else:
            request.show_chunks(request.view.chunks(chunks), request.view.columns(report))

    def _save(self, report: "ReportThere", name: str) -> None:
        view, asked, quiet = self._request.view, self._request.asked, self._request.quiet
        columns = view.columns(report)
        if self._request.spool is not None:  # rows of several clusters are one table, written at the end
            self._request.spool.keep_chunks(view.chunks(self._chunks(report)), columns)
            if asked.stuck:
                shown = (one for one in report.found() if is_shown(one[0], self._request))
                keep_findings(self._request.spool, shown)
            return
        if view.by is None:
            self._note_rows(report)
            rows = report.save(name, columns, only_lagging=view.only_lagging)
        else:
            batches = column_batches(view.chunks(self._chunks(report)), columns)
            rows = save_batches(self._session, name, batches, columns)
        if asked.stuck:
            findings = report.save_findings(f"{name}_findings", hygiene=asked.hygiene)
            said_saved(f"{name}_findings", findings, quiet=quiet)
        said_saved(name, rows, quiet=quiet)

    def _note_rows(self, report: "ReportThere") -> None:
        """Let --fail-on see rows that are not shown here, if it looks at any."""
        failing = self._request.failing
        if failing.lags or failing.statuses:
            for _ in self._chunks(report):
                pass

    def _chunks(self, report: "ReportThere") -> Iterator[LagChunk]:
        for chunk in report.chunks():
            self._request.failing.note_rows(chunk.columns)
            yield chunk

    def _found(self, report: "ReportThere") -> "Iterator[Found]":
        """The findings to show; --fail-on sees all."""
        for finding, client_id in report.found():
            self._request.failing.note_findings([finding])
            if is_shown(finding, self._request):
                yield finding, client_id
