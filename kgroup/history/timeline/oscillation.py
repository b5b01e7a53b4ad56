"""Groups whose membership goes up and down: something keeps adding and removing members.

A visit is a member that joins a group of others and is gone soon. A rolling restart has none, whatever the
names: who joins stays. Nor has a deployment. Visits of one client are `flapping-member`, those of one after
the other with new names are an autoscaler's, or a job's that reads with the others' group id.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kgroup.durations import lasting
from kgroup.history.timeline.model import Generation, Pattern, TimelineMember

MEMBERS_OSCILLATE = "members-oscillate"

_VISITS_MIN = 4
_NAMES_MIN = 3
_VISIT_MAX_MS = 600_000
_PAUSE_MAX_MS = 1_200_000
_REMEDY = (
    "Let the autoscaler wait longer before it scales down, and scale by lag over minutes, not by CPU; never"
    " beyond the number of partitions. The consumer protocol or cooperative-sticky makes each round cheaper."
    " A job that only inspects the topic needs its own group id."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    """A member from the round it joined with until the one it was missing from, as indexes and epoch ms."""

    member: TimelineMember
    first: int
    last: int
    from_ms: int
    to_ms: int


def find_oscillation(generations: Sequence[Generation]) -> Iterator[Pattern]:
    """A pattern for each run of short visits by ever new clients, while somebody stayed throughout."""
    for run in _runs(_visits(generations)):
        names = {visit.member.identity for visit in run}
        if len(run) < _VISITS_MIN or len(names) < _NAMES_MIN:
            continue
        first, last = min(visit.first for visit in run), max(visit.last for visit in run)
        span = generations[first - 1 : last + 1]
        if not _stayed(span) or not _goes_up_and_down(span):
            continue
        yield _pattern(run, span)


def _visits(generations: Sequence[Generation]) -> list[_Visit]:
    """The visits in the order in which they ended."""
    came: dict[str, int] = {}
    visits = []
    for number, generation in enumerate(generations):
        if number and not generation.cut:
            for member in generation.left:
                first = came.pop(member.member_id, None)
                if first is None:
                    continue
                from_ms, to_ms = generations[first].roster.at_ms, generation.roster.at_ms
                if from_ms is not None and to_ms is not None and 0 <= to_ms - from_ms <= _VISIT_MAX_MS:
                    visits.append(
                        _Visit(member=member, first=first, last=number, from_ms=from_ms, to_ms=to_ms)
                    )
            for member in generation.joined:
                if generations[number - 1].roster.members:
                    came[member.member_id] = number
        else:
            came.clear()
    return visits


def _runs(visits: Sequence[_Visit]) -> Iterator[list[_Visit]]:
    run: list[_Visit] = []
    for visit in visits:
        if run and visit.to_ms - run[-1].to_ms > _PAUSE_MAX_MS:
            yield run
            run = []
        run.append(visit)
    if run:
        yield run


def _stayed(span: Sequence[Generation]) -> bool:
    """Whether a client was there all the time: a group that is empty between its visits harms nobody."""
    stayed = {member.identity for member in span[0].roster.members}
    for generation in span[1:]:
        stayed &= {member.identity for member in generation.roster.members}
    return bool(stayed)


def _goes_up_and_down(span: Sequence[Generation]) -> bool:
    """Whether the number of members turns at least once for each of the visits that make a pattern.

    Members that replace each other at once leave it as it is.
    """
    counts = [len(generation.roster.members) for generation in span]
    steps = [after - before for before, after in pairwise(counts) if after != before]
    turns = sum((before > 0) != (after > 0) for before, after in pairwise(steps))
    return turns >= 2 * (_VISITS_MIN - 1)


def _pattern(run: Sequence[_Visit], span: Sequence[Generation]) -> Pattern:
    counts = [len(generation.roster.members) for generation in span]
    lasted_ms = run[-1].to_ms - min(visit.from_ms for visit in run)
    lives = sorted(visit.to_ms - visit.from_ms for visit in run)
    names = sorted({visit.member.identity for visit in run})
    clients = ", ".join(dict.fromkeys(name or "a client without a name" for name, _ in names[:3]))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return Pattern(
        name=MEMBERS_OSCILLATE,
        from_ms=min(visit.from_ms for visit in run),
        to_ms=run[-1].to_ms,
        first_generation=span[1].roster.generation,
        last_generation=span[-1].roster.generation,
        member_ids=tuple(visit.member.member_id for visit in run),
        evidence=f"{len(run)} members came and left again in {lasting(lasted_ms)}, usually"
        f" after {lasting(lives[len(lives) // 2])} ({clients}{more}): {len(span) - 1} rebalances"
        f" between {min(counts)} and {max(counts)} members",
        remedy=_REMEDY,
    )
