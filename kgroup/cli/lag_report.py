"""`kgroup lag-report`: how far every group is behind, from the log files of a broker."""

import gc
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.cli.example import Example
from kgroup.cli.lag_checks import check_options, given_options
from kgroup.cli.lag_options import (
    BreakdownOption,
    ByOption,
    CheckpointOption,
    EveryOption,
    ExplainOption,
    FailOnOption,
    HtmlOption,
    MaxOffsetsOption,
    OnceOption,
    PrometheusOption,
    RemoteOption,
    RetentionOption,
    ServeMetricsOption,
    ShipOption,
    SinceOption,
    StreamOption,
    StuckOption,
    TimeLagOption,
    Views,
    WatchOption,
    WindowsOption,
    check_time_lag,
)
from kgroup.cli.lag_spark import (
    DEFAULT_MASTER,
    SparkOptions,
    read_on_spark,
    save_rows,
    spark_session,
    which_spark,
)
from kgroup.cli.options import Groups, Output, Quiet, Source, Strict, Topics
from kgroup.cli.section import Section
from kgroup.errors import FindingsError, InputError
from kgroup.group.lag_rules import RuleSet
from kgroup.report.emit import OutputFormat, emit, emit_lines
from kgroup.report.table import printable

if TYPE_CHECKING:
    from kgroup.cli.lag_look import OpenedLogs
    from kgroup.net.properties import ConnectionOptions

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
    Example(
        "Which groups are stuck, since when, and what to try",
        "kgroup lag-report fixtures/2.4.1/lives --stuck --now 2026-11-20T12:42:11Z",
    ),
    Example(
        "All about one group, on a page",
        "kgroup lag-report fixtures/2.4.1/lives --explain warehouse-stuck --now 2026-11-20T12:42:11Z",
    ),
    Example(
        "Since when records have waited, and whether the lag grows, as it was at the time of the files",
        "kgroup lag-report fixtures/4.3.1/lives --topic payments --time-lag exact --now 2026-11-20T12:48:41Z",
    ),
    Example("Sums of each group", "kgroup lag-report fixtures/4.3.1/lives --by group --only-lagging"),
    Example(
        "How far a group was behind in each quarter of an hour that the log tells of",
        "kgroup lag-report /var/lib/kafka/data --group orders-app --windows 15m",
    ),
    Example(
        "Lag and findings of a cluster's logs in object storage, as tables of Spark's catalog",
        "kgroup lag-report --spark s3://bucket/cluster-7 --stuck --save-as lag",
    ),
    Example(
        "The live report again and again, from what is new, after a crash from where it was",
        "kgroup lag-report -b localhost:9092 --spark --stream --checkpoint /var/lib/kgroup/lag",
    ),
    Example("Who is behind on a live cluster", "kgroup lag-report -b localhost:9092 --only-lagging"),
    Example("On a screen that stays", "kgroup lag-report -b localhost:9092 --only-lagging --watch 5"),
    Example(
        "Metrics for Prometheus at http://127.0.0.1:9308/metrics",
        "kgroup lag-report -b localhost:9092 --time-lag exact --serve-metrics 9308",
    ),
    Example("A page of lag over time", "kgroup lag-report -b localhost:9092 --html lag.html"),
)


def lag_report(
    *,
    context: typer.Context,
    source: Source,
    log_ends: Annotated[
        Path | None,
        typer.Option(
            "--log-ends",
            metavar="FILE",
            help="Log ends that win over those found beside the logs. CSV with the columns topic, partition,"
            " log_end_offset, perhaps log_start_offset and topic_id; or JSON like a capture's topics.json.",
            show_default=False,
            rich_help_panel=Section.SOURCE,
        ),
    ] = None,
    groups: Groups = None,
    topics: Topics = None,
    only_lagging: Annotated[
        bool,
        typer.Option(
            "--only-lagging",
            help="Only partitions with a lag above 0.",
            rich_help_panel=Section.SELECTION,
        ),
    ] = False,
    status: Annotated[
        bool,
        typer.Option(
            "--status",
            help="Judge each partition by its last 10 commits: OK, WARN, STOP, STALL, REWIND"
            " or UNKNOWN, with the rule that decided and its numbers.",
            rich_help_panel=Section.SHOWN,
        ),
    ] = False,
    rules: Annotated[
        RuleSet | None,
        typer.Option(
            "--rules",
            metavar="burrow|kgroup",
            help="Whose rules --status goes by: Burrow's, or kgroup's own, which are the default.",
            show_default=False,
            rich_help_panel=Section.SHOWN,
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
            rich_help_panel=Section.SHOWN,
        ),
    ] = None,
    stuck: StuckOption = False,
    explain: ExplainOption = None,
    time_lag: TimeLagOption = None,
    breakdown: BreakdownOption = False,
    offsets_retention: RetentionOption = None,
    by: ByOption = None,
    history: WindowsOption = None,
    since: SinceOption = None,
    watch: WatchOption = None,
    output: Output,
    prometheus: PrometheusOption = False,
    serve_metrics: ServeMetricsOption = None,
    html: HtmlOption = None,
    quiet: Quiet = False,
    strict: Strict = False,
    fail_on: FailOnOption = None,
    spark: Annotated[
        bool,
        typer.Option(
            "--spark",
            help="Let Spark read the logs.",
            rich_help_panel=Section.SPARK,
        ),
    ] = False,
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="URL",
            help=f"The Spark to run on: {DEFAULT_MASTER} by default, spark://HOST:PORT, yarn, k8s://URL.",
            show_default=False,
            rich_help_panel=Section.SPARK,
        ),
    ] = None,
    remote: RemoteOption = None,
    spark_conf: Annotated[
        list[str] | None,
        typer.Option(
            "--spark-conf",
            metavar="KEY=VALUE",
            help="A Spark setting; repeatable.",
            show_default=False,
            rich_help_panel=Section.SPARK,
        ),
    ] = None,
    ship: ShipOption = False,
    save_as: Annotated[
        str | None,
        typer.Option(
            "--save-as",
            metavar="TABLE",
            help="Make the rows a table of Spark's catalog, in place of what it held, and print none; with"
            " --stuck the findings, too, as TABLE_findings.",
            show_default=False,
            rich_help_panel=Section.SPARK,
        ),
    ] = None,
    stream: StreamOption = False,
    checkpoint: CheckpointOption = None,
    once: OnceOption = False,
    every: EveryOption = "10s",
    max_offsets: MaxOffsetsOption = 1_000_000,
) -> None:
    """Say how far every group is behind.

    Partition by partition, from a broker's files: the newest commits in __consumer_offsets, and the log ends
    of the topics. Of each partition that is, in this order, what --log-ends says, the end of the segments
    in its folder, or the broker's checkpoint of high watermarks. What none of them knows is unknown, not 0.
    With --bootstrap-server both come from the cluster, the high watermarks after the commits.

    Lag is the log end offset less the committed offset, as Kafka's tool prints it: negative if somebody
    committed an offset beyond the end. Commits of aborted and of open transactions do not count.

    With --time-lag every row also says how long the first unread record has waited, by which method, and
    where that is unknown why; with rates and the time to drain, where two readings tell. docs/time_lag.md.

    With --windows rows are of the past: one for each window from a partition's first commit on, as it was
    when the window ended. What the data's own logs do not tell of that time is unknown.

    A log holds commits, but no log ends of the past: so --status cannot tell whether the lag grew, nor since
    when there has been something to read, and says UNKNOWN. docs/lag_status.md explains the rules.
    --stuck goes further, by what other groups read meanwhile and by the topics' own logs: docs/findings.md.
    """
    from kgroup.cli.lag_fail_on import FailOn
    from kgroup.cli.lag_history import history_asked, report_history
    from kgroup.cli.lag_html import write_html
    from kgroup.cli.lag_look import LagQuestion, scan_logs, take_look
    from kgroup.cli.lag_stream import check_cluster, check_destination, report_stream, stream_settings
    from kgroup.cli.lag_stuck import FindingView, emit_findings, judged_at
    from kgroup.cli.lag_views import RowView, columns_of, metrics

    # Rows and what they are made of live to the end; looking for cycles among them costs a seventh of it all.
    gc.set_threshold(50_000, 10, 10)
    if "-" in source.paths:
        raise InputError("-: lag-report cannot read standard input, it needs files")
    for path in source.paths:
        if "://" in path and not spark:
            raise InputError(f"{path}: a path of this kind is for --spark")
    check_options(given_options(context))
    views = Views(by=by, watch=watch, prometheus=prometheus, serve_metrics=serve_metrics, html=html)
    views.check(output)
    failing = FailOn.parse(fail_on or [])
    finds = stuck or explain is not None or bool(failing.findings)
    status = status or bool(failing.statuses) or (stuck and save_as is not None)
    if time_lag is not None:
        check_time_lag(time_lag, live=source.is_live, repeated=views.repeated)
    now_ms = _now_ms(now)
    on_spark = SparkOptions(
        master=which_spark(master, remote), conf=spark_conf or (), ship=ship, save_as=save_as
    )
    question = LagQuestion(
        groups=groups if explain is None else [explain],
        topics=topics,
        log_ends=log_ends,
        only_lagging=only_lagging,
        rules=(rules or RuleSet.KGROUP) if status else None,
        time_lag=time_lag,
        findings=finds,
        breakdown=breakdown,
        retention_ms=_retention_ms(offsets_retention),
        quiet=quiet,
    )
    if views.repeated:
        from kgroup.cli.lag_repeat import repeat

        repeat(question, views, source.paths, source.connection, output)
        return
    is_table = output.format is OutputFormat.TABLE and save_as is None
    if stream and source.connection is not None:
        settings = stream_settings(checkpoint, every, max_offsets, once=once, now_ms=now_ms if now else None)
        check_destination(output)
        check_cluster(source.connection)
        with spark_session(on_spark, quiet=quiet) as session:
            assert session is not None
            columns = columns_of(question, is_table=is_table)
            report_stream(session, source.connection, question, settings, columns, output)
        return
    began = time.monotonic()
    with (
        _opened(source.paths, source.connection) as logs,
        spark_session(on_spark if spark else None, quiet=quiet) as session,
    ):
        if history is not None:
            span = (_since_ms(since, now_ms), now_ms if now else None)
            history_options = history_asked(question, history, span, rules or RuleSet.KGROUP)
            report_history(session, logs, history_options, save_as, output)
            return
        if session is not None:
            scanned = read_on_spark(session, logs, question)
        else:
            scanned = scan_logs(logs.sources, question)
        remarks: list[str] = []
        if now is None:
            now_ms = _now_ms(None)  # reading has taken its time
            if not source.is_live and scanned.history is not None:
                now_ms, remarks = judged_at(scanned.history, now_ms)
        look = take_look(question, logs, scanned, now_ms)
        view = RowView(by=by, is_table=is_table)
        if finds:
            save = None
            if session is not None and save_as is not None:
                save = partial(save_rows, session, f"{save_as}_findings", quiet=quiet)
            asked = FindingView(stuck=stuck, explain=explain, rules=rules or RuleSet.KGROUP, save=save)
            remarks += emit_findings(look, scanned, asked, failing, output)
        if session is not None and save_as is not None:
            save_rows(
                session, save_as, view.rows(look, failing.watched_rows), view.columns(look), quiet=quiet
            )
        elif stuck or explain is not None:
            failing.look_at(look.rows(view.columns(look)))
        elif prometheus:
            emit_lines(metrics(look, time.monotonic() - began, failing.watched_rows), output)
        else:
            emit(view.rows(look, failing.watched_rows), view.columns(look), output)
        if html is not None:
            write_html(look, logs, html)
    problems = look.problems()
    for line in [*([] if quiet else [*look.remarks(), *remarks]), *problems]:
        print(f"kgroup: {printable(logs.message(line))}", file=sys.stderr)
    failing.check()
    if strict and problems:
        raise FindingsError(f"damaged or undecodable places: {len(problems)}")


@contextmanager
def _opened(paths: Sequence[str], connection: "ConnectionOptions | None") -> Iterator["OpenedLogs"]:
    from kgroup.cli.lag_look import OpenedLogs
    from kgroup.log.sources import one_replica_each, open_sources
    from kgroup.spark.remote import is_uri, open_remote

    if connection is None:
        if any(map(is_uri, paths)):
            with open_remote(paths) as remote:
                yield OpenedLogs(sources=remote.named(), remote=remote)
        else:
            yield OpenedLogs(sources=one_replica_each(open_sources(paths)))
        return
    from kgroup.cli.live import live_log

    with live_log(connection) as live:
        cluster = live.cluster
        yield OpenedLogs(sources=open_sources([live.folder]), listing=cluster.log_listing(), cluster=cluster)


def _retention_ms(duration: str | None) -> int:
    from kgroup.cli.times import parse_length
    from kgroup.group.offset_expiry import RETENTION_MS

    if duration is None:
        return RETENTION_MS
    return parse_length(duration, "--offsets-retention")


def _since_ms(since: str | None, now_ms: int) -> int | None:
    from kgroup.cli.times import parse_time

    return parse_time(since, "--since", now_ms) if since else None


def _now_ms(now: str | None) -> int:
    from kgroup.cli.times import parse_time

    clock_ms = int(time.time() * 1000)
    return parse_time(now, "--now", clock_ms) if now else clock_ms
