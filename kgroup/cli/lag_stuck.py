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
from kgroup.cli.progress import byte_progress
from kgroup.group.finding_absence import PATIENCE_MS
from kgroup.group.finding_text import lasting
from kgroup.group.lag_rules import RuleSet, rules_named
from kgroup.log.data_logs import DataLogs
from kgroup.log.scan import Newest, split
from kgroup.log.scan_history import History, newest_time, read_history
from kgroup.log.sources import Sources
from kgroup.report.emit import Column, OutputFormat, OutputOptions, Row, emit, emit_page, iso_time

_SLICE_BYTES = 256 * 1024 * 1024


def history_of(sources: Sources, *, quiet: bool) -> History:
    """Read the logs for what lies before their end."""
    parts = [part for segment in sources for part in split(segment.path, segment.partition, _SLICE_BYTES)]
    size = sum(part.end - part.start for part in parts)
    with byte_progress("reading history", size, quiet=quiet) as advance:
        return read_history(parts, advance)


def judged_at(history: History, clock_ms: int) -> tuple[int, list[str]]:
    """When to judge a log that nobody gave --now for (epoch ms), and what to say of it.

    By the clock, unless the log ended long before: a copy of it would show nothing but stopped groups.
    """
    newest_ms = newest_time(history)
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
    scanned: tuple[Newest, History],
    view: FindingView,
    failing: FailOn,
    now_ms: int | None,
    options: OutputOptions,
) -> list[str]:
    """Find what is wrong at `now_ms`, None for `judged_at`; show it, and return what else there is to say."""
    assert look.windows is not None, "the question was one about findings"
    newest, history = scanned
    remarks: list[str] = []
    if now_ms is None:
        now_ms, remarks = judged_at(history, look.now_ms)
    data_logs = DataLogs(look.sources.log_dirs)
    reader = FactReader(newest, look.windows, history, data_logs, now_ms, look.question.retention_ms)
    groups = reader.facts(look.inputs)
    wanted_topic = matcher(look.question.topics) if look.question.topics else None
    findings = tuple(failing.watched(found_in(groups, wanted_topic)))
    if view.explain is not None:
        emit_page(partial(explain_groups, reader.facts(look.inputs), rules_named(view.rules)), options)
    elif view.stuck and view.save is not None:
        view.save(finding_rows(findings, look.inputs.groups), FINDING_COLUMNS)
    elif view.stuck and options.format is OutputFormat.TABLE:
        emit(finding_table(findings, look.inputs.groups, now_ms), FINDING_TABLE, options)
        remarks += list(remedies(findings)) or ["nothing found"]
    elif view.stuck:
        emit(finding_rows(findings, look.inputs.groups), FINDING_COLUMNS, options)
    return [*remarks, *reader.problems]
