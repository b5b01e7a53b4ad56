"""`kgroup decode`: every record of the offsets topic, from a broker's log files."""

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.cli.shell.complete_names import complete_topics
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Groups, Output, Quiet, Source, Strict
from kgroup.cli.shell.say import say
from kgroup.cli.shell.section import Section
from kgroup.errors import InputError
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
    source: Source,
    topics_file: Annotated[
        Path | None,
        typer.Option(
            "--topics-file",
            metavar="FILE",
            help="Names of topic ids, in the form of a capture's topics.json; those of the log directory are"
            " known without.",
            show_default=False,
            rich_help_panel=Section.SOURCE,
        ),
    ] = None,
    groups: Groups = None,
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="NAME[:N,...]",
            autocompletion=complete_topics,
            help="Only commits for this topic or pattern, or only for these partitions; repeatable.",
            rich_help_panel=Section.SELECTION,
        ),
    ] = None,
    partitions: Annotated[
        list[int] | None,
        typer.Option(
            "--partition",
            metavar="N",
            min=0,
            help="Only this partition of __consumer_offsets (see find-coordinator); repeatable.",
            rich_help_panel=Section.SELECTION,
        ),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="Only this record type: offset-commit, group-metadata, 'consumer-group-*', Kafka's number,"
            " control, undecoded or empty-batch; repeatable.",
            rich_help_panel=Section.SELECTION,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help="From this time on: an ISO time, epoch ms, or a duration before now as 15m.",
            show_default=False,
            rich_help_panel=Section.SELECTION,
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="TIME",
            help="Before this time.",
            show_default=False,
            rich_help_panel=Section.SELECTION,
        ),
    ] = None,
    from_offset: Annotated[
        int | None,
        typer.Option(
            "--from-offset",
            metavar="N",
            min=0,
            help="From this offset of the log on.",
            show_default=False,
            rich_help_panel=Section.SELECTION,
        ),
    ] = None,
    to_offset: Annotated[
        int | None,
        typer.Option(
            "--to-offset",
            metavar="N",
            min=0,
            help="Up to this offset, it included.",
            show_default=False,
            rich_help_panel=Section.SELECTION,
        ),
    ] = None,
    tombstones: Annotated[
        bool,
        typer.Option(
            "--tombstones",
            help="Only deletions.",
            rich_help_panel=Section.SELECTION,
        ),
    ] = False,
    latest: Annotated[
        bool,
        typer.Option(
            "--latest",
            help="Only the newest record of each key, as a coordinator holds them: no deletions, and no"
            " commits of aborted or open transactions. --until and --to-offset say when.",
            rich_help_panel=Section.SELECTION,
        ),
    ] = False,
    output: Output,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="With --bootstrap-server: go on with new records as they are written.",
            rich_help_panel=Section.BEHAVIOUR,
        ),
    ] = False,
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
    from kgroup.api.decode.filter import Filter, parse_topics, parse_types
    from kgroup.cli.shell.times import parse_time

    if follow and (latest or not source.is_live):
        raise InputError("--follow is for --bootstrap-server, and not with --latest")
    now_ms = int(time.time() * 1000)
    wanted = Filter(
        groups=tuple(groups) if groups else None,
        topics=parse_topics(topics) if topics else None,
        types=parse_types(types) if types else None,
        since_ms=parse_time(since, "--since", now_ms) if since else None,
        until_ms=parse_time(until, "--until", now_ms) if until else None,
        first_offset=from_offset,
        last_offset=to_offset,
        tombstones=tombstones,
    )
    options = replace(output, live=follow)
    is_watched = not quiet and (output.path is not None or not sys.stdout.isatty())
    if source.connection is None:
        files, names = _open_files(source.paths, partitions, topics_file, wanted, latest, quiet)
        with files, _progress(files, latest, is_watched) as advance:
            problems = _show(files, names, wanted, latest, options, advance)
    else:
        from kgroup.api.decode.source import LiveSource
        from kgroup.api.live import live_log

        with live_log(source.connection, partitions) as live:
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
