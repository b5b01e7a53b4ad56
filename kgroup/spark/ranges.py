"""Consecutive ranges of keys with about as many rows each, planned from a sample."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import TypeVar

Key = TypeVar("Key")


def even_ends(sample: Iterable[tuple[Key, int]], rows_of_range: int) -> tuple[Key, ...]:
    """The ends of ranges, each being the first key of the next one.

    `sample` are keys, each standing for a number of rows. A key is in one range, however
    many rows it stands for.
    """
    weighed = sorted(sample)
    behind = list(accumulate(rows for _, rows in weighed))
    count = -(-behind[-1] // rows_of_range) if behind else 1
    ends = (weighed[bisect_right(behind, number * behind[-1] // count)][0] for number in range(1, count))
    return tuple(dict.fromkeys(ends))
