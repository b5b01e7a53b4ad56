"""`kgroup lag-report`: how far every group is behind, with every view and option in one command."""

from typing import Annotated, Final

import typer

from kgroup.cli.lag.asked import Asked
from kgroup.cli.lag.checks import check_options, given_options
from kgroup.cli.lag.cluster_paths import clusters_of
from kgroup.cli.lag.run import run
from kgroup.cli.lag.spark_options import SparkOptions, Streaming, spark_options
from kgroup.cli.lag.view_options import Views
from kgroup.cli.options.lag import FailOnWhat, OnlyLagging
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Connection, Groups, LogEnds, Output, Quiet, Strict, Topics, given
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import Given
from kgroup.errors import InputError

EXAMPLES: Final = (
    Example(
        "Which billing groups are behind, as JSON lines",
        "kgroup lag-report fixtures/4.3.1/lives --group 'billing-*' --only-lagging -o jsonl",
    ),
    Example(
        "Status and rule of each partition, and how long records had waited, as of the files' time",
        "kgroup lag-report fixtures/4.3.1/lives --status --time-lag exact --now 2026-11-20T12:48:41Z",
    ),
    Example(
        "Lag and findings of logs in object storage, as tables of Spark's catalog",
        "kgroup lag-report --spark s3://bucket/cluster-7 --stuck --save-as lag",
    ),
    Example(
        "On a live cluster, findings as they open and close, each reported once",
        "kgroup lag-report -b kafka:9092 --spark --stream --checkpoint DIR --stuck -o jsonl",
    ),
    Example(
        "Two clusters in one report, with a column that says of which a row is",
        "kgroup lag-report --cluster-path new=fixtures/4.3.1/lives --cluster-path old=fixtures/2.4.1/lives"
        " --only-lagging -o csv",
    ),
)


def _logs(
    *,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Log dirs, partition folders, segments, or directories of them; with --spark also URIs.",
            show_default=False,
        ),
    ] = None,
    cluster_paths: Annotated[
        list[str] | None,
        option(
            "--cluster-path",
            metavar="NAME=PATH",
            help="Logs of one of several clusters; repeatable.",
            section=Section.SOURCE,
        ),
    ] = None,
    connection: Connection,
) -> Given:
    """Other logs than `cli.shell.options.Source`: not standard input, but what Spark can reach."""
    if cluster_paths:
        if paths or connection is not None:
            raise InputError("--cluster-path names each cluster's logs: no other PATH, no --bootstrap-server")
        return Given(paths=(), connection=None, clusters=clusters_of(cluster_paths))
    return given(paths=paths, connection=connection)


def lag_report(
    *,
    context: typer.Context,
    source: Annotated[Given, Bundle(_logs)],
    log_ends: LogEnds = None,
    groups: Groups = None,
    topics: Topics = None,
    only_lagging: OnlyLagging = False,
    asked: Annotated[Asked, Bundle(Asked)],
    output: Output,
    views: Annotated[Views, Bundle(Views)],
    quiet: Quiet = False,
    strict: Strict = False,
    fail_on: FailOnWhat = None,
    spark: Annotated[SparkOptions | None, Bundle(spark_options)],
    streaming: Annotated[Streaming, Bundle(Streaming)],
) -> None:
    """Show every group's lag.

    Every question about lag in one command, also on Spark. For one question at a time: lag (rows and sums),
    stuck (findings), explain (one group), history (the past), watch (live), metrics (Prometheus).
    docs/lag_report.md explains the options.

    Lag is the log end offset minus the committed offset, as kafka-consumer-groups prints it. Commits of
    aborted and open transactions do not count; an unknown log end is unknown, not 0.
    """
    check_options(given_options(context))
    run(
        source,
        asked=asked,
        output=output,
        views=views,
        groups=groups,
        topics=topics,
        log_ends=log_ends,
        only_lagging=only_lagging,
        quiet=quiet,
        strict=strict,
        fail_on=fail_on or (),
        spark=spark,
        streaming=streaming,
    )
