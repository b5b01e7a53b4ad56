"""Round ticks on an axis: for UTC time, and for record counts."""

from collections.abc import Iterator
from itertools import count
from typing import Final, NamedTuple

from kgroup.report.emit import iso_time

_SECOND_MS: Final = 1000
_MINUTE_MS: Final = 60 * _SECOND_MS
_HOUR_MS: Final = 60 * _MINUTE_MS
DAY_MS: Final = 24 * _HOUR_MS
# All below a day go into a day, so midnight always has a tick to carry its date.
TIME_STEPS_MS: Final[tuple[int, ...]] = (
    *(digit * power for power in (1, 10, 100) for digit in (1, 2, 5)),
    *(seconds * _SECOND_MS for seconds in (1, 2, 5, 10, 20, 30)),
    *(minutes * _MINUTE_MS for minutes in (1, 2, 5, 10, 20, 30)),
    *(hours * _HOUR_MS for hours in (1, 2, 6, 12)),
    *(digit * 10**power * DAY_MS for power in range(8) for digit in (1, 2, 5)),
)
"""Steps between ticks of time, rising, in ms."""


class TimeTick(NamedTuple):
    """A tick at `at_ms` (epoch ms). `date` is there where it differs from that of the tick before."""

    at_ms: int
    label: str
    date: str | None


def time_ticks(from_ms: int, to_ms: int, most: int) -> list[TimeTick]:
    """The ticks within a time, both ends included, by the shortest step that gives no more than `most`."""
    step_ms = time_step(from_ms, to_ms, most)
    ticks: list[TimeTick] = []
    day: int | None = None
    for at_ms in range(-(-from_ms // step_ms) * step_ms, to_ms + 1, step_ms):
        at_day = at_ms // DAY_MS
        date = iso_time(at_ms)[:10]
        ticks.append(TimeTick(at_ms, _label(at_ms, step_ms), None if at_day == day else date))
        day = at_day
    return ticks


def time_step(from_ms: int, to_ms: int, most: int) -> int:
    """The shortest of TIME_STEPS_MS that gives no more than `most` ticks, or the longest of all."""
    for step_ms in TIME_STEPS_MS:
        if (to_ms - from_ms) // step_ms + 1 <= most:
            return step_ms
    return max(TIME_STEPS_MS[-1], to_ms - from_ms)


def _label(at_ms: int, step_ms: int) -> str:
    """The time of day as exact as the step needs; of whole days there is only the date."""
    if step_ms >= DAY_MS:
        return ""
    clock = iso_time(at_ms)[11:23]
    if step_ms < _SECOND_MS:
        return clock
    return clock[:8] if step_ms < _MINUTE_MS else clock[:5]


def number_ticks(largest: int, most: int) -> list[int]:
    """0 and its multiples by 1, 2 or 5 times a power of ten, up to `largest`; no more than `most` above 0."""
    step = next(step for step in _number_steps() if largest // step <= most)
    return list(range(0, largest + 1, step))


def _number_steps() -> Iterator[int]:
    for power in count():
        yield from (digit * 10**power for digit in (1, 2, 5))
