"""The reports and pages that the live screen shows, from one source that is read incrementally."""

from collections.abc import Iterator
from itertools import takewhile

from kgroup.api.lag.explain import explain_groups, past_of
from kgroup.api.lag.groups_now import GroupsNow, groups_now
from kgroup.api.lag.repeated import RepeatedReports
from kgroup.api.lag.report import LagReport
from kgroup.api.replay import replay_all, states_now
from kgroup.errors import KgroupError
from kgroup.report.commit_rows import commit_table, commit_table_rows
from kgroup.report.emit import table_lines
from kgroup.report.lag.commit_steps import window_steps
from kgroup.report.progress import NO_PROGRESS
from kgroup.report.table import printable
from kgroup.report.timeline.remarks import timeline_remarks
from kgroup.report.timeline.rows import generation_rows, generation_table
from kgroup.report.top.model import Lost, PageKind, PageRead, PageRequest, Refreshed


class Feed:
    """Reports and pages. What reads, `refresh` and `page` of all but commits, is for one thread at a time."""

    def __init__(self, reports: RepeatedReports) -> None:
        self._reports = reports
        self._newest: tuple[LagReport, GroupsNow] | None = None

    def refresh(self) -> Refreshed | Lost:
        """A new report; of one that fails why. Raises KgroupError if the first one fails."""
        try:
            report = self._reports.take()
            now = groups_now(report)
        except KgroupError as error:
            if self._newest is None:
                raise
            return Lost(str(error))
        self._newest = report, now
        return Refreshed(
            lines=now.lines,
            as_of_ms=report.as_of.now_ms,
            ended_ago_ms=report.as_of.ended_ago_ms,
            problems=report.problems,
        )

    def page(self, request: PageRequest, width: int) -> PageRead:
        """A page about a group as of the newest report; read errors are shown on it."""
        try:
            lines = tuple(self._lines(request, width))
        except KgroupError as error:
            known = self._known(request, width) if request.kind is PageKind.EXPLAIN else ()
            lines = (*known, printable(str(error)))
        return PageRead(request, lines)

    def outline(self, request: PageRequest, width: int) -> PageRead:
        """An explanation of what is known without reading: it has no rebalances, and no word on a reset."""
        return PageRead(request, (*self._known(request, width), "reading its rebalances ..."))

    def _known(self, request: PageRequest, width: int) -> Iterator[str]:
        assert self._newest is not None, "a group was chosen of it"
        reported = self._newest[1].reported.get(request.group)
        page = () if reported is None else explain_groups([reported], None, width)
        return takewhile(lambda line: not line.startswith("Reset now"), page)

    def _lines(self, request: PageRequest, width: int) -> Iterator[str]:
        if request.kind is PageKind.REPLAY:
            return self._replayed(request.group, width)
        assert self._newest is not None, "a group was chosen of it"
        report, now = self._newest
        reported = now.reported.get(request.group)
        if reported is None:
            return iter(["the group is not in the newest report"])
        if request.kind is PageKind.EXPLAIN:
            with self._reports.opened() as logs:
                return explain_groups([reported], past_of(logs, [request.group], NO_PROGRESS), width)
        (facts, _), _ = reported
        steps = (
            step for one in facts.partitions for step in window_steps(one.row, report.last_commits(one.row))
        )
        return table_lines(commit_table_rows(steps), commit_table(several=False), width_max=width)

    def _replayed(self, group: str, width: int) -> Iterator[str]:
        with self._reports.opened() as logs:
            replayed = replay_all(logs, [group])
            timelines = [timeline for name, timeline in replayed.items() if name == group]
            states = list(states_now(logs, timelines))
        notes = [*timeline_remarks(timelines, events=False), *states, *replayed.unread]
        yield from map(printable, notes)
        if notes:
            yield ""
        rows = list(generation_rows(timelines, table=True))
        yield from table_lines(reversed(rows), generation_table(several=False), width_max=width)
