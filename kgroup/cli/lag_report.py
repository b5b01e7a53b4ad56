"""`kgroup lag-report`: how far every group is behind, from the log files of a broker."""

import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.cli.complete_names import complete_groups, complete_topics
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
from kgroup.cli.progress import activity, byte_progress
from kgroup.errors import FindingsError, InputError, SourceError
from kgroup.group.lag_rules import RuleSet
from kgroup.group.membership import GroupKind
from kgroup.protocol.topic_id import topic_id_text
from kgroup.report.emit import Column, Kind, OutputFormat, OutputOptions, Row, emit
from kgroup.report.table import printable

if TYPE_CHECKING:
    from kgroup.cli.lag_inputs import LagInputs
    from kgroup.cli.lag_status import StatusJudge
    from kgroup.log.scan import Newest
    from kgroup.log.sources import Sources
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

_LOCAL_MASTER: Final = "local[*]"
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


def lag_report(
    paths: Paths = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="NAME",
            autocompletion=complete_groups,
            help="Only this group, or all that match a pattern; repeatable.",
        ),
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="NAME",
            autocompletion=complete_topics,
            help="Only this topic, or all that match a pattern; repeatable.",
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
            help="The time that --status judges at, for old logs; the clock's by default.",
            show_default=False,
        ),
    ] = None,
    spark: Annotated[bool, typer.Option("--spark", help="Let Spark read the logs.")] = False,
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="URL",
            help=f"The Spark to run on, {_LOCAL_MASTER} by default.",
            show_default=False,
        ),
    ] = None,
    spark_conf: Annotated[
        list[str] | None,
        typer.Option(
            "--spark-conf", metavar="KEY=VALUE", help="A Spark setting; repeatable.", show_default=False
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
    from kgroup.cli.lag_inputs import gather

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
    if not spark and (master or spark_conf):
        raise InputError("--master and --spark-conf are for --spark")
    if not status and (rules or now):
        raise InputError("--rules and --now are for --status")
    if status and spark:
        raise InputError("--status is not judged on Spark; leave out --spark")
    now_ms = _now_ms(now)
    connection = None
    if bootstrap_server is not None:
        connection = connection_options(bootstrap_server, command_config, client_properties)
    scan = partial(_scan_on_spark, master or _LOCAL_MASTER, spark_conf or []) if spark else _scan
    with _opened(paths or [], connection) as (sources, live):
        inputs = gather(scan(sources, quiet), sources, log_ends, _matcher(groups), live)
        judge = _status_judge(sources, rules or RuleSet.KGROUP, now_ms, quiet) if status else None
    if groups and not inputs.groups and not inputs.commits.num_rows:
        raise SourceError(f"no group here matches {' or '.join(groups)}; leave out --group to see all")
    is_table = output_format is OutputFormat.TABLE
    columns = _TABLE_COLUMNS if is_table else _COLUMNS
    if judge is not None:
        columns = (*columns[:-1], *(_STATUS_COLUMNS[:2] if is_table else _STATUS_COLUMNS), columns[-1])
    emit(
        _rows(inputs, columns, _matcher(topics), only_lagging, judge),
        columns,
        OutputOptions(format=output_format, path=output, headers=not no_headers),
    )
    for line in [*([] if quiet else _remarks(sources, inputs)), *inputs.problems]:
        print(f"kgroup: {printable(line)}", file=sys.stderr)
    if strict and inputs.problems:
        raise FindingsError(f"damaged or undecodable places: {len(inputs.problems)}")


@contextmanager
def _opened(
    paths: Sequence[str], connection: "ConnectionOptions | None"
) -> Iterator["tuple[Sources, LogListing | None]"]:
    """The logs to scan, and what the cluster says of all topics where they are a cluster's."""
    from kgroup.log.sources import one_replica_each, open_sources

    if connection is None:
        yield one_replica_each(open_sources(paths)), None
        return
    from kgroup.cli.live import live_log

    with live_log(connection) as live:
        yield open_sources([live.folder]), live.cluster.log_listing()


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


def _status_judge(sources: "Sources", rules: RuleSet, now_ms: int, quiet: bool) -> "StatusJudge":
    """Read the logs once more for what the rules judge by."""
    from kgroup.cli.lag_status import StatusJudge, Windows
    from kgroup.group.lag_rules import rules_named
    from kgroup.log.scan import split
    from kgroup.log.scan_last import last_commits

    parts = [part for segment in sources for part in split(segment.path, segment.partition, _SLICE_BYTES)]
    with byte_progress(
        "reading windows", sum(part.end - part.start for part in parts), quiet=quiet
    ) as advance:
        last = last_commits(parts, _WINDOW_COMMITS, advance)
    return StatusJudge(windows=Windows(last, _WINDOW_COMMITS), rules=rules_named(rules), now_ms=now_ms)


def _scan_on_spark(master: str, spark_conf: list[str], sources: "Sources", quiet: bool) -> "Newest":
    from kgroup.spark import jobs
    from kgroup.spark.session import open_session, parse_conf

    with (
        activity(f"Spark ({master}) is reading", quiet=quiet),
        open_session(master, parse_conf(spark_conf)) as session,
    ):
        return jobs.newest(session, sources.segments)


def _matcher(patterns: Sequence[str] | None) -> Callable[[str], bool]:
    """Whether a name matches one of the patterns, which are a shell's; without any, every name does."""
    if not patterns:
        return lambda name: True
    return lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)


def _rows(
    inputs: "LagInputs",
    columns: Sequence[Column],
    wanted_topic: Callable[[str], bool],
    only_lagging: bool,
    judge: "StatusJudge | None",
) -> Iterator[Row]:
    of_status = {column.name for column in _STATUS_COLUMNS}
    names = [column.name for column in columns if column.name not in of_status]
    for row in inputs.rows():
        if not wanted_topic(row.topic) or (only_lagging and (row.lag or 0) <= 0):
            continue
        fields = {name: getattr(row, name) for name in names}
        fields["notes"] = [note.value for note in row.notes]
        if row.topic_id is not None and "topic_id" in fields:
            fields["topic_id"] = topic_id_text(row.topic_id)
        if judge is not None:
            fields |= judge.fields(row)
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
