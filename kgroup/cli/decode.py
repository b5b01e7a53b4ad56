"""`kgroup decode`: every record of the offsets topic, from a broker's log files."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.cli.example import Example
from kgroup.cli.options import (
    BootstrapServer,
    ClientProperties,
    CommandConfig,
    Format,
    NoHeaders,
    OutputFile,
    Paths,
    Quiet,
    Strict,
    connection_options,
)
from kgroup.errors import FindingsError, InputError
from kgroup.report.emit import Column, Kind, OutputFormat, OutputOptions, Row, emit

if TYPE_CHECKING:
    from uuid import UUID

    from kgroup.cli.decode_filter import Filter
    from kgroup.cli.decode_source import EntrySource, FileSource
    from kgroup.log.batch import Damage
    from kgroup.log.entries import ReadRecord
    from kgroup.report.entry_json import TopicNames

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
    paths: Paths = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--group", metavar="NAME", help="Only this group, or all that match a pattern; repeatable."
        ),
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="NAME[:N,...]",
            help="Only commits for this topic or pattern, or only for these partitions; repeatable.",
        ),
    ] = None,
    partitions: Annotated[
        list[int] | None,
        typer.Option(
            "--partition",
            metavar="N",
            min=0,
            help="Only this partition of __consumer_offsets (see find-coordinator); repeatable.",
        ),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="Only this record type: offset-commit, group-metadata, 'consumer-group-*', Kafka's number,"
            " control, undecoded or empty-batch; repeatable.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help="From this time on: an ISO time, epoch ms, or a duration before now as 15m.",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help="Before this time.", show_default=False),
    ] = None,
    from_offset: Annotated[
        int | None,
        typer.Option(
            "--from-offset", metavar="N", min=0, help="From this offset of the log on.", show_default=False
        ),
    ] = None,
    to_offset: Annotated[
        int | None,
        typer.Option(
            "--to-offset", metavar="N", min=0, help="Up to this offset, it included.", show_default=False
        ),
    ] = None,
    tombstones: Annotated[bool, typer.Option("--tombstones", help="Only deletions.")] = False,
    latest: Annotated[
        bool,
        typer.Option(
            "--latest",
            help="Only the newest record of each key, as a coordinator holds them: no deletions, and no"
            " commits of aborted or open transactions. --until and --to-offset say when.",
        ),
    ] = False,
    topics_file: Annotated[
        Path | None,
        typer.Option(
            "--topics-file",
            metavar="FILE",
            help="Names of topic ids, in the form of a capture's topics.json; those of the log directory are"
            " known without.",
            show_default=False,
        ),
    ] = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    client_properties: ClientProperties = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="With --bootstrap-server: go on with new records as they are written."),
    ] = False,
    output_format: Format = OutputFormat.TABLE,
    output: OutputFile = None,
    no_headers: NoHeaders = False,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Show every record of the offsets topic.

    Any record type and version of Kafka 0.10 to 4.3: commits, classic groups with what their members sent,
    groups of the consumer, share and streams protocols; deletions, the outcome of each transactional commit,
    and what nobody can read, with its bytes. JSON has Kafka's own field names. Damaged places are named on
    standard error by file and byte, and everything healthy still comes out.

    The records come from a broker's files, or from a cluster with --bootstrap-server, up to what is committed
    there now. With --follow the cluster's new records come after them, until it is interrupted; how their
    transactions end is not known then.

    With several conditions a record must meet all of them; of several values for one, any.
    """
    from kgroup.cli.decode_filter import Filter, parse_topics, parse_types
    from kgroup.cli.times import parse_time

    if follow and (latest or bootstrap_server is None):
        raise InputError("--follow is for --bootstrap-server, and not with --latest")
    if not paths and bootstrap_server is None:
        raise InputError(
            "no PATH given: a segment, a __consumer_offsets folder, a log directory, or - for one;"
            " or a cluster with --bootstrap-server"
        )
    if paths and bootstrap_server is not None:
        raise InputError("give PATHs or --bootstrap-server, not both")
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
    options = OutputOptions(format=output_format, path=output, headers=not no_headers, live=follow)
    problems = Problems()
    if bootstrap_server is None:
        files, names = _open_files(paths or [], partitions, topics_file, wanted, latest, quiet)
        with files:
            _show(files, names, wanted, latest, options, problems)
    else:
        from kgroup.cli.decode_source import LiveSource
        from kgroup.cli.live import live_log

        connection = connection_options(bootstrap_server, command_config, client_properties)
        with live_log(connection, partitions) as live:
            files, names = _open_files([live.folder], None, topics_file, wanted, latest, quiet)
            names |= live.topic_names()
            _show(LiveSource(files, live, follow=follow), names, wanted, latest, options, problems)
    problems.summarize(strict)


def _open_files(
    paths: Sequence[str],
    partitions: Sequence[int] | None,
    topics_file: Path | None,
    wanted: "Filter",
    latest: bool,
    quiet: bool,
) -> "tuple[FileSource, dict[UUID, str]]":
    """The records to read, and the names of topic ids."""
    from kgroup.cli.decode_source import FileSource, only_offsets, only_partitions, topic_names
    from kgroup.log.sources import one_replica_each, open_sources

    sources = open_sources(paths)
    names = topic_names(sources.log_dirs, topics_file)
    if partitions:
        sources = only_partitions(sources, partitions)
    if latest:
        sources = one_replica_each(sources)
    for skipped in () if quiet else sources.skipped:
        print(f"kgroup: {skipped.path}: not read: {skipped.why}", file=sys.stderr)
    return FileSource(
        sources if latest else only_offsets(sources, wanted.first_offset, wanted.last_offset)
    ), names


def _show(
    source: "EntrySource",
    names: "TopicNames",
    wanted: "Filter",
    latest: bool,
    options: OutputOptions,
    problems: "Problems",
) -> None:
    emit(
        _rows(source, wanted, latest, names, options.format, problems),
        _TABLE_COLUMNS if options.format is OutputFormat.TABLE else _COLUMNS,
        options,
    )


@dataclass
class Problems:
    """What was damaged or undecodable. Damage is told at once; undecodable records are shown, so counted."""

    damaged: int = 0
    undecodable: int = 0
    first_undecodable: str = ""

    def add_damage(self, damage: "Damage") -> None:
        """Name the place."""
        self.damaged += 1
        left_out = f"{_count(damage.size, 'byte')} left out: " if damage.size else ""
        print(f"kgroup: {damage.segment}: byte {damage.position}: {left_out}{damage.why}", file=sys.stderr)

    def add_undecodable(self, read: "ReadRecord", why: str) -> None:
        """Count the record."""
        if not self.undecodable and read.record is not None:
            self.first_undecodable = f"{read.segment.path}: offset {read.record.offset}: {why}"
        self.undecodable += 1

    def summarize(self, strict: bool) -> None:
        """Say how many there were. Raises FindingsError if there were any and `strict` asks for it."""
        if self.undecodable:
            records = _count(self.undecodable, "record")
            first = f"{'the first, ' if self.undecodable > 1 else ''}{self.first_undecodable}"
            print(f"kgroup: {records} cannot be decoded: {first}", file=sys.stderr)
        if strict and self.damaged + self.undecodable:
            places, records = _count(self.damaged, "damaged place"), _count(self.undecodable, "record")
            raise FindingsError(f"{places}, {records} that cannot be decoded")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _rows(
    source: "EntrySource",
    wanted: "Filter",
    latest: bool,
    names: "TopicNames",
    output_format: OutputFormat,
    problems: Problems,
) -> Iterator[Row]:
    from kgroup.log.batch import Damage
    from kgroup.protocol.entries import Undecodable
    from kgroup.report.record_json import damage_json

    kept = _offsets_that_count(source, wanted) if latest else None
    for item in source.read():
        if isinstance(item, Damage):
            problems.add_damage(item)
            if output_format is not OutputFormat.TABLE:
                yield damage_json(item)
            continue
        if isinstance(item.entry, Undecodable):
            problems.add_undecodable(item, item.entry.why)
        if wanted.wants(item) and (kept is None or _place(item) in kept):
            match output_format:
                case OutputFormat.TABLE:
                    yield _table_row(source, item, names)
                case OutputFormat.JSON | OutputFormat.JSONL:
                    yield _json_row(source, item, names)
                case _:
                    yield {**_json_row(source, item, names), "group": _group(item)}


def _json_row(source: "EntrySource", read: "ReadRecord", names: "TopicNames") -> Row:
    from kgroup.report.record_json import record_json

    return record_json(read, transaction=source.outcome(read), topic_names=names)


def _table_row(source: "EntrySource", read: "ReadRecord", names: "TopicNames") -> Row:
    from kgroup.report.entry_text import entry_text

    row: dict[str, object] = {"partition": read.segment.partition}
    if read.record is None or read.entry is None:
        batch = read.batch
        what = f"the cleaner took all of offsets {batch.base_offset} to {batch.last_offset}"
        return {**row, "offset": batch.base_offset, "what": what}
    outcome = source.outcome(read)
    what = entry_text(read.entry, names)
    return {
        **row,
        "offset": read.record.offset,
        "timestamp": read.record.timestamp_ms if read.record.timestamp_ms >= 0 else None,
        "group": _group(read),
        "what": f"{what} [{outcome.value}]" if outcome is not None else what,
    }


def _group(read: "ReadRecord") -> str | None:
    from kgroup.protocol.entries import OffsetsEntry
    from kgroup.protocol.keys import group_of

    return group_of(read.entry.key) if isinstance(read.entry, OffsetsEntry) else None


def _offsets_that_count(source: "EntrySource", wanted: "Filter") -> "set[tuple[int, int]]":
    """Partition and offset of the newest record of each key, where `wanted` ends the log."""
    from kgroup.group.newest import NewestEntries
    from kgroup.log.batch import Damage
    from kgroup.log.entries import to_logged_entry

    newest = NewestEntries()
    for item in source.read():
        if isinstance(item, Damage) or item.record is None or item.entry is None:
            continue
        if wanted.is_before_end(item):
            newest.add(to_logged_entry(item.segment.partition, item.batch, item.record, item.entry))
    kept = {(logged.partition, logged.offset) for logged in newest.commits()}
    return kept | {(logged.partition, logged.offset) for logged in newest.others()}


def _place(read: "ReadRecord") -> tuple[int, int]:
    return read.segment.partition, -1 if read.record is None else read.record.offset
