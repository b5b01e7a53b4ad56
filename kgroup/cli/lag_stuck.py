"""`lag-report --stuck`, `--explain` and `--fail-on`: findings in place of rows, a page, an exit status."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kgroup.cli.lag_explain import explain_group
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
from kgroup.cli.progress import byte_progress
from kgroup.group.finding_absence import PATIENCE_MS
from kgroup.group.finding_text import counted, lasting
from kgroup.group.lag_rules import LagRules
from kgroup.log.scan_history import History, newest_time, read_history
from kgroup.report.emit import OutputFormat, OutputOptions, emit, emit_page, iso_time

if TYPE_CHECKING:
    from kgroup.cli.lag_inputs import LagInputs
    from kgroup.log.sources import Sources

_SLICE_BYTES = 256 * 1024 * 1024


def history_of(sources: "Sources", *, quiet: bool) -> History:
    """Read the logs for what lies before their end."""
    from kgroup.log.scan import split

    parts = [part for segment in sources for part in split(segment.path, segment.partition, _SLICE_BYTES)]
    size = sum(part.end - part.start for part in parts)
    with byte_progress("reading history", size, quiet=quiet) as advance:
        return read_history(parts, advance)


def judged_at(history: History, clock_ms: int) -> tuple[int, str | None]:
    """When to judge a log that nobody gave --now for (epoch ms), and what to say of it.

    By the clock, unless the log ended long before: a copy of it would show nothing but stopped groups.
    """
    newest_ms = newest_time(history)
    if newest_ms is None or clock_ms - newest_ms <= PATIENCE_MS:
        return clock_ms, None
    ago = lasting(clock_ms - newest_ms)
    return newest_ms, (
        f"judged as of {iso_time(newest_ms)}, when anything was written to the log last, {ago} ago;"
        " --now TIME for another time"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingViews:
    """The findings on the groups of a report, noted for --fail-on as they are made."""

    reader: FactReader
    inputs: "LagInputs"
    wanted_topic: Callable[[str], bool]
    failing: FailOn

    def show(self, stuck: bool, explain: str | None, rules: LagRules, options: OutputOptions) -> list[str]:
        """Write rows or a page, or neither, and return what to try where a table has no room for it."""
        groups = list(self.reader.facts(self.inputs))
        findings = tuple(self.failing.watched(found_in(groups, self.wanted_topic)))
        if explain is not None:
            (facts,) = (facts for facts in groups if facts.group.group_id == explain)
            emit_page(partial(explain_group, facts, rules), options)
        if not stuck:
            return []
        if options.format is not OutputFormat.TABLE:
            emit(finding_rows(findings, self.inputs.groups), FINDING_COLUMNS, options)
            return []
        emit(finding_table(findings, self.inputs.groups, self.reader.now_ms), FINDING_TABLE, options)
        return list(remedies(findings)) or [f"nothing found in {counted(len(groups), 'group')}"]
