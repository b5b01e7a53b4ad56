"""Timelines as tracks of a trace: one for the group's generations, and one for each member."""

from collections.abc import Iterable, Iterator

from kgroup.history.timeline.model import Cause, Generation, Roster, Timeline, TimelineMember
from kgroup.report.timeline.rows import cause_text, client_ids
from kgroup.report.trace_format import Moment, Span, TraceItem

_GENERATIONS = "generations"
_EVENTS = "events"


def timeline_tracks(timelines: Iterable[Timeline]) -> Iterator[TraceItem]:
    """Spans and moments of groups by id; epoch ms.

    A generation lasts until the next, the last one until the last commit. A member's span says what it was
    given in a generation; in one without partitions it says so. Generations that log no time have no place
    here.
    """
    for timeline in timelines:
        yield from _of_group(timeline)


def _of_group(timeline: Timeline) -> Iterator[TraceItem]:
    group, clients = f"group {timeline.group_id}", client_ids(timeline)
    timed = [
        (at_ms, generation)
        for generation in timeline.generations
        if (at_ms := generation.roster.at_ms) is not None
    ]
    # Times of one coordinator's clock may go back; a span that ends before it begins is dropped.
    ends = [*(at_ms for at_ms, _ in timed[1:]), timeline.last_commit_ms or 0]
    for (at_ms, generation), next_ms in zip(timed, ends, strict=False):  # without generations there is an end
        end_ms = max(next_ms, at_ms)
        roster = generation.roster
        causes = [_cause(cause, clients) for cause in generation.causes]
        about = {"generation": roster.generation, "moved": generation.moved.moved, "causes": causes}
        name = f"generation {roster.generation}"
        why = "; ".join(cause_text(cause, clients) for cause in generation.causes)
        yield Moment(process=group, track=_GENERATIONS, name=f"rebalance: {why}", at_ms=at_ms, args=about)
        yield Span(
            process=group,
            track=_GENERATIONS,
            name=name,
            begin_ms=at_ms,
            end_ms=end_ms,
            args=about | _of_roster(roster),
        )
        for member in roster.members:
            yield Span(
                process=group,
                track=_name_of(member),
                name=_owned(member),
                begin_ms=at_ms,
                end_ms=end_ms,
                args=_of_member(member, generation),
            )
    for occurrence in timeline.occurrences:
        if occurrence.at_ms is not None:
            yield Moment(
                process=group,
                track=_EVENTS,
                name=cause_text(occurrence.cause, clients),
                at_ms=occurrence.at_ms,
                args=_cause(occurrence.cause, clients)
                | {"partitions": [str(partition) for partition in occurrence.partitions]},
            )


def _of_roster(roster: Roster) -> dict[str, object]:
    return {
        "members": len(roster.members),
        "protocol": roster.protocol,
        "leader": roster.leader,
        "offsets_partition": roster.offsets_partition,
        "log_offset": roster.offset,
    }


def _of_member(member: TimelineMember, generation: Generation) -> dict[str, object]:
    moved = generation.moved
    return {
        "generation": generation.roster.generation,
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.client_host,
        "partitions": sorted(map(str, member.owned)),
        "gained": [str(partition) for partition in moved.gained.get(member.member_id, ())],
        "lost": [str(partition) for partition in moved.lost.get(member.member_id, ())],
    }


def _name_of(member: TimelineMember) -> str:
    """A track of its own for each member id; the client id is what people know it by."""
    return f"{member.instance_id or member.client_id} {member.member_id}".strip()


def _owned(member: TimelineMember) -> str:
    return ", ".join(sorted(map(str, member.owned))) or "owns nothing"


def _cause(cause: Cause, clients: dict[str, str]) -> dict[str, object]:
    return {
        "cause": cause.kind,
        "grade": cause.grade,
        "evidence": cause.evidence,
        "members": [clients.get(member_id, member_id) for member_id in cause.member_ids],
        "alternatives": list(cause.alternatives),
    }
