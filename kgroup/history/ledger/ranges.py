"""Sets of offsets as ranges: sorted, disjoint, none empty. The last one may be open-ended."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

OPEN: Final = 1 << 63
"""Beyond every offset: the end of a range that has none."""


class Range(NamedTuple):
    """Offsets from `first` up to and without `end`."""

    first: int
    end: int


Ranges = tuple[Range, ...]
NOTHING: Final[Ranges] = ()


def of(first: int, end: int) -> Ranges:
    """One range, nothing if it is empty."""
    return (Range(first, end),) if first < end else NOTHING


def union(many: Iterable[Ranges]) -> Ranges:
    """Offsets that are in any of them."""
    joined: list[Range] = []
    for each in sorted(each for ranges in many for each in ranges):
        if joined and each.first <= joined[-1].end:
            joined[-1] = Range(joined[-1].first, max(joined[-1].end, each.end))
        else:
            joined.append(each)
    return tuple(joined)


def both(one: Sequence[Range], other: Sequence[Range]) -> Ranges:
    """Offsets that are in both."""
    shared: list[Range] = []
    here = there = 0
    while here < len(one) and there < len(other):
        first, end = max(one[here].first, other[there].first), min(one[here].end, other[there].end)
        if first < end:
            shared.append(Range(first, end))
        if one[here].end <= other[there].end:
            here += 1
        else:
            there += 1
    return tuple(shared)


def without(one: Sequence[Range], other: Sequence[Range]) -> Ranges:
    """Offsets that are in `one` alone."""
    left: list[Range] = []
    for each in one:
        first = each.first
        for taken in other:
            if taken.end <= first:
                continue
            if taken.first >= each.end:
                break
            if taken.first > first:
                left.append(Range(first, taken.first))
            first = taken.end
        if first < each.end:
            left.append(Range(first, each.end))
    return tuple(left)
