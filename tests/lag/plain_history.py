"""The history of one key, read window by window: what the columns of `lag_history` are held against."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kgroup.lag.status.history import WindowsOfTime
from kgroup.lag.status.model import Verdict
from kgroup.lag.status.rule_sets import BurrowRules, LagRules, judge
from kgroup.lag.status.window import CommitWindow, LogEnd, WindowCommit


class LoggedCommit(NamedTuple):
    """A commit (`offset`), or a tombstone (None), at `timestamp` (epoch ms) and `order`, its log offset."""

    offset: int | None
    timestamp: int
    order: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LagAt:
    """A partition of a group as it was when a window ended.

    `progress` is how far the committed offset came within the window, None in the first window with a commit;
    negative after going back. `log_end_offset`, `lag` and `verdict` are None where no log end is known.
    """

    window: int
    current_offset: int
    progress: int | None
    log_end_offset: int | None
    lag: int | None
    verdict: Verdict | None


def plain_history(
    commits: Iterable[LoggedCommit],
    windows: WindowsOfTime,
    slots: int,
    log_end_at: Callable[[int, int], int | None],
    rules: LagRules,
    membership_changes: tuple[int, ...] | None = None,
) -> Iterator[LagAt]:
    """A row for each window from the first commit on, also for silent ones; none after a tombstone.

    `commits` are of one group and partition, by window and then in log order; of each window the last `slots`
    are enough. `log_end_at` answers for the end of a window, by its number, and what was committed then.
    """
    upcoming = iter(commits)
    commit = next(upcoming, None)
    kept: deque[WindowCommit] = deque(maxlen=slots)
    ends = _PastEnds()
    for number in range(windows.first - 1, windows.last + 1):
        before = kept[-1].offset if kept else None
        while commit is not None and commit.timestamp // windows.length_ms <= number:
            if commit.timestamp > windows.until_ms:
                pass
            elif commit.offset is None:
                kept.clear()
            else:
                kept.append(
                    WindowCommit(offset=commit.offset, timestamp=commit.timestamp, order=commit.order)
                )
            commit = next(upcoming, None)
        if number < windows.first or not kept:
            continue
        current = kept[-1].offset
        end = log_end_at(number, current)
        told_ms = windows.end_ms(number) - 1
        verdict = None
        if end is not None:
            # Burrow's own past log ends are of the last minute or two, not of the last windows.
            heads = () if isinstance(rules, BurrowRules) else ends.around(current)
            window = CommitWindow(
                slots=slots,
                commits=tuple(kept),
                heads=heads,
                unread_by_ms=next((head.timestamp for head in heads if head.offset > current), None),
                membership_changes=membership_changes,
            )
            verdict = judge(window, end, told_ms, rules)
            ends.add(LogEnd(offset=end, timestamp=told_ms))
        yield LagAt(
            window=number,
            current_offset=current,
            progress=None if before is None else current - before,
            log_end_offset=end,
            lag=None if end is None else end - current,
            verdict=verdict,
        )


class _PastEnds:
    """The log ends of windows that are over; neither time nor offset goes back."""

    def __init__(self) -> None:
        self._ends: list[LogEnd] = []

    def add(self, end: LogEnd) -> None:
        if not self._ends or end.offset >= self._ends[-1].offset:
            self._ends.append(end)

    def around(self, offset: int) -> tuple[LogEnd, ...]:
        """The last end that was not behind `offset`, and the first that was: all that rules ask for."""
        index = bisect_right(self._ends, offset, key=lambda end: end.offset)
        return tuple(self._ends[max(index - 1, 0) : index + 1])
