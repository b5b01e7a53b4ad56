"""`kgroup decode`: every record of the offsets topic, from a broker's log files."""

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.cli.options.decode import RULES, Follow, Selected, TopicsFile
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import check_options, given_options
from kgroup.cli.shell.options import Output, Quiet, Source, Strict
from kgroup.cli.shell.say import say
from kgroup.cli.shell.source import opened
from kgroup.errors import FindingsError, SourceError
from kgroup.report.emit import OutputFormat, OutputOptions, emit, emit_json, emit_parquet
from kgroup.report.progress import TerminalProgress
from kgroup.report.table import counted

if TYPE_CHECKING:
    from pathlib import Path

    from kgroup.api.decode.decoded import Decoded
    from kgroup.api.decode.problems import Problems
    from kgroup.cli.shell.source import Given

EXAMPLES: Final = (
    Example(
        "The commits of one group, as they happened",
        "kgroup decode fixtures/4.3.1/lives --group billing-txn --type offset-commit",
    ),
    Example(
        "What a coordinator holds after reading the log: the newest record of every key",
        "kgroup decode --latest fixtures/3.9.1/compacted -o csv",
    ),
    Example(
        "Everything in a damaged segment, with exit status 3 because it is damaged",
        "kgroup decode --strict -o jsonl fixtures/damaged/bad-magic/__consumer_offsets-5",
    ),
    Example(
        "How far share groups were, delivery by delivery",
        "kgroup decode fixtures/4.3.1/lives/__share_group_state-0",
    ),
    Example(
        "What a cluster's groups do, as they do it",
        "kgroup decode -b localhost:9092 --follow",
    ),
)


def decode(
    *,
    context: typer.Context,
    source: Source,
    topics_file: TopicsFile = None,
    selected: Annotated[Selected, Bundle(Selected)],
    output: Output,
    follow: Follow = False,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Show every record of the offsets topic.

    Any record type and version of Kafka 0.10 to 4.4: commits, classic groups with what their members sent,
    groups of the consumer, share and streams protocols; deletions, the outcome of each transactional
    commit, and unreadable records, with their bytes. JSON has Kafka's own field names. Damaged places are
    reported on standard error by file and byte, and everything healthy still comes out. The same goes for
    records that decode but look odd: leftover bytes, or an invalid consumer subscription. --strict counts
    these too.

    The records come from a broker's files, or with --bootstrap-server from a cluster, up to what is
    committed there now. With --follow the cluster's new records come after them, until interrupted; how
    their transactions end is not known then.

    Given folders or segments of __share_group_state, it shows that topic's records instead: snapshots of
    how far share groups are, and updates. --latest keeps each partition's newest snapshot and what came
    after it; --topic is what the groups read.

    A record must meet all conditions; if a condition has several values, any of them will do. Records
    already excluded by offset, time or key are not decoded, so problems in their values are not reported.
    """
    from kgroup.api.decode.decoded import decode_wanted
    from kgroup.api.decode.share_state import are_share_state

    check_options(RULES, given_options(context))
    if are_share_state(source.paths):
        _decode_share_state(source, topics_file, selected, output, quiet=quiet, strict=strict)
        return
    wanted = selected.conditions(int(time.time() * 1000))
    is_watched = not quiet and not follow and (output.path is not None or not sys.stdout.isatty())
    with opened(source) as logs:
        decoded = decode_wanted(
            logs,
            wanted,
            partitions=selected.partitions,
            latest=selected.latest,
            topics_file=topics_file,
            follow=follow,
            progress=TerminalProgress(quiet=not is_watched),
            hear=say,
        )
        for line in () if quiet else decoded.remarks:
            say(line)
        _show(decoded, replace(output, live=follow))
    _summarize(decoded.counts, strict=strict, quiet=quiet)


def _decode_share_state(
    source: "Given",
    topics_file: "Path | None",
    selected: Selected,
    output: OutputOptions,
    *,
    quiet: bool,
    strict: bool,
) -> None:
    from kgroup.api.decode.share_state import decode_share_state
    from kgroup.report.records.columns import COLUMNS, TABLE_COLUMNS
    from kgroup.report.records.share_records import ARROW_COLUMNS

    decoded = decode_share_state(
        source.paths,
        selected.conditions(int(time.time() * 1000), of_share_state=True),
        partitions=selected.partitions,
        latest=selected.latest,
        topics_file=topics_file,
        hear=say,
    )
    for line in () if quiet else decoded.remarks:
        say(line)
    match output.format:
        case OutputFormat.TABLE:
            emit(decoded.table_rows(), TABLE_COLUMNS, output)
        case OutputFormat.JSON | OutputFormat.JSONL:
            emit_json(decoded.json_texts(), output)
        case OutputFormat.CSV:
            emit(decoded.csv_rows(), COLUMNS, output)
        case OutputFormat.PARQUET:
            emit(decoded.csv_rows(), ARROW_COLUMNS, output)
    _summarize(decoded.counts, strict=strict, quiet=quiet)


def _show(decoded: "Decoded", output: OutputOptions) -> None:
    from kgroup.report.emit_text import emit_table_text, emit_text
    from kgroup.report.records.columns import COLUMNS, TABLE_COLUMNS

    match output.format:
        case OutputFormat.TABLE if decoded.is_in_bulk:
            emit_table_text(decoded.text_pieces(output.format), TABLE_COLUMNS, output)
        case OutputFormat.TABLE:
            emit(decoded.table_rows(), TABLE_COLUMNS, output)
        case OutputFormat.JSON | OutputFormat.JSONL | OutputFormat.CSV if decoded.is_in_bulk:
            emit_text(decoded.text_pieces(output.format), COLUMNS, output)
        case OutputFormat.PARQUET:
            from kgroup.report.records.item_columns import write_records

            tables = decoded.tables() if decoded.is_in_bulk else decoded.batches()
            emit_parquet(tables, decoded.arrow_columns(), output, write_records)
        case OutputFormat.JSON | OutputFormat.JSONL:
            emit_json(decoded.json_texts(), output)
        case OutputFormat.CSV:
            emit(decoded.csv_rows(), COLUMNS, output)


def _summarize(problems: "Problems", *, strict: bool, quiet: bool) -> None:
    """Say what the screen does not: how many were not named, that nothing was shown.

    Raises SourceError if nothing was, because there is no such group or topic; FindingsError if something
    was wrong and `strict` asks for it.
    """
    for line in problems.unnamed():
        say(line)
    if problems.missing and not problems.shown:
        raise SourceError("; ".join(problems.missing))
    for line in problems.missing:
        say(line)
    if not problems.shown + problems.damaged + problems.undecodable and not quiet:
        say("no records match")
    if strict and problems.damaged + problems.undecodable + problems.odd:
        raise FindingsError(
            f"{counted(problems.damaged, 'damaged place')}, "
            f"{counted(problems.undecodable, 'record')} that cannot be decoded, "
            f"{counted(problems.odd, 'record')} with something odd"
        )
