"""The lag of groups over time for a browser: one self-contained page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgroup.lag.measures.over_time import GroupLags, LagLine
from kgroup.report.page import write_page

_TEMPLATE: Final = "lag.html"
_LINES_MAX: Final = 6  # of a group, the partitions that lagged most: more colours nobody tells apart
_POINTS_MAX: Final = 600_000  # in all lines of partitions; a page of some megabytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LagNow:
    """A group when the report was made: `lag` is the sum of what is known, `unknown` partitions left out."""

    kind: str
    state: str
    lag: int | None
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """Windows of `step_ms` from `start_ms` on, a lag being that at the end of one; `end_ms` ends the last."""

    start_ms: int
    step_ms: int
    count: int
    end_ms: int


def write_lag_page(
    groups: Sequence[GroupLags], now: Mapping[str, LagNow], axis: TimeAxis, path: Path
) -> None:
    """Write the page. Raises SourceError if the file cannot be written."""
    lines_max = min(_LINES_MAX, max(_POINTS_MAX // max(len(groups) * axis.count, 1), 1))
    data = {
        "start": axis.start_ms,
        "step": axis.step_ms,
        "count": axis.count,
        "end": axis.end_ms,
        "groups": [_group(group, now.get(group.group), lines_max) for group in groups],
    }
    write_page(_TEMPLATE, data, path)


def _group(group: GroupLags, now: LagNow | None, lines_max: int) -> dict[str, object]:
    worst = sorted(group.partitions.items(), key=lambda item: (-item[1].peak, item[0]))
    return {
        "group": group.group,
        "kind": now.kind if now else None,
        "state": now.state if now else None,
        "now": now.lag if now else None,
        "unknown": now.unknown if now else 0,
        "total": _line(group.total),
        "lines": [
            {"name": f"{topic} {partition}", **_line(line)} for (topic, partition), line in worst[:lines_max]
        ],
        "partitions": [
            [topic, partition, line.peak, next((lag for lag in reversed(line.lags) if lag is not None), None)]
            for (topic, partition), line in worst
        ],
    }


def _line(line: LagLine) -> dict[str, object]:
    return {"lags": line.lags, "least": "".join("1" if least else "0" for least in line.at_least)}
