"""`kgroup offsets-topic`: what fills `__consumer_offsets`."""

import time
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.api.names import member_of
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Groups, Output, Quiet, Source, Strict
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import opened
from kgroup.cli.shell.times import parse_time
from kgroup.report.emit import OutputFormat, emit
from kgroup.report.progress import TerminalProgress

if TYPE_CHECKING:
    from kgroup.api.offsets_topic import OffsetsTopic

EXAMPLES: Final = (
    Example("Which groups fill a broker's offsets topic", "kgroup offsets-topic fixtures/4.3.1/lives"),
    Example("Which kinds of records", "kgroup offsets-topic fixtures/3.9.1/compacted --by kind"),
    Example("Which applications write to a cluster's", "kgroup offsets-topic -b localhost:9092 --by client"),
)


def offsets_topic(
    *,
    source: Source,
    groups: Groups = None,
    by: Annotated[
        str,
        option(
            "--by",
            metavar="WHAT",
            help="Group bytes by group, client, kind, partition or segment.",
            section=Section.SHOWN,
        ),
    ] = "group",
    now: Annotated[
        str | None,
        option(
            "--now",
            metavar="TIME",
            help="Time as of which deletions are due. Default: now.",
            section=Section.SHOWN,
        ),
    ] = None,
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Show what fills the offsets topic.

    Records and bytes of each group: how many are commits, records of the group and its members, and
    deletions; how fast it writes, and how often it commits each partition. STAYS is what the log cleaner
    would keep if it ran now, LIVE what counts in the end: the newest value of each key.

    Every byte of the files is in exactly one row: a batch's header is divided evenly among its records,
    compressed records by their sizes. Rates are those at the end of the log, where nothing has been
    compacted yet. docs/offsets_topic.md has the rules.
    """
    from kgroup.api.offsets_topic import offsets_topic as tallied
    from kgroup.report.offsets_topic_rows import COLUMNS, By, filling_table

    chosen = member_of(By, by, "--by")
    clock_ms = int(time.time() * 1000)
    now_ms = clock_ms if now is None else parse_time(now, "--now", clock_ms)
    with opened(source) as logs:
        made = tallied(logs, now_ms=now_ms, progress=TerminalProgress(quiet=quiet))
        rows = made.rows(chosen, groups)
    emit(rows, filling_table(chosen) if output.format is OutputFormat.TABLE else COLUMNS, output)
    for line in [*([] if quiet else [*_notes(made), *made.remarks]), *made.problems]:
        say(line)
    fail_if_strict(made.problems, strict=strict)


def _notes(made: "OffsetsTopic") -> list[str]:
    from kgroup.report.fsck_rows import bytes_text
    from kgroup.report.table import counted

    whole = made.whole
    segments = counted(sum(len(each.segments) for each in made.partitions), "segment")
    notes = [
        f"{bytes_text(made.size)} in {segments} of {counted(len(made.partitions), 'partition')},"
        f" {whole.records:,} records: a cleaning now would leave {bytes_text(whole.stays_bytes)}, and"
        f" {bytes_text(whole.live_bytes)} count in the end"
    ]
    if made.heavy_writer is not None:
        notes.append(made.heavy_writer.text)
    for partition in made.partitions:
        if partition.open_from is not None:
            notes.append(
                f"offsets partition {partition.offsets_partition}: a transaction open since offset"
                f" {partition.open_from} keeps the log cleaner from all that follows"
            )
    return notes
