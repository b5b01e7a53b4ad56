"""`lag-report` of the present: one look at the logs, shown as rows, findings or metrics."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kgroup.api.lag.inputs import names_in
from kgroup.api.lag.on_spark import read_on_spark
from kgroup.api.lag.report import LagQuestion, Look, scan_logs, take_look
from kgroup.api.names import nothing_matches, without_match
from kgroup.api.opened import OpenedLogs
from kgroup.cli.lag.asked import Asked
from kgroup.cli.lag.fail_on import FailOn
from kgroup.cli.lag.spark import save_rows
from kgroup.cli.lag.stuck import FindingView, emit_findings, judged_at
from kgroup.cli.lag.view_options import Views
from kgroup.cli.lag.views import RowView, metrics
from kgroup.cli.shell.say import say
from kgroup.report.emit import OutputFormat, OutputOptions, emit, emit_lines
from kgroup.scan.reductions.scan import newest_time
from kgroup.scan.reductions.scanned import Scanned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """What to look at, and how to show it.

    `since_ms` is where the page of --html begins, the log's beginning if None. `began_s` is when the command
    began, on the monotonic clock.
    """

    question: LagQuestion
    asked: Asked
    views: Views
    failing: FailOn
    output: OutputOptions
    save_as: str | None
    since_ms: int | None
    began_s: float

    def report(self, session: "SparkSession | None", logs: OpenedLogs, now_ms: int | None) -> tuple[str, ...]:
        """Look and show; say on standard error what else there is to say. Returns what could not be read.

        Without `now_ms` the clock counts, or, for files, their end.
        """
        scanned = self._scanned(session, logs)
        clock_ms = int(time.time() * 1000)
        look_ms = clock_ms if now_ms is None else now_ms
        as_of_ms, remarks = look_ms, list[str]()
        passes_judgement = self.question.rules is not None or self.question.findings
        if now_ms is None and logs.cluster is None:
            as_of_ms, told = judged_at(scanned.newest, clock_ms)
            if passes_judgement:
                look_ms, remarks = as_of_ms, told
        goes_on = now_ms is not None and (newest_time(scanned.newest) or now_ms) > now_ms
        if goes_on and passes_judgement:
            remarks.append("the log goes on after --now: statuses and findings go by all of it")
        look = take_look(self.question, logs, scanned, look_ms)
        if self.question.findings:
            remarks += self._show_findings(session, look, scanned)
        self._show(session, look)
        if self.views.html is not None:
            from kgroup.api.lag_history.page import Page, write_html

            page = Page(path=self.views.html, since_ms=self.since_ms, until_ms=as_of_ms, log_goes_on=goes_on)
            write_html(session, look, logs, page)
        problems = look.problems()
        for line in [*([] if self.question.quiet else [*look.remarks(), *remarks]), *problems]:
            say(logs.message(line))
        for line in self._missing(look):
            say(line)
        return problems

    def _missing(self, look: Look) -> Iterator[str]:
        """Of several groups or topics asked for, those that are not there."""
        inputs, question = look.inputs, self.question
        if question.groups is not None and len(question.groups) > 1:
            groups = {*inputs.groups, *names_in(inputs.commits, "group")}
            if absent := without_match(question.groups, groups):
                yield nothing_matches("group", absent, groups)
        if question.topics is not None and len(question.topics) > 1:
            topics = {row.topic for row in look.lag_rows()}
            if absent := without_match(question.topics, topics):
                yield nothing_matches("topic", absent, topics)

    def _scanned(self, session: "SparkSession | None", logs: OpenedLogs) -> Scanned:
        if session is not None:
            return read_on_spark(session, logs, self.question)
        return scan_logs(logs.sources, self.question)

    def _show_findings(self, session: "SparkSession | None", look: Look, scanned: Scanned) -> list[str]:
        save = None
        if session is not None and self.save_as is not None:
            save = partial(save_rows, session, f"{self.save_as}_findings", quiet=self.question.quiet)
        view = FindingView(
            stuck=self.asked.stuck, explain=self.asked.explain, rules=self.asked.rule_set, save=save
        )
        return emit_findings(look, scanned, view, self.failing, self.output)

    def _show(self, session: "SparkSession | None", look: Look) -> None:
        is_table = self.output.format is OutputFormat.TABLE and self.save_as is None
        view, watched = RowView(by=self.views.by, is_table=is_table), self.failing.watched_rows
        if session is not None and self.save_as is not None:
            rows = view.rows(look, watched)
            save_rows(session, self.save_as, rows, view.columns(look), quiet=self.question.quiet)
        elif self.asked.stuck or self.asked.explain is not None:
            return  # findings were shown in their place
        elif self.views.prometheus:
            emit_lines(metrics(look, time.monotonic() - self.began_s, watched), self.output)
        else:
            emit(view.rows(look, watched), view.columns(look), self.output)
