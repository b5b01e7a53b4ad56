"""Pages of groups and of clusters: lag, members, events and findings on one time axis."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kgroup.api.lag.options import LagOptions
from kgroup.api.lag.report import LagReport, report_on
from kgroup.api.lag_history.page import PageLags, PageRows, PageTime, lags_of_page
from kgroup.api.opened import OpenedLogs
from kgroup.api.replay import Replayed, replay_all
from kgroup.errors import InputError, SourceError
from kgroup.history.timeline.model import Timeline
from kgroup.lag.findings.model import Finding
from kgroup.lag.measures.over_time import GroupLags
from kgroup.report.pages.lag import LagNow, TimeAxis
from kgroup.report.pages.page import GroupPage, write_group_pages
from kgroup.report.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HISTORIES_MAX: Final = 100
"""Groups of a cluster's page whose members are drawn: those with most to tell."""
_NOT_FOR_STDIN: Final = "the log came on standard input, and lag needs files"


class Pages(NamedTuple):
    """Pages of groups, and the axis of their lags, None without any."""

    groups: Sequence[GroupPage]
    axis: TimeAxis | None


def pages_of_replayed(
    replayed: Replayed, logs: OpenedLogs, *, clock_ms: int, progress: Progress = NO_PROGRESS
) -> Pages:
    """Pages of replayed groups, with what their lag was and what is wrong with them.

    Of files all is as of their end, of a live cluster as of `clock_ms` (epoch ms).
    """
    found: dict[str, list[Finding]] = {}
    lags: PageLags | None = None
    why = _NOT_FOR_STDIN
    if logs.stdin is None:
        options = LagOptions(groups=replayed.patterns, findings=True)
        try:
            now_ms = clock_ms if logs.cluster is not None else None
            report = report_on(logs, options, now_ms=now_ms, progress=progress)
            rows = PageRows(options)
            for chunk in report.chunks():
                rows.note(chunk.all_rows)
                for (facts, _), findings in chunk.groups:
                    found[facts.group.group_id] = list(findings)
            until_ms = report.as_of.log_ms
            since_ms = min((begun for each in replayed.values() if (begun := _begun(each))), default=until_ms)
            page = PageTime(since_ms=min(since_ms, until_ms), until_ms=until_ms)
            lags = lags_of_page(None, rows, logs, page, progress)
        except (SourceError, InputError) as error:
            why = str(error)
    of_group = {one.group: one for one in lags.groups} if lags else {}
    groups = [
        GroupPage(
            group=name,
            now=lags.now.get(name) if lags else None,
            lags=of_group.get(name),
            timeline=timeline,
            findings=found.get(name, ()) if lags else None,
            why_no_lag="it has committed nothing here" if lags else why,
        )
        for name, timeline in replayed.items()
    ]
    return Pages(groups, lags.axis if lags else None)


def write_reported(
    report: LagReport,
    rows: PageRows,
    findings: Mapping[str, Sequence[Finding]] | None,
    logs: OpenedLogs,
    path: Path,
    *,
    since_ms: int | None = None,
    progress: Progress = NO_PROGRESS,
    spark: "SparkSession | None" = None,
) -> None:
    """Write a page of a report's groups, with the members of those that have most to tell.

    `rows` have noted all of the report's; `findings` are by group, None if they were not asked for: then the
    log is read once more for them. With `spark` executors read the past; members, and findings that were not
    asked for, are left out. Raises SourceError if there is no commit in the log, or the file cannot be
    written; InputError if the page would end before it begins.
    """
    as_of = report.as_of
    page = PageTime(since_ms=since_ms, until_ms=as_of.log_ms, log_goes_on=as_of.log_goes_on)
    lags = lags_of_page(spark, rows, logs, page, progress)
    timelines: Mapping[str, Timeline] = {}
    why = "Spark read the log; kgroup replay --html shows them"
    if spark is None:
        if findings is None and not as_of.log_goes_on:
            findings = _findings(logs, report, progress)
        chosen = _telling(lags.groups, lags.now, findings or {})
        timelines = replay_all(logs, chosen, progress=progress) if chosen else {}
        why = f"only of {HISTORIES_MAX} groups here; kgroup replay --html shows any"
    groups = [
        GroupPage(
            group=one.group,
            now=lags.now.get(one.group),
            lags=one,
            timeline=timelines.get(one.group),
            findings=None if findings is None else findings.get(one.group, ()),
            why_no_history=why,
        )
        for one in lags.groups
    ]
    is_part = since_ms is not None or as_of.log_goes_on
    write_group_pages(groups, path, axis=lags.axis, is_part=is_part)


def _findings(logs: OpenedLogs, report: LagReport, progress: Progress) -> dict[str, Sequence[Finding]]:
    """The findings on the report's groups, by group, as of the same time."""
    asked = LagOptions(
        groups=report.options.groups,
        topics=report.options.topics,
        log_ends=report.options.log_ends,
        findings=True,
        retention_ms=report.options.retention_ms,
    )
    judged = report_on(logs, asked, now_ms=report.as_of.log_ms, progress=progress)
    return {facts.group.group_id: findings for (facts, _), findings in judged.groups()}


def _telling(
    groups: Iterable[GroupLags], now: Mapping[str, LagNow], findings: Mapping[str, Sequence[Finding]]
) -> list[str]:
    """The groups with most findings, then those with most lag."""

    def order(one: GroupLags) -> tuple[int, int, str]:
        of_now = now.get(one.group)
        lag = of_now.lag if of_now and of_now.lag is not None else one.total.peak
        return -len(findings.get(one.group, ())), -lag, one.group

    return [one.group for one in sorted(groups, key=order)[:HISTORIES_MAX]]


def _begun(timeline: Timeline) -> int | None:
    """The first time that anything is known of a group, epoch ms."""
    times = [generation.roster.at_ms for generation in timeline.generations] + [timeline.first_commit_ms]
    return min((at_ms for at_ms in times if at_ms is not None), default=None)
