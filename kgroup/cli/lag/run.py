"""One lag report, for `lag-report` or for a command that asks one of its questions."""

import time
from collections.abc import Sequence
from pathlib import Path

from kgroup.cli.lag.asked import Asked
from kgroup.cli.lag.spark_options import SparkOptions, Streaming
from kgroup.cli.lag.view_options import Views
from kgroup.cli.shell.say import fail_if_strict
from kgroup.cli.shell.source import Given
from kgroup.errors import InputError
from kgroup.report.emit import OutputOptions


def run(
    source: Given,
    *,
    asked: Asked,
    output: OutputOptions,
    views: Views | None = None,
    groups: Sequence[str] | None = None,
    topics: Sequence[str] | None = None,
    log_ends: Path | None = None,
    only_lagging: bool = False,
    quiet: bool = False,
    strict: bool = False,
    fail_on: Sequence[str] = (),
    spark: SparkOptions | None = None,
    streaming: Streaming | None = None,
    only_page: bool = False,
) -> None:
    """Answer, on the screen or into files. The options were checked to go together.

    Raises InputError for one that makes no sense by itself, FindingsError for what `fail_on` or `strict` ask
    to fail on, and SourceError where nothing can be read. With `only_page` rows go to the page alone.
    """
    from kgroup.api.lag.options import LagOptions
    from kgroup.cli.lag.answer import answer
    from kgroup.cli.lag.fail_on import FailOn
    from kgroup.cli.lag.request import LagRequest

    views = views or Views()
    _check_paths(source, spark)
    views.check(output)
    asked.check_time_lag(live=source.is_live, repeated=views.repeated)
    failing = FailOn.parse(fail_on)
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
        streaming=streaming or Streaming(),
        only_lagging=only_lagging,
        quiet=quiet,
        only_page=only_page,
        now_ms=now_ms,
        since_ms=asked.since_ms(clock_ms if now_ms is None else now_ms),
        began_s=time.monotonic(),
    )
    problems = answer(request)
    failing.check()
    fail_if_strict(problems, strict=strict)


def _check_paths(source: Given, spark: SparkOptions | None) -> None:
    given = (*source.paths, *(path for paths in source.clusters.values() for path in paths))
    if "-" in given:
        raise InputError("-: not standard input: a report of lag needs files")
    for path in given:
        if "://" in path and spark is None:
            raise InputError(f"{path}: a path of this kind is for lag-report --spark")
