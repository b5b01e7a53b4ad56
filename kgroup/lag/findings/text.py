"""Counts and lists as findings give them, short enough to take in at a glance."""

from collections.abc import Sequence

_LISTED_MAX = 4


def counted(number: int, noun: str) -> str:
    """`1 record`, `12,345 records`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(texts: Sequence[str]) -> str:
    """The first ones, and how many more there are."""
    more = [f"{len(texts) - _LISTED_MAX} more"] if len(texts) > _LISTED_MAX else []
    return ", ".join([*texts[:_LISTED_MAX], *more])
