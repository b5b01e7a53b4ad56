"""How findings say numbers: durations, counts and lists that a reader takes in at a glance."""

from collections.abc import Sequence

_LISTED_MAX = 4


def lasting(ms: int) -> str:
    """`45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`; below 10 s with a tenth."""
    if ms < 10_000:
        return f"{ms / 1000:.1f} s"
    seconds = round(ms / 1000)
    if seconds < 120:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 120:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def counted(number: int, noun: str) -> str:
    """`1 record`, `12,345 records`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(texts: Sequence[str]) -> str:
    """The first ones, and how many more there are."""
    more = [f"{len(texts) - _LISTED_MAX} more"] if len(texts) > _LISTED_MAX else []
    return ", ".join([*texts[:_LISTED_MAX], *more])
