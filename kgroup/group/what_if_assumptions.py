"""What a what-if rests on, in sentences: what was taken from the log, what is Kafka's default, what is not known."""

from collections.abc import Iterator, Sequence

from kgroup.assignors.registry import ASSIGNORS, Protocol
from kgroup.group.timeline_model import Timeline
from kgroup.group.what_if_changes import CLASSIC_PAUSE_MS, DEFAULT_SESSION_MS, SERVER_PAUSE_MS, Changes
from kgroup.group.what_if_record import Circumstances
from kgroup.group.what_if_schedule import Schedule


def assumptions(
    timeline: Timeline, changes: Changes, known: Sequence[Circumstances], schedule: Schedule
) -> Iterator[str]:
    """Those that this comparison needed."""
    yield from _about_pauses(changes, known)
    yield from _about_protocol(changes, known)
    yield from _about_members(changes, schedule)
    yield from _about_the_log(timeline, schedule)


def _about_pauses(changes: Changes, known: Sequence[Circumstances]) -> Iterator[str]:
    measured = [one.pause_ms for one in known if one.pause_ms is not None and not one.estimated]
    if measured:
        yield (
            f"a rebalance stops what it stops for as long as commits stayed out beyond their rhythm: "
            f"{min(measured) / 1000:.1f} to {max(measured) / 1000:.1f} s, known of {len(measured)} of "
            f"{len(known)} generations, the median elsewhere"
        )
    else:
        yield "how long a rebalance stops anybody is not known: no commits around one tell"
    kinds = {one.protocol is Protocol.SERVER for one in known}
    supposed = {ASSIGNORS[name].protocol for one in known if (name := changes.assignor_at(one))}
    if Protocol.SERVER in supposed and False in kinds:
        yield (
            f"the consumer protocol leaves a partition unread for {SERVER_PAUSE_MS / 1000:.1f} s when it moves, "
            "half of the brokers' heartbeat interval by default"
        )
    if True in kinds and supposed - {Protocol.SERVER}:
        yield (
            f"a classic round takes {CLASSIC_PAUSE_MS / 1000:.1f} s, the heartbeat interval by default after which "
            "the last member knows of it"
        )


def _about_protocol(changes: Changes, known: Sequence[Circumstances]) -> Iterator[str]:
    supposed = {ASSIGNORS[name].protocol for one in known if (name := changes.assignor_at(one))}
    if Protocol.COOPERATIVE in supposed:
        yield "cooperative: only what moves stops, until the rebalance that follows hands it out"
    if Protocol.EAGER in supposed:
        yield "eager: all that members have stops in each rebalance"
    if Protocol.SERVER in supposed:
        yield "consumer protocol: only what moves stops; a leader that joins again changes nothing"
    if Protocol.SERVER in supposed:
        yield "topic ids are not in the log, and uniform's choice among topics that are alike goes by them"


def _about_members(changes: Changes, schedule: Schedule) -> Iterator[str]:
    if changes.static or changes.session_timeout_ms is not None:
        yield (
            "a member that joins under the client id of one that is gone (and its host, where several share "
            "that) is its restart"
        )
    if changes.static:
        yield (
            f"a static member that stops does not leave: {schedule.restarts} restarts were within the session "
            "timeout, and its partitions wait for it meanwhile"
        )
    if changes.more_members:
        yield (
            f"{changes.more_members} more members subscribe as the first one does and are there whenever the "
            "group is; what-if-1 is where that name sorts"
        )
    if changes.partitions:
        yield "--partitions holds from the first generation on"
    if schedule.defaulted_sessions:
        yield (
            f"a session timeout of {DEFAULT_SESSION_MS / 1000:.0f} s, the default, where the log has none: "
            f"{schedule.defaulted_sessions} members expired"
        )


def _about_the_log(timeline: Timeline, schedule: Schedule) -> Iterator[str]:
    if schedule.unknown_departures:
        yield (
            f"{schedule.unknown_departures} members are gone and the log does not tell how: taken for leaving, "
            "which no session timeout delays"
        )
    if schedule.untimed:
        yield f"{schedule.untimed} departures have no time in the log and stay where they are"
    unfinished = sum(generation.unfinished for generation in timeline.generations)
    if unfinished:
        yield f"{unfinished} generations without an assignment in the log are on neither side"
    if timeline.is_cut:
        yield "records are missing from the log, and what happened there is on neither side"
    yield "racks are left out: the log does not tell where replicas are"
