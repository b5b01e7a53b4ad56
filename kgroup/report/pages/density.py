"""Summaries for pictures with fewer pixels than data: what each column shows of many short intervals."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

_SEEN_MIN: Final = 0.25  # of a column's width: a member that was there for an instant is seen


class Column(NamedTuple):
    """A stretch of columns that look alike, `first` to `last`.

    `owned` is the mean over the time that the member was there, `there` the share of that in the columns, 0
    to 1, and never so little that it could not be seen.
    """

    first: int
    last: int
    owned: float
    there: float


def columns_of(stays: Iterable[tuple[int, int, int]], from_ms: int, to_ms: int, columns: int) -> list[Column]:
    """The look of a lane in `columns` of equal width between two times (epoch ms).

    `stays` are (from, to, partitions owned), in order of time, none before the end of the one before.
    """
    width = (to_ms - from_ms) / columns
    weight, there = [0.0] * columns, [0.0] * columns
    for begin_ms, end_ms, owned in stays:
        begin = (max(begin_ms, from_ms) - from_ms) / width
        end = (min(end_ms, to_ms) - from_ms) / width
        if end_ms < from_ms or begin_ms > to_ms:
            continue
        first = min(int(begin), columns - 1)
        for column in range(first, min(max(int(-(-end // 1)), first + 1), columns)):
            covered = max(min(end, column + 1) - max(begin, column), 1e-6)
            there[column] += covered
            weight[column] += covered * owned
    seen: list[Column] = []
    for column in range(columns):
        if not there[column]:
            continue
        mean = round(weight[column] / there[column], 2)
        share = round(min(max(there[column], _SEEN_MIN), 1.0), 2)
        last = seen[-1] if seen else None
        if last is not None and last.last == column - 1 and last[2:] == (mean, share):
            seen[-1] = last._replace(last=column)
        else:
            seen.append(Column(column, column, mean, share))
    return seen


def binned(
    times_ms: Sequence[int], kinds: Sequence[str], from_ms: int, to_ms: int, bins: int
) -> list[Counter[str]]:
    """The number of each kind in each of `bins` of equal length; a time at the very end is in the last.

    Times (epoch ms) outside are left out.
    """
    counted: list[Counter[str]] = [Counter() for _ in range(bins)]
    for at_ms, kind in zip(times_ms, kinds, strict=True):
        if from_ms <= at_ms <= to_ms:
            counted[min((at_ms - from_ms) * bins // (to_ms - from_ms), bins - 1)][kind] += 1
    return counted
