"""The assumptions of a what-if in sentences: what the log shows, what is assumed, what is unknown."""

from collections.abc import Iterator, Sequence

from kgroup.assignors.registry import ASSIGNORS, Protocol
from kgroup.durations import lasting
from kgroup.history.timeline.model import Timeline
from kgroup.history.what_if.changes import DEFAULT_SESSION_MS, Changes
from kgroup.history.what_if.circumstances import Circumstances
from kgroup.history.what_if.classic_rounds import ROUND_MS
from kgroup.history.what_if.schedule import Schedule


def assumptions(
    timeline: Timeline, changes: Changes, of_generations: Sequence[Circumstances], schedule: Schedule
) -> Iterator[str]:
    """The assumptions that this comparison needed."""
    yield _about_pauses(changes, of_generations)
    yield from _about_protocol(changes, of_generations)
    yield from _about_rounds(changes, of_generations)
    yield from _about_members(changes, schedule)
    yield from _about_the_log(timeline, schedule)


def _about_pauses(changes: Changes, of_generations: Sequence[Circumstances]) -> str:
    if changes.pause_ms is not None:
        return f"each rebalance stops its partitions for {lasting(changes.pause_ms)}"
    measured = [each.pause_ms for each in of_generations if each.pause_ms is not None and not each.estimated]
    if not measured:
        return "no commits show how long a rebalance stops anyone: give --pause"
    least, most = lasting(min(measured)), lasting(max(measured))
    return (
        f"each rebalance stops its partitions for {least if least == most else f'{least} to {most}'}, by how"
        f" long commits were overdue in {len(measured)} of {len(of_generations)} generations"
        " (the median elsewhere); a client that commits when told to stop hides some of it: --pause"
    )


def _about_protocol(changes: Changes, of_generations: Sequence[Circumstances]) -> Iterator[str]:
    supposed = {ASSIGNORS[name].protocol for each in of_generations if (name := changes.assignor_at(each))}
    if Protocol.EAGER in supposed:
        yield "eager: each rebalance stops all partitions of all members"
    if Protocol.COOPERATIVE in supposed:
        yield "cooperative: only partitions that move stop, until a further rebalance hands them out"
    if Protocol.SERVER in supposed:
        yield (
            "consumer protocol: only partitions that move stop (up to a heartbeat interval of the new owner,"
            " 5 s by default: --pause), and a leader that joins again changes nothing"
        )
        if any(each.protocol is not Protocol.SERVER for each in of_generations):
            yield (
                "of members that joined one classic generation the first (its leader, else by name) is given"
                " what is free and the others share a second later, group.consumer.assignment.interval.ms"
            )
            yield "among topics that are alike uniform goes by their ids, which are not in the log"


def _about_rounds(changes: Changes, of_generations: Sequence[Circumstances]) -> Iterator[str]:
    if changes.leaves_epochs and any(each.protocol is Protocol.SERVER for each in of_generations):
        yield (
            f"epochs within {lasting(ROUND_MS)} are one classic round, which lasts until all have heard"
            " of it (heartbeat.interval.ms, or group.initial.rebalance.delay.ms of an empty group)"
        )


def _about_members(changes: Changes, schedule: Schedule) -> Iterator[str]:
    if changes.static or changes.session_timeout_ms is not None:
        yield (
            "a member that joins with the client id of one that is gone (and its host, where several have"
            " that id) is its restart"
        )
    if changes.static:
        yield (
            "a static member that stops does not leave, and its partitions wait for it until its session"
            f" expires: {schedule.restarts or 'no'} restarts came sooner"
        )
    if changes.more_members:
        yield (
            f"{changes.more_members} more (what-if-1, ...) subscribe as the first member does, and are there"
            " whenever the group is"
        )
    if changes.partitions:
        yield "the topics have the partitions of --partitions from the first generation on"
    if schedule.defaulted_sessions:
        yield (
            f"the session timeout of {schedule.defaulted_sessions} members is not in the log:"
            f" {lasting(DEFAULT_SESSION_MS)}, the default"
        )


def _about_the_log(timeline: Timeline, schedule: Schedule) -> Iterator[str]:
    if schedule.unknown_departures:
        yield (f"how {schedule.unknown_departures} members went is not in the log: they left, at once")
    if schedule.untimed:
        yield f"{schedule.untimed} departures have no time in the log, and stay where they are"
    unfinished = sum(generation.unfinished for generation in timeline.generations)
    if unfinished:
        yield f"{unfinished} generations without an assignment in the log count on neither side"
    if timeline.is_cut:
        yield "records are missing from the log, and count on neither side"
    rosters = [generation.roster for generation in timeline.generations]
    subscribed = {topic for r in rosters for member in r.members for topic in member.subscribed or ()}
    strange = {p.topic for r in rosters for member in r.members for p in member.owned} - subscribed
    if strange:
        named = ", ".join(sorted(strange))
        yield f"left out, as no subscription names it (is the topic gone?): {named}"
    yield "racks are left out: where replicas are is not in the log"
