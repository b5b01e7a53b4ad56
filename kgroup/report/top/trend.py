"""A sparkline of lags."""

from collections.abc import Sequence
from typing import Final

_BARS: Final = "▁▂▃▄▅▆▇█"
_UNKNOWN: Final = "·"


def sparkline(lags: Sequence[int | None]) -> str:
    """A bar for each lag, from 0 to the largest of them; a dot where it is unknown.

    The lowest bar is a lag of 0, or of next to nothing compared with the largest; a lag below 0 counts as 0.
    """
    largest = max((lag for lag in lags if lag is not None), default=0)
    return "".join(_UNKNOWN if lag is None else _bar(max(lag, 0), largest) for lag in lags)


def _bar(lag: int, largest: int) -> str:
    # Rounded half up in integers: a lag may be larger than a float is exact.
    steps = len(_BARS) - 1
    return _BARS[(2 * lag * steps + largest) // (2 * largest)] if largest > 0 else _BARS[0]
