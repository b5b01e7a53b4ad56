"""A generation as rosters show it: when it begins, and when its assignment becomes known."""

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace

from kgroup.history.timeline import causes
from kgroup.history.timeline.departures import Evidence, departure, why_renamed
from kgroup.history.timeline.kept_ids import stalls
from kgroup.history.timeline.model import Cause, CauseKind, Generation, Grade, Roster, SilentDeparture
from kgroup.history.timeline.pending_members import pending_member

_FIRST_GENERATION = 1


def begun(
    roster: Roster,
    previous: Roster | None,
    evidence: Evidence,
    unrevoked_since: MutableMapping[str, int],
    *,
    last_began_ms: int | None,
) -> Generation:
    """The generation that begins with `roster`: who came, who is gone, and what the records say of why.

    `previous` is the group as it was last written, and `last_began_ms` when (epoch ms) its generation began.
    `unrevoked_since` has, by member id, since when (epoch ms) a broker waits for a member to give up
    partitions; members that are gone are taken out.
    """
    generation = Generation(roster=roster, cut=evidence.cut)
    if previous is None:
        generation.joined = roster.members
        generation.causes = tuple(_first(roster, evidence.cut))
        return generation
    generation.unfinished = max(roster.generation - previous.generation - 1, 0)
    if roster.at_ms is not None and last_began_ms is not None:
        generation.since_previous_ms = roster.at_ms - last_began_ms
    generation.joined, generation.left, generation.replaced = causes.member_changes(previous, roster)
    generation.leader_changed = previous.leader != roster.leader and bool(roster.members)
    lost = evidence.cut and (generation.unfinished > 0 or roster.generation < previous.generation)
    evidence = replace(evidence, history_lost=lost)
    changes = _changes(generation, previous, evidence, unrevoked_since)
    waited = pending_member(generation, previous, evidence.tracks)
    generation.causes = (*changes, *([waited] if waited is not None else []))
    return generation


def _first(roster: Roster, cut: bool) -> list[Cause]:
    if cut and roster.generation > _FIRST_GENERATION:
        return [
            Cause(
                kind=CauseKind.HISTORY_CUT,
                grade=Grade.UNKNOWN,
                evidence="earlier records are no longer in the log (or not in these files)",
            )
        ]
    return causes.joins(roster.members, None)


def _changes(
    generation: Generation, previous: Roster, evidence: Evidence, unrevoked_since: MutableMapping[str, int]
) -> list[Cause]:
    roster = generation.roster
    changes: list[Cause] = []
    if previous.kind is not roster.kind:
        changes.append(
            Cause(
                kind=CauseKind.PROTOCOL_MIGRATED,
                grade=Grade.RECORDED,
                evidence=f"the {previous.kind} group became a {roster.kind} group",
            )
        )
    elif roster.generation < previous.generation or (evidence.cut and generation.unfinished):
        changes.append(
            Cause(
                kind=CauseKind.HISTORY_CUT,
                grade=Grade.UNKNOWN,
                evidence=f"generations between {previous.generation} and {roster.generation} are "
                "not in the log",
            )
        )
    changes += causes.joins(generation.joined, previous)
    before = {member.member_id: member for member in previous.members}
    now = {member.member_id: member for member in roster.members}
    changes += [
        why_renamed(before[old], now[new], previous, roster, evidence) for old, new in generation.replaced
    ]
    departures = [
        departure(member, previous, roster, evidence, unrevoked_since.pop(member.member_id, None))
        for member in generation.left
    ]
    generation.stalls = stalls(generation.left, previous, evidence.tracks)
    generation.silent = tuple(one for one in departures if isinstance(one, SilentDeparture))
    changes += [one.cause if isinstance(one, SilentDeparture) else one for one in departures]
    changes += causes.subscription_changes(previous, roster)
    changes += causes.assignor_change(previous, roster)
    return changes


def finish_round(generations: Sequence[Generation], known_counts: MutableMapping[str, int]) -> None:
    """The assignment of the last generation is known: note the moves, and causes that only they show.

    `known_counts` has of each topic how many partitions have been assigned at least; it grows here.
    """
    generation = generations[-1]
    roster = generation.roster
    if len(generations) > 1:
        previous = generations[-2].roster
        before = generations[-3].roster if len(generations) > 2 else None
        generation.moved = causes.moves(previous, roster, generation.replaced, before)
        generation.causes = tuple(_with_moves(generation, previous, before, known_counts))
    for member in roster.members:
        for owned in member.owned:
            known_counts[owned.topic] = max(known_counts.get(owned.topic, 0), owned.partition + 1)


def _with_moves(
    generation: Generation, previous: Roster, before: Roster | None, known_counts: Mapping[str, int]
) -> list[Cause]:
    roster = generation.roster
    reasons = list(generation.causes)
    if not generation.cut:
        growth = causes.topic_growth(previous, roster, known_counts)
        reasons += [cause for cause in growth if cause not in reasons]
        follow_up = causes.cooperative_follow_up(before, previous, roster)
        reasons += [cause for cause in follow_up if cause not in reasons]
    if not reasons:
        reasons.append(
            causes.readiness(previous, roster)
            or causes.rejoined_after_a_move(previous, roster)
            or causes.unexplained(roster, generation.unfinished)
        )
    return reasons
