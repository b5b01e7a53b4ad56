"""The part of a timeline within a time span, or around a moment."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kgroup.history.timeline.model import (
    NOTHING_MOVED,
    Cause,
    CauseKind,
    Generation,
    Grade,
    Pattern,
    Timeline,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A span of time from `since_ms` until before `until_ms`, epoch ms; None is without a bound."""

    since_ms: int | None = None
    until_ms: int | None = None

    def has(self, at_ms: int | None) -> bool:
        """Whether a moment lies in it; one that was not logged lies nowhere but in a span without bounds."""
        if at_ms is None:
            return self.since_ms is None and self.until_ms is None
        return (self.since_ms is None or at_ms >= self.since_ms) and (
            self.until_ms is None or at_ms < self.until_ms
        )

    def meets(self, pattern: Pattern) -> bool:
        """Whether some of a pattern lies in it; an end that is not known may be anywhere."""
        begins_in_time = self.until_ms is None or pattern.from_ms is None or pattern.from_ms < self.until_ms
        ends_in_time = self.since_ms is None or pattern.to_ms is None or pattern.to_ms >= self.since_ms
        return begins_in_time and ends_in_time


def extent(timelines: Iterable[Timeline]) -> tuple[int, int] | None:
    """The first and the last time in timelines (epoch ms), None without any."""
    times = [
        at_ms
        for timeline in timelines
        for at_ms in (
            timeline.first_commit_ms,
            timeline.last_commit_ms,
            *(generation.roster.at_ms for generation in timeline.generations),
            *(occurrence.at_ms for occurrence in timeline.occurrences),
        )
        if at_ms is not None
    ]
    return (min(times), max(times)) if times else None


def within(timeline: Timeline, span: Span) -> Timeline:
    """The generations that began in the span, what else happened in it, and patterns that reach into it."""
    return replace(
        timeline,
        generations=[each for each in timeline.generations if span.has(each.roster.at_ms)],
        occurrences=[each for each in timeline.occurrences if span.has(each.at_ms)],
        patterns=tuple(filter(span.meets, timeline.patterns)),
    )


def around(timeline: Timeline, moment: Span) -> Timeline:
    """The events at a moment, both bounds included; if no generation began then, its neighbours.

    These are the last that began before, which is the one in force then, and the first after.
    """
    assert moment.since_ms is not None
    assert moment.until_ms is not None
    found = within(timeline, moment)
    if found.generations:
        return found
    before, after = _neighbours(timeline.generations, moment.since_ms, moment.until_ms)
    return replace(found, generations=[each for each in (before, after) if each is not None])


def to_play(timeline: Timeline, span: Span) -> Timeline:
    """The same as `within`, with the generation in force at its beginning in front, to start from.

    Its members are there from the beginning, as in a log that does not tell how they came.
    """
    found = within(timeline, span)
    if span.since_ms is None or not found.generations:
        return found
    before, _ = _neighbours(timeline.generations, span.since_ms, span.since_ms)
    if before is None:
        return found
    began = Cause(kind=CauseKind.HISTORY_CUT, grade=Grade.RECORDED, evidence="what is played begins here")
    base = replace(
        before, joined=before.roster.members, left=(), replaced=(), causes=(began,), moved=NOTHING_MOVED
    )
    return replace(found, generations=[base, *found.generations])


def _neighbours(
    generations: Sequence[Generation], since_ms: int, until_ms: int
) -> tuple[Generation | None, Generation | None]:
    timed = [(each.roster.at_ms, each) for each in generations if each.roster.at_ms is not None]
    before = max((pair for pair in timed if pair[0] < since_ms), key=lambda pair: pair[0], default=None)
    after = min((pair for pair in timed if pair[0] >= until_ms), key=lambda pair: pair[0], default=None)
    return (None if before is None else before[1]), (None if after is None else after[1])
