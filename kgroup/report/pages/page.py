"""The page of one group or of many: lag, members, events and findings on one time axis.

All pages for a browser are drawn here; a part that is not known is left out with the reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgroup.history.timeline.model import Timeline
from kgroup.lag.findings.model import Finding
from kgroup.lag.measures.over_time import GroupLags
from kgroup.report.pages.file import write_page
from kgroup.report.pages.history import history_data, pattern_data
from kgroup.report.pages.lag import LagNow, TimeAxis, lag_data, lines_max
from kgroup.report.pages.ticks import TIME_STEPS_MS
from kgroup.report.timeline.rows import client_ids

_TEMPLATE: Final = "page.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPage:
    """Facts about a group, None for those unknown or not looked for.

    `why_no_lag` and `why_no_history` say then why there is none.
    """

    group: str
    now: LagNow | None = None
    lags: GroupLags | None = None
    timeline: Timeline | None = None
    findings: Sequence[Finding] | None = None
    why_no_lag: str = ""
    why_no_history: str = ""


def write_group_pages(
    groups: Sequence[GroupPage],
    path: Path,
    *,
    axis: TimeAxis | None = None,
    is_part: bool = False,
) -> None:
    """Write a page of these groups; `axis` is that of their lags, None without any.

    With `is_part` it is all of the time to show, of a history that may be longer.

    Raises SourceError if the file cannot be written.
    """
    lines = lines_max(len(groups), axis.count) if axis else 0
    data = {
        "title": "A group over time" if len(groups) == 1 else "Groups over time",
        "steps": TIME_STEPS_MS,
        "axis": axis
        and {"start": axis.start_ms, "step": axis.step_ms, "count": axis.count, "end": axis.end_ms},
        "isPart": is_part,
        "groups": [_group(group, lines, axis.end_ms if axis else None) for group in groups],
    }
    write_page(_TEMPLATE, data, path)


def _group(group: GroupPage, lines: int, until_ms: int | None) -> dict[str, object]:
    now, timeline = group.now, group.timeline
    patterns = timeline.patterns if timeline else ()
    named = {pattern.name for pattern in patterns}
    names = client_ids(timeline) if timeline else {}
    return {
        "group": group.group,
        "kind": now.kind if now else None,
        "state": now.state if now else None,
        "now": now.lag if now else None,
        "unknown": now.unknown if now else 0,
        "lag": lag_data(group.lags, now, lines) if group.lags else None,
        "whyNoLag": group.why_no_lag,
        "history": history_data(timeline, until_ms) if timeline else None,
        "whyNoHistory": group.why_no_history,
        "judged": group.findings is not None,
        "findings": [
            *(
                _finding(finding, names)
                for finding in group.findings or ()
                if finding.kind.value not in named
            ),
            *(pattern_data(pattern) for pattern in patterns),
        ],
    }


def _finding(finding: Finding, names: Mapping[str, str]) -> dict[str, object]:
    where = finding.topic or ""
    if finding.partition is not None:
        where = f"{where} {finding.partition}"
    if finding.member_id:
        where = f"{where} {names.get(finding.member_id, finding.member_id)}".strip()
    return {
        "name": finding.kind.value,
        "severity": finding.severity.value,
        "grade": finding.grade.value,
        "from": finding.since_ms,
        "to": None,
        "where": where,
        "evidence": finding.evidence,
        "try": finding.try_this,
    }
