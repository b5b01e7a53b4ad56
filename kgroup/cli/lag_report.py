"""`kgroup lag-report`: how far every group is behind, from the log files of a broker."""

import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Protocol

import typer

from kgroup.cli.example import Example
from kgroup.cli.lag_options import TIME_COLUMNS, TIME_TABLE_COLUMNS, TimeLagOption, check_time_lag
from kgroup.cli.lag_spark import DEFAULT_MASTER, SparkOptions, read_on_spark, save_rows, spark_session
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
from kgroup.cli.progress import byte_progress
from kgroup.errors import FindingsError, InputError, SourceError
from kgroup.group.lag_rules import RuleSet
from kgroup.group.membership import GroupKind
from kgroup.protocol.topic_id import topic_id_text
from kgroup.report.emit import Column, Kind, OutputFormat, OutputOptions, Row, emit
from kgroup.report.table import printable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kgroup.cli.lag_inputs import LagInputs
    from kgroup.group.lag import LagRow
    from kgroup.log.scan import Newest
    from kgroup.log.scan_last import LastCommits
    from kgroup.log.sources import Sources
    from kgroup.net.admin import Cluster
    from kgroup.net.properties import ConnectionOptions
    from kgroup.protocol.log_ends import LogListing

EXAMPLES: Final = (
    Example("Every group of a broker, from its log directory", "kgroup lag-report fixtures/4.3.1/lives"),
    Example(
        "Who of the billing groups is behind, as JSON lines",
        "kgroup lag-report fixtures/4.3.1/lives --group 'billing-*' --only-lagging -o jsonl",
    ),
    Example(
        "With log ends that a cluster answered, for offsets partitions without their broker",
        "kgroup lag-report fixtures/2.4.1/lives --log-ends fixtures/2.4.1/lives/topics.json",
    ),
    Example(
        "Who seems stopped or stuck, and by which rule, as it was at the time of the files",
        "kgroup lag-report fixtures/3.9.1/codec-gzip --status --now 2026-11-20T13:00Z",
    ),
    Example("Who is behind on a live cluster", "kgroup lag-report -b localhost:9092 --only-lagging"),
)

_SLICE_BYTES: Final = 256 * 1024 * 1024  # between two looks at the progress bar

_COLUMNS: Final = (
    Column(name="group"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="current_offset", kind=Kind.INTEGER),
    Column(name="log_end_offset", kind=Kind.INTEGER),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="log_start_offset", kind=Kind.INTEGER),
    Column(name="leader_epoch", kind=Kind.INTEGER),
    Column(name="metadata"),
    Column(name="commit_timestamp", kind=Kind.TIME_MS),
    Column(name="member_id"),
    Column(name="group_instance_id"),
    Column(name="host"),
    Column(name="client_id"),
    Column(name="group_kind"),
    Column(name="group_state"),
    Column(name="topic_id"),
    Column(name="topic_state"),
    Column(name="log_end_source"),
    Column(name="notes", kind=Kind.NESTED),
)
_STATUS_COLUMNS: Final = (
    Column(name="status"),
    Column(name="rule"),
    Column(name="evidence", kind=Kind.NESTED),
)
_WINDOW_COMMITS: Final = 10  # as many as Burrow keeps by default
_NOT_WITH_TIMES: Final = ("current_offset", "log_end_offset", "client_id")
_TABLE_COLUMNS: Final = (
    Column(name="group"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="current_offset", kind=Kind.INTEGER),
    Column(name="log_end_offset", kind=Kind.INTEGER),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="client_id"),
    Column(name="notes", kind=Kind.NESTED),
)


class Filler(Protocol):
    """Fills columns of a row that are not in the row itself."""

    def fields(self, row: "LagRow") -> Mapping[str, object]:
        """The fields by name."""


def lag_report(
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
            "--topic", metavar="NAME", help="Only this topic, or all that match a pattern; repeatable."
        ),
    ] = None,
    log_ends: Annotated[
        Path | None,
        typer.Option(
            "--log-ends",
            metavar="FILE",
            help="Log ends that win over those found beside the logs. CSV with the columns topic, partition,"
            " log_end_offset, perhaps log_start_offset and topic_id; or JSON like a capture's topics.json.",
            show_default=False,
        ),
    ] = None,
    only_lagging: Annotated[
        bool, typer.Option("--only-lagging", help="Only partitions with a lag above 0.")
    ] = False,
    status: Annotated[
        bool,
        typer.Option(
            "--status",
            help=f"Judge each partition by its last {_WINDOW_COMMITS} commits: OK, WARN, STOP, STALL, REWIND"
            " or UNKNOWN, with the rule that decided and its numbers.",
        ),
    ] = False,
    rules: Annotated[
        RuleSet | None,
        typer.Option(
            "--rules",
            metavar="burrow|kgroup",
            help="Whose rules --status goes by: Burrow's, or kgroup's own, which are the default.",
            show_default=False,
        ),
    ] = None,
    now: Annotated[
        str | None,
        typer.Option(
            "--now",
            metavar="TIME",
            help="The time that --status and --time-lag go by, for old logs; the clock's by default. The end"
            " of --windows; the log's last commit by default.",
            show_default=False,
        ),
    ] = None,
    history: Annotated[
        str | None,
        typer.Option(
            "--windows",
            metavar="DURATION",
            help="The history instead of the present: a row for each window of this length, as it was when"
            " the window ended.",
            show_default=False,
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="TIME",
            help="The first of --windows; by default the log's first commit.",
            show_default=False,
        ),
    ] = None,
    time_lag: TimeLagOption = None,
    spark: Annotated[bool, typer.Option("--spark", help="Let Spark read the logs.")] = False,
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="URL",
            help=f"The Spark to run on, {DEFAULT_MASTER} by default.",
            show_default=False,
        ),
    ] = None,
    spark_conf: Annotated[
        list[str] | None,
        typer.Option(
            "--spark-conf", metavar="KEY=VALUE", help="A Spark setting; repeatable.", show_default=False
        ),
    ] = None,
    save_as: Annotated[
        str | None,
        typer.Option(
            "--save-as",
            metavar="TABLE",
            help="Make the rows a table of Spark's catalog, in place of what it held, and print none.",
            show_default=False,
        ),
    ] = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    client_properties: ClientProperties = None,
    output_format: Format = OutputFormat.TABLE,
    output: OutputFile = None,
    no_headers: NoHeaders = False,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Say how far every group is behind.

    Partition by partition, from a broker's files: the newest commits in __consumer_offsets, and the log ends
    of the topics. Of each partition that is, in this order, what --log-ends says, the end of the segments
    in its folder, or the broker's checkpoint of high watermarks. What none of them knows is unknown, not 0.
    With --bootstrap-server both come from the cluster, the high watermarks after the commits.

    Lag is the log end offset less the committed offset, as Kafka's tool prints it: negative if somebody
    committed an offset beyond the end. Commits of aborted and of open transactions do not count.

    A log holds commits, but no log ends of the past: so --status cannot tell whether the lag grew, nor since
    when there has been something to read, and says UNKNOWN. docs/lag_status.md explains the rules.
    """
    from kgroup.cli.lag_history import HistoryOptions, report_history, window_length
    from kgroup.cli.lag_inputs import gather
    from kgroup.cli.lag_status import StatusJudge, Windows
    from kgroup.cli.lag_time import time_columns
    from kgroup.cli.times import parse_time
    from kgroup.group.lag_rules import rules_named

    # Rows and what they are made of live to the end; looking for cycles among them costs a seventh of it all.
    gc.set_threshold(50_000, 10, 10)
    if not paths and bootstrap_server is None:
        raise InputError(
            "no PATH given: the log directory of a broker, or __consumer_offsets folders or segments;"
            " or a cluster with --bootstrap-server"
        )
    if paths and bootstrap_server is not None:
        raise InputError("give PATHs or --bootstrap-server, not both")
    if "-" in (paths or ()):
        raise InputError("-: lag-report cannot read standard input, it needs files")
    if not spark and (master or spark_conf or save_as):
        raise InputError("--master, --spark-conf and --save-as are for --spark")
    if save_as and (output or output_format is not OutputFormat.TABLE):
        raise InputError("--save-as is instead of --format and --output")
    if rules and not (status or history):
        raise InputError("--rules is for --status and --windows")
    if now and not (status or time_lag or history):
        raise InputError("--now is for --status, --time-lag and --windows")
    if since and not history:
        raise InputError("--since is for --windows")
    if history and (status or time_lag or log_ends):
        raise InputError("--windows judges by itself: no --status, --time-lag or --log-ends with it")
    if time_lag is not None:
        check_time_lag(time_lag, live=bootstrap_server is not None, repeated=False)
    now_ms = _now_ms(now)
    connection = None
    if bootstrap_server is not None:
        connection = connection_options(bootstrap_server, command_config, client_properties)
    destination = OutputOptions(format=output_format, path=output, headers=not no_headers)
    on_spark = SparkOptions(master=master or DEFAULT_MASTER, conf=spark_conf or (), save_as=save_as)
    with (
        _opened(paths or [], connection) as (sources, live, cluster),
        spark_session(on_spark if spark else None, quiet=quiet) as session,
    ):
        if history is not None:
            history_options = HistoryOptions(
                length_ms=window_length(history),
                since_ms=parse_time(since, "--since", now_ms) if since else None,
                until_ms=now_ms if now else None,
                slots=_WINDOW_COMMITS,
                rules=rules_named(rules or RuleSet.KGROUP),
                wanted_group=_matcher(groups),
                wanted_topic=_matcher(topics),
                only_lagging=only_lagging,
            )
            report_history(session, sources, history_options, save_as, destination, quiet=quiet)
            return
        newest, last = _read(sources, session, _WINDOW_COMMITS if status or time_lag else None, quiet)
        inputs = gather(newest, sources, log_ends, _matcher(groups), live)
        if groups and not inputs.groups and not inputs.commits.num_rows:
            raise SourceError(f"no group here matches {' or '.join(groups)}; leave out --group to see all")
        chosen = partial(_chosen, wanted_topic=_matcher(topics), only_lagging=only_lagging)
        windows = Windows(last, _WINDOW_COMMITS) if last is not None else None
        fillers: list[Filler] = []
        if status and windows is not None:
            fillers.append(
                StatusJudge(windows=windows, rules=rules_named(rules or RuleSet.KGROUP), now_ms=now_ms)
            )
        times = None
        if time_lag is not None and windows is not None:
            times = time_columns(time_lag, sources, cluster, partial(chosen, inputs), windows, now_ms)
            fillers.append(times)
        is_table = output_format is OutputFormat.TABLE and save_as is None
        columns = _columns(is_table=is_table, status=status, time_lag=time_lag is not None)
        rows = _rows(chosen(inputs), columns, fillers)
        if session is not None and save_as is not None:
            save_rows(session, save_as, rows, columns, quiet=quiet)
        else:
            emit(rows, columns, destination)
    problems = [*inputs.problems, *(times.problems if times is not None else ())]
    for line in [*([] if quiet else _remarks(sources, inputs)), *problems]:
        print(f"kgroup: {printable(line)}", file=sys.stderr)
    if strict and problems:
        raise FindingsError(f"damaged or undecodable places: {len(problems)}")


@contextmanager
def _opened(
    paths: Sequence[str], connection: "ConnectionOptions | None"
) -> Iterator["tuple[Sources, LogListing | None, Cluster | None]"]:
    """The logs to scan, and where they are a cluster's what it says of all topics, and the cluster to ask."""
    from kgroup.log.sources import one_replica_each, open_sources

    if connection is None:
        yield one_replica_each(open_sources(paths)), None, None
        return
    from kgroup.cli.live import live_log

    with live_log(connection) as live:
        yield open_sources([live.folder]), live.cluster.log_listing(), live.cluster


def _read(
    sources: "Sources", session: "SparkSession | None", window_commits: int | None, quiet: bool
) -> "tuple[Newest, LastCommits | None]":
    """The newest records, and if asked for the last `window_commits` of each key."""
    if session is not None:
        return read_on_spark(session, sources, window_commits, quiet=quiet)
    return _scan(sources, quiet), _last(sources, window_commits, quiet) if window_commits else None


def _scan(sources: "Sources", quiet: bool) -> "Newest":
    import pyarrow as pa

    from kgroup.log.scan import merge, newest, split

    # Arrow's own allocator keeps what it freed, and a tenth of this process's memory with it.
    pa.set_memory_pool(pa.system_memory_pool())
    parts = [part for segment in sources for part in split(segment.path, segment.partition, _SLICE_BYTES)]
    scanned: list[Newest] = []
    with byte_progress("reading", sum(part.end - part.start for part in parts), quiet=quiet) as advance:
        for _, of_partition in groupby(parts, key=lambda part: part.offsets_partition):
            so_far: Newest | None = None
            for part in of_partition:
                found = newest([part])
                so_far = merge([so_far, found]) if so_far else found
                advance(part.end - part.start)
            scanned += [so_far] if so_far else []
    return merge(scanned)


def _now_ms(now: str | None) -> int:
    from kgroup.cli.times import parse_time

    clock_ms = int(time.time() * 1000)
    return parse_time(now, "--now", clock_ms) if now else clock_ms


def _last(sources: "Sources", window_commits: int, quiet: bool) -> "LastCommits":
    """Read the logs once more for what the rules judge by."""
    from kgroup.log.scan import split
    from kgroup.log.scan_last import last_commits

    parts = [part for segment in sources for part in split(segment.path, segment.partition, _SLICE_BYTES)]
    size = sum(part.end - part.start for part in parts)
    with byte_progress("reading windows", size, quiet=quiet) as advance:
        return last_commits(parts, window_commits, advance)


def _matcher(patterns: Sequence[str] | None) -> Callable[[str], bool]:
    """Whether a name matches one of the patterns, which are a shell's; without any, every name does."""
    if not patterns:
        return lambda name: True
    return lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)


def _columns(*, is_table: bool, status: bool, time_lag: bool) -> tuple[Column, ...]:
    """What a report shows; notes stand last. A table leaves out what may be had from the others."""
    *columns, notes = _TABLE_COLUMNS if is_table else _COLUMNS
    if is_table and time_lag:
        columns = [column for column in columns if column.name not in _NOT_WITH_TIMES]
    if time_lag:
        columns += TIME_TABLE_COLUMNS if is_table else TIME_COLUMNS
    if status:
        columns += _STATUS_COLUMNS[:2] if is_table else _STATUS_COLUMNS
    return (*columns, notes)


def _chosen(
    inputs: "LagInputs", *, wanted_topic: Callable[[str], bool], only_lagging: bool
) -> Iterator["LagRow"]:
    for row in inputs.rows():
        if wanted_topic(row.topic) and (not only_lagging or (row.lag or 0) > 0):
            yield row


def _rows(rows: Iterable["LagRow"], columns: Sequence[Column], fillers: "Sequence[Filler]") -> Iterator[Row]:
    filled = {column.name for column in (*_STATUS_COLUMNS, *TIME_COLUMNS)}
    names = [column.name for column in columns if column.name not in filled]
    for row in rows:
        fields = {name: getattr(row, name) for name in names}
        fields["notes"] = [note.value for note in row.notes]
        if row.topic_id is not None and "topic_id" in fields:
            fields["topic_id"] = topic_id_text(row.topic_id)
        for filler in fillers:
            fields |= filler.fields(row)
        yield fields


def _remarks(sources: "Sources", inputs: "LagInputs") -> Iterator[str]:
    """What the rows do not show and somebody may miss."""
    for skipped in sources.skipped:
        yield f"{skipped.path}: not read: {skipped.why}"
    without_rows = {group.group_id for group in inputs.groups_without_rows()}
    for group_id, group in sorted(inputs.groups.items()):
        notes = [*group.notes, *(note for member in group.members for note in member.notes)]
        if group_id in without_rows:
            share = group.kind is GroupKind.SHARE
            notes.insert(0, "its progress is in __share_group_state" if share else "no offsets")
        if notes:
            members = f"{len(group.members)} member{'' if len(group.members) == 1 else 's'}"
            yield f"group {group_id} ({group.kind}, {group.state}, {members}): {'; '.join(notes)}"
    if inputs.pending:
        yield f"{len(inputs.pending)} newer commits stand in transactions that are still open"
    if not inputs.ends.sources() and inputs.commits.num_rows:
        yield "no log ends found: give a broker's log directory, or --log-ends FILE"
