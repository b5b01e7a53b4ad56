"""Forecasts of when a group's lag reaches a bound, as intervals.

All bounds are one question: when is the group's position below a line that moves? Of a lag in records the
line is that many below the log's end. Of a lag in time it is where the log ended so long before, which is
known already for as long; retention is the same with the topic's `retention.ms`, by whole segments.

A committed offset stands between two commits, so what counts is the position just before each commit.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import hypot, sqrt
from typing import Final

from kgroup.lag.deadlines.drift import At, Drift
from kgroup.lag.deadlines.model import (
    Deadline,
    DeadlineKind,
    DeadlineNote,
    Outlook,
    PartitionPast,
)

_COMMITS_MIN: Final = 4
_SPAN_MIN_MS: Final = 5_000
_PAUSE_FACTOR: Final = 3.0  # a silence this many times the longest pause before is no pause
_PAUSE_MIN_MS: Final = 10_000
# By how many deviations things may go worse or better than on average, so that nine in ten lie between:
# fitted on half of the back-test. Worse counts for more, as a bound counts as met when it is met first.
_WORSE: Final = 1.3
_BETTER: Final = 1.1
_RATE_ERROR: Final = 0.05
"""By this share of what is written, paces change anyway: fitted on half of the back-test."""
_QUANTUM: Final = 0.5
"""A record is there or not; half a one to either side."""
_AHEAD_FACTOR: Final = 3  # no forecast further ahead than this many times the past
_STEP: Final = 1.04
_FIRST_STEP_MS: Final = 250


@dataclass(frozen=True)
class Forecast:
    """Deadlines of one group on one partition; with `stops` as if it did not commit any more."""

    past: PartitionPast
    stops: bool = False

    def slo_records(self, records: int) -> Deadline:
        """The deadline at which the lag first exceeds this many records."""
        past, kind = self.past, DeadlineKind.SLO_RECORDS
        if past.end - past.position > records:
            return passed(kind, records, past.now_ms)
        if (unknown := self._unknown(kind, records)) is not None:
            return unknown
        if self._is_quiet:
            # Nothing is written any more, so a lag can only shrink.
            return Deadline(kind=kind, bound=records, outlook=Outlook.NOT_IN_SIGHT)
        end, lag = self._end, self._lag

        def margin(at_ms: int) -> float:
            return records + 0.5 - (end.mean(at_ms) - self._reached(at_ms))

        def spread(at_ms: int, has_read: bool) -> float:
            return lag.spread(at_ms) if has_read else self._step_spread(end, at_ms)

        return self._met(kind, records, margin, spread)

    def slo_time(self, length_ms: int) -> Deadline:
        """The deadline at which the first unread record has for the first time waited longer than this."""
        return self._behind(DeadlineKind.SLO_TIME, length_ms, lambda offset: offset)

    def retention_time(self, length_ms: int) -> Deadline:
        """The deadline at which the next record to read may first be deleted, by `retention.ms`."""
        return self._behind(DeadlineKind.RETENTION_TIME, length_ms, self.past.deleted_from)

    def retention_bytes(self, size: int) -> Deadline:
        """The same by `retention.bytes`, which counts for each partition by itself."""
        kind, per_record = DeadlineKind.RETENTION_BYTES, self.past.bytes_per_record
        if not per_record:
            return Deadline(kind=kind, bound=size, outlook=Outlook.UNKNOWN, note=DeadlineNote.NO_DATA_LOG)
        within = self.slo_records(round(size / per_record))
        return Deadline(
            kind=kind,
            bound=size,
            outlook=within.outlook,
            low_ms=within.low_ms,
            likely_ms=within.likely_ms,
            high_ms=within.high_ms,
            note=within.note,
        )

    def _behind(self, kind: DeadlineKind, length_ms: int, lowered: Callable[[int], int]) -> Deadline:
        past = self.past
        ended = past.ended_at(past.now_ms - length_ms)
        if ended is not None and past.position < lowered(ended):
            return passed(kind, length_ms, past.now_ms)
        if (unknown := self._unknown(kind, length_ms)) is not None:
            return unknown
        if past.position >= past.end and (self._is_quiet or self._is_still):
            return Deadline(kind=kind, bound=length_ms, outlook=Outlook.NOT_IN_SIGHT)
        position, end = self._position, self._end

        def margin(at_ms: int) -> float:
            then_ms = at_ms - length_ms
            # Nobody reads behind the end.
            reached = min(self._reached(at_ms), end.mean(at_ms))
            if then_ms > past.now_ms:
                return 0.5 + reached - end.mean(then_ms)
            known = past.ended_at(then_ms)
            return 0.5 + reached - (lowered(known) if known is not None else 0)

        def spread(at_ms: int, has_read: bool) -> float:
            then_ms = at_ms - length_ms
            ahead = self._step_spread(end, then_ms) if then_ms > past.now_ms else 0.0
            return hypot(position.spread(at_ms) if has_read else 0.0, ahead)

        return self._met(kind, length_ms, margin, spread)

    def _met(
        self,
        kind: DeadlineKind,
        bound: int,
        margin: Callable[[int], float],
        spread: Callable[[int, bool], float],
    ) -> Deadline:
        now_ms = self.past.now_ms

        def wider(at_ms: int, has_read: bool) -> float:
            changed = _RATE_ERROR * self._end.rate * (at_ms - now_ms) if has_read else 0.0
            return hypot(spread(at_ms, has_read), changed, _QUANTUM)

        def worse(at_ms: int) -> bool:
            # Until the next commit is due only the log's end moves.
            return margin(at_ms) - _WORSE * wider(at_ms, self._is_due(at_ms)) < 0

        def likely(at_ms: int) -> bool:
            return margin(at_ms) < 0

        def better(at_ms: int) -> bool:
            return margin(at_ms) + _BETTER * wider(at_ms, not self._is_still) < 0

        furthest_ms = _AHEAD_FACTOR * max(self._span_ms, 1000)
        if kind in (DeadlineKind.SLO_TIME, DeadlineKind.RETENTION_TIME):
            furthest_ms += bound
        low = _first(worse, now_ms, furthest_ms, down=True)
        middle = None if low is None else _first(likely, now_ms, furthest_ms)
        high = None if middle is None else _first(better, now_ms, furthest_ms)
        outlook = Outlook.NOT_IN_SIGHT
        if middle is not None:
            outlook = Outlook.EXPECTED
        elif low is not None:
            outlook = Outlook.POSSIBLE
            low = low if self.stops else self._if_it_stopped(kind, bound, low)
        return Deadline(
            kind=kind,
            bound=bound,
            outlook=outlook,
            low_ms=low,
            likely_ms=middle,
            high_ms=high,
            note=DeadlineNote.STANDS_STILL if self._is_still else None,
        )

    def _if_it_stopped(self, kind: DeadlineKind, bound: int, low_ms: int) -> int:
        """The earliest time, if nobody read on from now: where paces do not say that it comes, a stop may."""
        stopped = replace(self, stops=True)
        met = stopped.slo_records(bound) if kind is DeadlineKind.SLO_RECORDS else stopped.slo_time(bound)
        return low_ms if met.low_ms is None else min(met.low_ms, low_ms)

    def _reached(self, at_ms: int) -> float:
        """The committed offset at a later time."""
        return max(self._position.mean(at_ms), self.past.position)

    def _is_due(self, at_ms: int) -> bool:
        """Whether the group will have committed by then at its pace."""
        return not self._is_still and self._position.mean(at_ms) > self.past.position

    def _step_spread(self, drift: Drift, at_ms: int) -> float:
        """The deviation of what starts from a value that is known now."""
        return sqrt(max(drift.spread(at_ms) ** 2 - drift.jitter**2, 0.0))

    def _unknown(self, kind: DeadlineKind, bound: int) -> Deadline | None:
        seen = self.past.seen
        if len(seen) < _COMMITS_MIN or seen[-1].at_ms - seen[0].at_ms < _SPAN_MIN_MS:
            note = DeadlineNote.TOO_FEW_COMMITS
            return Deadline(kind=kind, bound=bound, outlook=Outlook.UNKNOWN, note=note)
        return None

    @property
    def _span_ms(self) -> int:
        return self.past.now_ms - self.past.seen[0].at_ms

    @cached_property
    def _is_still(self) -> bool:
        """Whether it has been silent too long for its pace to mean anything."""
        if self.stops:
            return True
        seen = self.past.seen
        longest_ms = max(b.at_ms - a.at_ms for a, b in pairwise(seen))
        silent_ms = self.past.now_ms - seen[-1].at_ms
        return silent_ms > max(_PAUSE_FACTOR * longest_ms, _PAUSE_MIN_MS)

    @cached_property
    def _is_quiet(self) -> bool:
        """Whether nothing has been written for long enough that it seems to be over."""
        past = self.past
        times_ms = [seen.at_ms for seen in past.seen]
        grown_ms = [b.at_ms for a, b in pairwise(past.seen) if b.end > a.end]
        longest_ms = max((b - a for a, b in pairwise([times_ms[0], *grown_ms])), default=0)
        return past.ended_at(past.now_ms - round(max(_PAUSE_FACTOR * longest_ms, _PAUSE_MIN_MS))) == past.end

    @cached_property
    def _position(self) -> Drift:
        """The committed offset just before each commit."""
        if self._is_still:
            return Drift.still(At(self.past.now_ms, self.past.position))
        return Drift.of([At(b.at_ms, a.position) for a, b in pairwise(self.past.seen)])

    @cached_property
    def _end(self) -> Drift:
        """The log's end, up to now."""
        points = [At(seen.at_ms, seen.end) for seen in self.past.seen]
        if self.past.now_ms > points[-1].at_ms:
            points.append(At(self.past.now_ms, self.past.end))
        drift = Drift.of(points)
        if self._is_quiet:
            return Drift.still(At(self.past.now_ms, self.past.end))
        # From what is known now on, whatever the time of the last commit.
        return replace(drift, at_ms=self.past.now_ms, level=self.past.end)

    @cached_property
    def _lag(self) -> Drift:
        """The lag just before each commit, when it is largest."""
        if self._is_still:
            end = self._end
            return Drift(
                at_ms=end.at_ms,
                level=end.level - self.past.position,
                rate=end.rate,
                jitter=0.0,
                variance=end.variance,
                span_ms=end.span_ms,
            )
        return Drift.of([At(b.at_ms, b.end - a.position) for a, b in pairwise(self.past.seen)])


def passed(kind: DeadlineKind, bound: int, now_ms: int) -> Deadline:
    """A bound that is met already."""
    return Deadline(
        kind=kind, bound=bound, outlook=Outlook.PASSED, low_ms=now_ms, likely_ms=now_ms, high_ms=now_ms
    )


def _first(is_met: Callable[[int], bool], now_ms: int, furthest_ms: int, *, down: bool = False) -> int | None:
    """The first time after now at which it is so, as far as steps that grow find it; None without one.

    Rounded up, or `down`, to within half a hundredth.
    """
    before, ahead = 0, float(_FIRST_STEP_MS)
    while ahead <= furthest_ms:
        if is_met(now_ms + round(ahead)):
            met = round(ahead)
            while met - before > max(before // 200, 10):
                middle = (before + met) // 2
                before, met = (before, middle) if is_met(now_ms + middle) else (middle, met)
            return now_ms + (before if down else met)
        before = round(ahead)
        ahead *= _STEP
    return None
