"""`lag-report --stuck`, `--explain` and `--fail-on`: findings in place of rows, a page, an exit status."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from kgroup.cli.lag_explain import explain_groups
from kgroup.cli.lag_fail_on import FailOn
from kgroup.cli.lag_findings import (
    FINDING_COLUMNS,
    FINDING_TABLE,
    FactReader,
    finding_rows,
    finding_table,
    found_in,
    remedies,
)
from kgroup.cli.lag_look import Look, matcher
from kgroup.group.finding_absence import PATIENCE_MS
from kgroup.group.finding_text import lasting
from kgroup.group.lag_rules import RuleSet, rules_named
from kgroup.log.data_logs import DataLogs
from kgroup.log.scan import Newest, newest_time
from kgroup.log.scanned import Scanned
from kgroup.report.emit import Column, OutputFormat, OutputOptions, Row, emit, emit_page, iso_time


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
    groups = reader.facts(look.inputs)
    wanted_topic = matcher(look.question.topics) if look.question.topics else None
    findings = tuple(failing.watched(found_in(groups, wanted_topic)))
    if view.explain is not None:
        emit_page(partial(explain_groups, reader.facts(look.inputs), rules_named(view.rules)), options)
    elif view.stuck and view.save is not None:
        view.save(finding_rows(findings, look.inputs.groups), FINDING_COLUMNS)
    elif view.stuck and options.format is OutputFormat.TABLE:
        emit(finding_table(findings, look.inputs.groups, look.now_ms), FINDING_TABLE, options)
        return [*(list(remedies(findings)) or ["nothing found"]), *reader.problems]
    elif view.stuck:
        emit(finding_rows(findings, look.inputs.groups), FINDING_COLUMNS, options)
    return list(reader.problems)
