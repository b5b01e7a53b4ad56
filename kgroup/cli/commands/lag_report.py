"""`kgroup lag-report`: how far every group is behind, from the log files of a broker."""

import gc
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from kgroup.cli.lag.asked import Asked
from kgroup.cli.lag.checks import check_options, given_options
from kgroup.cli.lag.spark_options import SparkOptions, Streaming, spark_options
from kgroup.cli.lag.view_options import Views
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Connection, Groups, Output, Quiet, Strict, Topics, given
from kgroup.cli.shell.say import fail_if_strict
from kgroup.cli.shell.section import Section
from kgroup.cli.shell.source import Given
from kgroup.errors import InputError

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
    Example(
        "How much of a group's lag is records that it will get, on a live cluster",
        "kgroup lag-report -b localhost:9092 --group orders-app --breakdown",
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
    Example(
        "The page of an incident, the same whenever it is made, beside what was wrong",
        "kgroup lag-report /var/lib/kafka/data --stuck --html lag.html --since 2026-11-20T12:44Z"
        " --now 2026-11-20T12:47Z",
    ),
)


def _logs(
    *,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Log dirs, partition folders, segments, or directories of many; with --spark also URIs.",
            show_default=False,
        ),
    ] = None,
    connection: Connection,
) -> Given:
    """Other logs than `cli.shell.options.Source`: not standard input, but what Spark can reach."""
    return given(paths=paths, connection=connection)


def lag_report(
    *,
    context: typer.Context,
    source: Annotated[Given, Bundle(_logs)],
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
    asked: Annotated[Asked, Bundle(Asked)],
    output: Output,
    views: Annotated[Views, Bundle(Views)],
    quiet: Quiet = False,
    strict: Strict = False,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="WHAT",
            help="Exit 3 if a group is stuck, if a partition's lag is above N (lag=N), or if a partition has"
            " this status (ERR is STOP, STALL or REWIND); or if there is this finding. Repeatable.",
            show_default=False,
            rich_help_panel=Section.BEHAVIOUR,
        ),
    ] = None,
    spark: Annotated[SparkOptions | None, Bundle(spark_options)],
    streaming: Annotated[Streaming, Bundle(Streaming)],
) -> None:
    """Say how far every group is behind.

    Partition by partition, from a broker's files: the newest commits in __consumer_offsets, and the log ends
    of the topics. Of each partition that is, in this order, what --log-ends says, the end of the segments
    in its folder, the broker's checkpoint of high watermarks, or the newest sample of kgroup record. What
    none of them knows is unknown, not 0.
    With --bootstrap-server both come from the cluster, the high watermarks after the commits.

    Lag is the log end offset less the committed offset, as Kafka's tool prints it: negative if somebody
    committed an offset beyond the end. Commits of aborted and of open transactions do not count.

    With --time-lag every row also says how long the first unread record has waited, by which method, and
    where that is unknown why; with rates and the time to drain, where two readings tell. docs/time_lag.md.

    With --windows rows are of the past: one for each window from a partition's first commit on, as it was
    when the window ended. What neither the data's own logs nor the samples of kgroup record tell of that time
    is unknown.

    A log holds commits, but no log ends of the past. How far other groups read meanwhile, and the topics' own
    logs, prove what went on all the same: by that --status and --stuck tell who stands still, and never
    contradict each other. What is not proven is UNKNOWN, not OK. docs/lag_status.md and docs/findings.md
    have the rules.
    """
    from kgroup.api.lag.options import LagOptions
    from kgroup.cli.lag.answer import answer
    from kgroup.cli.lag.fail_on import FailOn
    from kgroup.cli.lag.request import LagRequest

    # Rows and what they are made of live to the end; looking for cycles among them costs a seventh of it all.
    gc.set_threshold(50_000, 10, 10)
    _check_paths(source, spark)
    check_options(given_options(context))
    views.check(output)
    asked.check_time_lag(live=source.is_live, repeated=views.repeated)
    failing = FailOn.parse(fail_on or [])
    clock_ms = int(time.time() * 1000)
    now_ms = asked.now_ms(clock_ms)
    saves_findings = asked.stuck and spark is not None and spark.save_as is not None
    judged = asked.status or bool(failing.statuses) or saves_findings or asked.explain is not None
    request = LagRequest(
        source=source,
        options=LagOptions(
            groups=groups if asked.explain is None else [asked.explain],
            topics=topics,
            log_ends=log_ends,
            rules=asked.rule_set if judged else None,
            time_lag=asked.time_lag,
            findings=asked.stuck or asked.explain is not None or bool(failing.findings),
            hygiene=asked.hygiene or failing.asks_hygiene,
            breakdown=asked.breakdown,
            retention_ms=asked.retention_ms,
        ),
        asked=asked,
        views=views,
        failing=failing,
        output=output,
        spark=spark,
        streaming=streaming,
        only_lagging=only_lagging,
        quiet=quiet,
        now_ms=now_ms,
        since_ms=asked.since_ms(clock_ms if now_ms is None else now_ms),
        began_s=time.monotonic(),
    )
    problems = answer(request)
    failing.check()
    fail_if_strict(problems, strict=strict)


def _check_paths(source: Given, spark: SparkOptions | None) -> None:
    if "-" in source.paths:
        raise InputError("-: lag-report cannot read standard input, it needs files")
    for path in source.paths:
        if "://" in path and spark is None:
            raise InputError(f"{path}: a path of this kind is for --spark")
