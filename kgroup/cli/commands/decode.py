"""`kgroup decode`: every record of the offsets topic, from a broker's log files."""

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.cli.options.decode import RULES, Follow, Selected, TopicsFile
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import check_options, given_options
from kgroup.cli.shell.options import Output, Quiet, Source, Strict
from kgroup.cli.shell.say import say
from kgroup.report.emit import Column, Kind, OutputFormat, OutputOptions, emit, emit_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from uuid import UUID

    from kgroup.api.decode.filter import Filter
    from kgroup.api.decode.problems import Problems
    from kgroup.api.decode.source import EntrySource, FileSource
    from kgroup.report.records.entry_json import TopicNames

    Advance = Callable[[int], None]

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
        "What a cluster's groups do, as they do it",
        "kgroup decode -b localhost:9092 --follow",
    ),
)

_COLUMNS: Final = (
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="segment"),
    Column(name="offset", kind=Kind.INTEGER),
    Column(name="timestamp", kind=Kind.TIME_MS),
    Column(name="kind"),
    Column(name="type"),
    Column(name="group"),
    Column(name="keyVersion", kind=Kind.INTEGER),
    Column(name="valueVersion", kind=Kind.INTEGER),
    Column(name="key", kind=Kind.NESTED),
    Column(name="value", kind=Kind.NESTED),
    Column(name="transaction"),
    Column(name="note"),
    Column(name="control"),
    Column(name="error"),
    Column(name="keyHex"),
    Column(name="valueHex"),
    Column(name="position", kind=Kind.INTEGER),
    Column(name="bytes", kind=Kind.INTEGER),
    Column(name="batch", kind=Kind.NESTED),
)
_TABLE_COLUMNS: Final = (
    Column(name="partition", header="P", kind=Kind.INTEGER),
    Column(name="offset", kind=Kind.INTEGER),
    Column(name="timestamp", header="TIME", kind=Kind.TIME_MS),
    Column(name="group"),
    Column(name="what"),
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

    Any record type and version of Kafka 0.10 to 4.3: commits, classic groups with what their members sent,
    groups of the consumer, share and streams protocols; deletions, the outcome of each transactional commit,
    and what nobody can read, with its bytes. JSON has Kafka's own field names. Damaged places are named on
    standard error by file and byte, and everything healthy still comes out. So are records that can be
    decoded and in which something is odd: bytes left over, or a consumer's subscription that is none.
    --strict counts them, too.

    The records come from a broker's files, or from a cluster with --bootstrap-server, up to what is committed
    there now. With --follow the cluster's new records come after them, until it is interrupted; how their
    transactions end is not known then.

    With several conditions a record must meet all of them; of several values for one, any. What cannot meet
    them by its offset, time or key is not decoded, so nothing is said of its value.
    """
    check_options(RULES, given_options(context))
    wanted, latest = selected.conditions(int(time.time() * 1000)), selected.latest
    options = replace(output, live=follow)
    is_watched = not quiet and (output.path is not None or not sys.stdout.isatty())
    if source.connection is None:
        files, names = _open_files(source.paths, selected.partitions, topics_file, wanted, latest, quiet)
        with files, _progress(files, latest, is_watched) as advance:
            problems = _show(files, names, wanted, latest, options, advance)
    else:
        from kgroup.api.decode.source import LiveSource
        from kgroup.api.live import live_log

        with live_log(source.connection, selected.partitions) as live:
            files, names = _open_files([live.folder], None, topics_file, wanted, latest, quiet)
            names |= live.topic_names()
            with _progress(files, latest, is_watched and not follow) as advance:
                following = LiveSource(files, live, follow=follow)
                problems = _show(following, names, wanted, latest, options, advance)
    problems.summarize(strict=strict, quiet=quiet)


def _progress(files: "FileSource", latest: bool, is_watched: bool) -> "AbstractContextManager[Advance]":
    from kgroup.report.progress import byte_progress

    passes = 2 if latest else 1
    return byte_progress("reading", passes * files.total_bytes, quiet=not is_watched)


def _open_files(
    paths: Sequence[str],
    partitions: Sequence[int] | None,
    topics_file: Path | None,
    wanted: "Filter",
    latest: bool,
    quiet: bool,
) -> "tuple[FileSource, dict[UUID, str]]":
    """The records to read, and the names of topic ids."""
    from kgroup.api.decode.source import FileSource, only_offsets, only_partitions, topic_names
    from kgroup.log.files.sources import one_replica_each, open_sources

    sources = open_sources(paths)
    names = topic_names(sources.log_dirs, topics_file)
    if partitions:
        sources = only_partitions(sources, partitions)
    if latest:
        sources = one_replica_each(sources)
    for skipped in () if quiet else sources.skipped:
        say(f"{skipped.path}: not read: {skipped.why}")
    return FileSource(
        sources if latest else only_offsets(sources, wanted.first_offset, wanted.last_offset)
    ), names


def _show(
    source: "EntrySource",
    names: "TopicNames",
    wanted: "Filter",
    latest: bool,
    options: OutputOptions,
    advance: "Advance",
) -> "Problems":
    from kgroup.api.decode.missing import NamesShown
    from kgroup.api.decode.problems import Problems
    from kgroup.api.decode.rows import chosen, flat_rows, json_texts, table_rows

    problems, shown = Problems(say), NamesShown(wanted)
    items = chosen(source, wanted, latest=latest, problems=problems, shown=shown, advance=advance)
    match options.format:
        case OutputFormat.TABLE:
            emit(table_rows(items, source, names), _TABLE_COLUMNS, options)
        case OutputFormat.JSON | OutputFormat.JSONL:
            emit_json(json_texts(items, source, names), options)
        case OutputFormat.CSV | OutputFormat.PARQUET:
            emit(flat_rows(items, source, names), _COLUMNS, options)
    problems.missing += shown.missing(source)
    return problems
