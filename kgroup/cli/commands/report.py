"""`kgroup report`: what happened to groups, on a page in which every sentence cites its records."""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.cli.options.period import Period
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Groups, OutputFile, Quiet, Source
from kgroup.cli.shell.say import say
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import opened
from kgroup.cli.shell.times import parse_length
from kgroup.errors import FindingsError, InputError
from kgroup.report.progress import TerminalProgress
from kgroup.report.table import counted

if TYPE_CHECKING:
    from kgroup.api.incident.ahead import AskedDeadline

EXAMPLES: Final = (
    Example(
        "What happened to a group",
        "kgroup report fixtures/3.9.1/lives --group push-storm",
    ),
    Example(
        "The groups to which most happened, as a page for a browser",
        "kgroup report fixtures/4.3.1/lives -o html --output incident.html",
    ),
    Example(
        "Derive every claim of a report from the records that it cites",
        "kgroup report --check incident.html fixtures/4.3.1/lives",
    ),
)


class ReportFormat(StrEnum):
    """The forms of a report."""

    MD = "md"
    HTML = "html"
    JSON = "json"


def report(
    *,
    source: Source,
    groups: Groups = None,
    period: Annotated[Period, Bundle(Period)],
    check: Annotated[
        Path | None,
        option(
            "--check",
            metavar="FILE",
            help="Make no report; instead derive every claim of this one again from the records it cites."
            " Exit with status 3 if one does not hold.",
            section=Section.BEHAVIOUR,
        ),
    ] = None,
    slo: Annotated[
        list[str] | None,
        option(
            "--slo",
            metavar="LAG",
            help="Also say when the lag will exceed this: a duration such as 10m, or a number of records;"
            " repeatable.",
            section=Section.SHOWN,
        ),
    ] = None,
    retention: Annotated[
        str | None,
        option(
            "--retention",
            metavar="DURATION",
            help="Also say when this retention.ms will delete unread records.",
            section=Section.SHOWN,
        ),
    ] = None,
    report_format: Annotated[
        ReportFormat,
        option(
            "-o",
            "--format",
            metavar="FORMAT",
            help="md, html or json.",
            section=Section.OUTPUT,
            show_default=True,
        ),
    ] = ReportFormat.MD,
    output: OutputFile = None,
    quiet: Quiet = False,
) -> None:
    """Report what happened to groups, with proof.

    Which groups rebalanced, when and why, and how long their partitions waited; how far behind they were;
    what is wrong with them at the end; what static members, cooperative rebalancing, the consumer protocol
    or one more member would have changed; and what the log cannot say. Without --group it covers the ten
    groups to which most happened.

    Each sentence rests on claims, and each claim on records such as __consumer_offsets-12@4711, as few as
    give the same answer. Anything that does not follow from citable records is left out, and the report
    says so.

    --check uses only a report's citations and questions, derives all claims again from those records in
    PATH, and writes the text again. If a record is gone, or a number or sentence was changed, it says so,
    with the number of the claim.

    With --slo and --retention it looks ahead, as kgroup deadlines does: what will be too late, and when.

    For a live cluster it fetches some batches of its topics, which prove where their logs ended at the
    times asked about, and up to 64 between the ends of each. Findings that need more are listed as left out.
    """
    import time

    from kgroup.api.incident.check import check_report, rendered
    from kgroup.api.incident.made import incident_report
    from kgroup.report.destination import opened as destination

    progress = TerminalProgress(quiet=quiet)
    if check is not None:
        given = {
            "--group": groups,
            **period.given,
            "--slo": slo,
            "--retention": retention,
            "--output": output,
        }
        for name in (name for name, value in given.items() if value):
            raise InputError(f"--check does not go with {name}: the report says what it is about")
        with opened(source) as logs:
            checked = check_report(check, logs, progress=progress)
        for failure in checked.failures:
            say(f"{check}: {failure}")
        if checked.failures:
            raise FindingsError(
                f"{check}: {counted(len(checked.failures), 'fault')} in {_claims(checked.claims)}"
            )
        print(f"{check}: {_claims(checked.claims)}, each derived again from the records that it cites")
        return
    now_ms = int(time.time() * 1000)
    from_ms, to_ms = period.times(now_ms)
    asked = list(_deadlines(slo or (), retention))
    with opened(source) as logs:
        if logs.cluster is not None and to_ms is None:
            to_ms = now_ms
        incident = incident_report(
            logs,
            groups=groups,
            from_ms=from_ms,
            to_ms=to_ms,
            deadlines=asked,
            progress=progress,
        )
    with destination(output) as stream:
        stream.write(rendered(incident, report_format.value))


def _claims(number: int) -> str:
    return counted(number, "claim")


def _deadlines(slo: Sequence[str], retention: str | None) -> "Iterator[AskedDeadline]":
    from kgroup.api.incident.ahead import AskedDeadline
    from kgroup.lag.deadlines.model import DeadlineKind

    for each in slo:
        if re.fullmatch(r"[0-9]{1,18}", each):
            if not int(each):
                raise InputError(f"--slo {each}: a lag of at least 1 record")
            yield AskedDeadline(DeadlineKind.SLO_RECORDS, int(each))
        else:
            yield AskedDeadline(DeadlineKind.SLO_TIME, parse_length(each, "--slo"))
    if retention is not None:
        yield AskedDeadline(DeadlineKind.RETENTION_TIME, parse_length(retention, "--retention"))
