"""Kafka Connect groups whose leader lags behind the others in the config topic.

The leader hands out work only if it has read as much of the config topic as any worker. If it has not, and
cannot catch up at once, everybody gets an empty assignment with the error CONFIG_MISMATCH and joins again.
A leader that never catches up keeps the group at that, generation after generation, and nothing runs.
Source: `EagerAssignor` and `IncrementalCooperativeAssignor` (`ensureLeaderConfig`), Kafka 2.3 to 4.3.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from kgroup.durations import lasting
from kgroup.history.timeline.model import Generation, Pattern, Roster
from kgroup.history.timeline.pattern_runs import pattern_over, process_name

CONNECT_CONFIG_BEHIND: Final = "connect-config-behind"
# Each refusal has the leader read the topic's end, so one that only was a moment late is right the next time.
_REFUSALS_MIN: Final = 3
_REMEDY: Final = (
    "Find out why that worker does not read the end of the config topic: its connection and rights, whether"
    " all workers have the same config.storage.topic and cluster, and whether that topic has one partition"
    " and is compacted. Restart it: until then the connectors do not run."
)


def find_connect_behind(generations: Sequence[Generation]) -> Iterator[Pattern]:
    """A pattern for each run of generations in which every worker was refused work."""
    run: list[Generation] = []
    for generation in generations:
        if _is_refused(generation.roster):
            run.append(generation)
            continue
        yield from _pattern(run)
        run = []
    yield from _pattern(run)


def _is_refused(roster: Roster) -> bool:
    return any(member.worker is not None and member.worker.refused for member in roster.members)


def _pattern(run: Sequence[Generation]) -> Iterator[Pattern]:
    if len(run) < _REFUSALS_MIN:
        return
    first, last = run[0].roster, run[-1].roster
    took = ""
    if first.at_ms is not None and last.at_ms is not None:
        took = f" in {lasting(max(0, last.at_ms - first.at_ms))}"
    yield pattern_over(
        CONNECT_CONFIG_BEHIND,
        run,
        member_ids=(last.leader,) if last.leader else (),
        evidence=f"{len(run)} generations in a row{took} in which no worker got work (CONFIG_MISMATCH)"
        + _who_is_behind(last),
        remedy=_REMEDY,
    )


def _who_is_behind(roster: Roster) -> str:
    read_to = {member: member.worker.config_offset for member in roster.members if member.worker is not None}
    leader = next((member for member in read_to if member.member_id == roster.leader), None)
    furthest = max(read_to, key=read_to.__getitem__)
    if leader is None or read_to[leader] == read_to[furthest]:
        return ""
    return (
        f": the leader, {process_name(leader.identity)}, has read the config topic to offset"
        f" {read_to[leader]}, {process_name(furthest.identity)} to {read_to[furthest]}"
    )
