"""A capture played again with the assignors that its groups used: does each rebalance end as it did?

The supposed side carries on from its own assignments, so one that differs would show in all that follow.
What the log alone cannot give is printed as held, with the reason, and not counted.
"""

from collections.abc import Iterator
from pathlib import Path

from kgroup.api.opened import open_logs
from kgroup.api.replay import replay
from kgroup.errors import InputError, KgroupError
from kgroup.history.timeline.model import CauseKind, Generation, Timeline
from kgroup.history.what_if.changes import Changes
from kgroup.history.what_if.outcome import PlayedRound
from kgroup.history.what_if.what_if import what_if
from tests.vectors.case import Case, VectorError

# A generation's number and time: a group that was deleted begins again at 1.
Place = tuple[int | None, int | None]


def cases(path: Path) -> Iterator[Case]:
    try:
        timelines = replay(open_logs(path), ["*"])
    except KgroupError as error:
        raise VectorError(str(error)) from error
    for group, timeline in timelines.items():
        try:
            compared = what_if(timeline, Changes())
        except InputError as error:
            print(f"held   {path} {error}")
            continue
        supposed = _by_generation(timeline, compared.supposed.rounds)
        for played in compared.recorded.rounds:
            generation = (played.generation, played.at_ms)
            name = f"{path} {group} generation {played.generation}"
            failure = _difference(played, supposed.get(generation))
            reason = _reason(timeline, generation) if failure else None
            if reason:
                print(f"held   {name}: {reason}")
                continue
            yield Case(name, failure)


def _places(timeline: Timeline) -> list[Place]:
    return [(generation.roster.generation, generation.roster.at_ms) for generation in timeline.generations]


def _by_generation(timeline: Timeline, rounds: tuple[PlayedRound, ...]) -> dict[Place, PlayedRound]:
    """What was supposed, by the recorded generation; a round that must follow has the number after it."""
    places = _places(timeline)
    by_generation: dict[Place, PlayedRound] = {}
    at = 0
    for played in rounds:
        if played.follow_up:
            at += 1
        else:
            assert played.generation is not None
            at = places.index((played.generation, played.at_ms))
        if at < len(places):
            by_generation.setdefault(places[at], played)
    return by_generation


def _difference(recorded: PlayedRound, supposed: PlayedRound | None) -> str | None:
    if supposed is None:
        return "no such round"
    was = {member_id: sorted(owned) for member_id, owned in recorded.assignment.items()}
    would_be = {member_id: sorted(owned) for member_id, owned in supposed.assignment.items()}
    return None if was == would_be else f"recorded {was}, supposed {would_be}"


def _reason(timeline: Timeline, generation: Place) -> str | None:
    number = _places(timeline).index(generation)
    until_now = timeline.generations[: number + 1]
    if any(cause.kind is CauseKind.PROTOCOL_MIGRATED for g in until_now for cause in g.causes):
        return "a coordinator that converts a group keeps its assignment until the members rejoin"
    if _unsubscribed(timeline):
        return "a topic that is gone is known by its id alone, and which pattern matched it no more"
    if _waits(timeline.generations[number]):
        return "the coordinator had not worked out this epoch's assignment when the next one began"
    return None


def _unsubscribed(timeline: Timeline) -> bool:
    members = [member for g in timeline.generations for member in g.roster.members]
    wanted = {topic for member in members for topic in member.subscribed or ()}
    return any(partition.topic not in wanted for member in members for partition in member.owned)


def _waits(generation: Generation) -> bool:
    joined = {member.member_id for member in generation.joined}
    return any(m.member_id in joined and not m.owned and m.subscribed for m in generation.roster.members)
