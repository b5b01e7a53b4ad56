"""`lag-report --stuck` and `--explain`: findings in place of rows, and pages about groups."""

from collections.abc import Iterable, Sequence
from functools import partial

from kgroup.api.lag.chunks import ReportedGroup
from kgroup.api.lag.explain import explain_groups
from kgroup.api.lag.report import LagReport
from kgroup.lag.findings.model import Finding
from kgroup.report.emit import OutputFormat, OutputOptions, emit, emit_page
from kgroup.report.lag.finding_rows import (
    FINDING_COLUMNS,
    FINDING_TABLE,
    finding_rows,
    finding_table,
    remedies,
)


def show_page(groups: Iterable[ReportedGroup], output: OutputOptions) -> None:
    """All about each group."""
    emit_page(partial(explain_groups, groups), output)


def show_findings(findings: Sequence[Finding], report: LagReport, output: OutputOptions) -> list[str]:
    """Show them as rows. Returns what to try, where the rows do not say it."""
    groups = report.inputs.groups
    if output.format is OutputFormat.TABLE:
        emit(finding_table(findings, groups, report.as_of.now_ms), FINDING_TABLE, output)
        return list(remedies(findings)) or ["nothing found"]
    emit(finding_rows(findings, groups), FINDING_COLUMNS, output)
    return []
