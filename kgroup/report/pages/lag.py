"""A group's lag over time as the data its page draws, in JSON types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kgroup.lag.measures.over_time import GroupLags, LagLine
from kgroup.protocol.topic_partition import TopicPartition

LINES_MAX: Final = 6  # of a group, the partitions that lagged most: more colours nobody can keep apart
_POINTS_MAX: Final = 600_000  # in all lines of partitions; a page of some megabytes


@dataclass(frozen=True, slots=True, kw_only=True)
class LagNow:
    """A group when the report was made.

    `lag` is the sum of what is known, `unknown` how many partitions are left out of it; `lags` are those of
    partitions, None where it is unknown.
    """

    kind: str
    state: str
    lag: int | None
    unknown: int
    lags: Mapping[TopicPartition, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAxis:
    """Windows of `step_ms` from `start_ms` on, a lag being that at the end of one; `end_ms` ends the last."""

    start_ms: int
    step_ms: int
    count: int
    end_ms: int


def lines_max(groups: int, points: int) -> int:
    """The number of partitions of each group that get a line of their own."""
    return min(LINES_MAX, max(_POINTS_MAX // max(groups * points, 1), 1))


def lag_data(lags: GroupLags, now: LagNow | None, lines: int) -> dict[str, object]:
    """The whole lag, the `lines` worst partitions, and numbers of all of them.

    A partition's numbers are its highest lag, its last in the curve, that of now, and whether the last in the
    curve is only a bound; the highest counts the one of now, too.
    """
    of_now = now.lags if now else {}
    highest = {key: _highest(line, of_now.get(key)) for key, line in lags.partitions.items()}
    worst = sorted(highest, key=lambda key: (-(highest[key] or 0), key))
    return {
        "total": _line(lags.total),
        "highest": _highest(lags.total, now.lag if now else None),
        "lines": [
            {"name": f"{topic} {partition}", **_line(lags.partitions[topic, partition])}
            for topic, partition in worst[:lines]
        ],
        "partitions": [
            [*key, highest[key], lag, of_now.get(key), is_bound]
            for key in worst
            for lag, is_bound in [_last(lags.partitions[key])]
        ],
    }


def _highest(line: LagLine, now: int | None) -> int | None:
    return max((lag for lag in (*line.lags, now) if lag is not None), default=None)


def _last(line: LagLine) -> tuple[int | None, bool]:
    """The last lag, and whether it is only a bound; None if none is known, or nothing is committed."""
    known = zip(reversed(line.lags), reversed(line.at_least), strict=True)
    return next(((lag, least) for lag, least in known if lag is not None or least), (None, False))


def _line(line: LagLine) -> dict[str, object]:
    return {"lags": line.lags, "least": "".join("1" if least else "0" for least in line.at_least)}
