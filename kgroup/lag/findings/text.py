"""Numbers as findings say them: durations, counts and lists that a reader takes in at a glance."""

from collections.abc import Sequence

_LISTED_MAX = 4


def lasting(ms: int) -> str:
    """As tables show durations, and no finer than a tenth of a second: `2.1s`, `45s`, `12m 3s`, `3d 4h`."""
    if ms < 10_000:
        return f"{ms / 1000:.1f}s"
    minutes, seconds = divmod(ms // 1000, 60)
    if not minutes:
        return f"{seconds}s"
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes}m {seconds}s"
    days, hours = divmod(hours, 24)
    return f"{days}d {hours}h" if days else f"{hours}h {minutes}m"


def counted(number: int, noun: str) -> str:
    """`1 record`, `12,345 records`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(texts: Sequence[str]) -> str:
    """The first ones, and how many more there are."""
    more = [f"{len(texts) - _LISTED_MAX} more"] if len(texts) > _LISTED_MAX else []
    return ", ".join([*texts[:_LISTED_MAX], *more])
