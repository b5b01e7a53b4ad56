"""`kgroup deadlines`: when lag exceeds a bound, and when retention deletes unread records."""

import re
import time
from typing import Annotated, Final

from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Groups, LogEnds, Now, Output, Quiet, Source, Strict, Topics
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import opened
from kgroup.cli.shell.times import parse_length, parse_time
from kgroup.errors import FindingsError, InputError
from kgroup.report.emit import OutputFormat, emit
from kgroup.report.progress import TerminalProgress
from kgroup.report.table import counted

EXAMPLES: Final = (
    Example(
        "When lags will reach a minute",
        "kgroup deadlines fixtures/pipeline/4.3.1 --slo 1m",
    ),
    Example(
        "For a monitor: exit status 3 if 10,000 records may be exceeded within two hours",
        "kgroup deadlines -b localhost:9092 --slo 10000 --within 2h -q",
    ),
    Example(
        "When topics' own retention deletes what groups of a cluster have not read",
        "kgroup deadlines -b localhost:9092 --retention topic",
    ),
    Example(
        "When retention deletes what groups have not read",
        "kgroup deadlines fixtures/3.9.1/lives --retention 7d --all",
    ),
)
_OF_TOPICS: Final = "topic"
_RECORDS: Final = re.compile(r"[0-9]{1,18}")
_SIZE: Final = re.compile(r"([0-9]{1,15})([KMGT]?)B?", re.IGNORECASE)
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def deadlines(
    *,
    source: Source,
    log_ends: LogEnds = None,
    groups: Groups = None,
    topics: Topics = None,
    slo: Annotated[
        list[str] | None,
        option(
            "--slo",
            metavar="LAG",
            help="A lag not to be exceeded: a duration such as 10m, or a number of records; repeatable.",
            section=Section.SHOWN,
        ),
    ] = None,
    retention: Annotated[
        str | None,
        option(
            "--retention",
            metavar="DURATION|topic",
            help="retention.ms of the topics: when will it delete unread records? 'topic' asks a live cluster"
            " for each topic's own settings.",
            section=Section.SHOWN,
        ),
    ] = None,
    retention_bytes: Annotated[
        str | None,
        option(
            "--retention-bytes",
            metavar="SIZE",
            help="retention.bytes of the topics, per partition, such as 1G.",
            section=Section.SHOWN,
        ),
    ] = None,
    now: Now = None,
    every: Annotated[
        bool,
        option(
            "--all",
            help="Include deadlines that are only possible, not in sight, or unknown.",
            section=Section.SHOWN,
        ),
    ] = False,
    within: Annotated[
        str | None,
        option(
            "--within",
            metavar="DURATION",
            help="Exit with status 3 if a deadline in sight may come within this time.",
            section=Section.BEHAVIOUR,
        ),
    ] = None,
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Predict when lags break bounds and data is deleted unread.

    For each group and partition: when the lag will first exceed an SLO, in time or in records, and when
    retention will overtake the committed offset, if things continue as over the last commits. Each is an
    interval, EARLIEST to LATEST, which held in nine out of ten cases of a back-test. A group that stands
    still is assumed never to read again. Nobody can predict a crash: what is not in sight may still happen.

    For files, past log ends come from the topics' own logs next to the offsets topic; on a live cluster,
    from its brokers. docs/deadlines.md has the rules, and how often they held.
    """
    from kgroup.api.deadlines import deadlines as deadlines_of
    from kgroup.api.deadlines import summary
    from kgroup.report.deadline_rows import DEADLINE_COLUMNS, deadline_rows, deadline_table

    if retention == _OF_TOPICS and (not source.is_live or retention_bytes is not None):
        why = "files do not contain topics' settings" if not source.is_live else "leave out --retention-bytes"
        raise InputError(f"--retention topic asks a live cluster: {why}")
    if not slo and retention is None and retention_bytes is None:
        raise InputError("no bound given: --slo 10m, --slo 10000, --retention 7d or --retention-bytes 1G")
    records = [int(each) for each in slo or () if _RECORDS.fullmatch(each)]
    if 0 in records:
        raise InputError("--slo 0: a lag of at least 1 record")
    lengths = [parse_length(each, "--slo") for each in slo or () if not _RECORDS.fullmatch(each)]
    within_ms = None if within is None else parse_length(within, "--within")
    clock_ms = int(time.time() * 1000)
    with opened(source) as logs:
        made = deadlines_of(
            logs,
            slo_records=records,
            slo_ms=lengths,
            retention_ms=None if retention in (None, _OF_TOPICS) else parse_length(retention, "--retention"),
            topic_retention=retention == _OF_TOPICS,
            retention_bytes=None if retention_bytes is None else _size(retention_bytes),
            groups=groups,
            topics=topics,
            log_ends=log_ends,
            now_ms=None if now is None else parse_time(now, "--now", clock_ms),
            clock_ms=clock_ms,
            progress=TerminalProgress(quiet=quiet),
        )
    columns = deadline_table() if output.format is OutputFormat.TABLE else DEADLINE_COLUMNS
    emit(deadline_rows(made.deadlines if every else made.in_sight, made.now_ms), columns, output)
    for line in [*([] if quiet else [summary(made)]), *made.problems, *made.missing]:
        say(line)
    if within_ms is not None and (near := made.within(within_ms)):
        names = ", ".join(list(dict.fromkeys(each.group for each in near))[:3])
        raise FindingsError(f"--within {within}: {counted(len(near), 'deadline')} of {names}")
    fail_if_strict(made.problems, strict=strict)


def _size(text: str) -> int:
    matched = _SIZE.fullmatch(text)
    size = int(matched[1]) * _UNITS[matched[2].upper()] if matched else 0
    if not size:
        raise InputError(f"--retention-bytes {text}: not a size like 1000000, 512M or 1G")
    return size
