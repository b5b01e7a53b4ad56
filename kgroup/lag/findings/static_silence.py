"""Static members that were taken over, are still in the group, and have not committed since.

While an old process of a `group.instance.id` still runs, a new one fences it off (KIP-345), or is fenced off
by it: the coordinator keeps the member, whose heartbeats continue, and its loop may have ended with the error
FENCED_INSTANCE_ID. A member that commits anything after it was taken over is not one of these.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from kgroup.durations import lasting
from kgroup.history.timeline.model import Grade, Takeover
from kgroup.lag.findings.group_standstill import Standing
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts
from kgroup.lag.findings.standstill import broken_after_ms, unread_text
from kgroup.lag.findings.text import counted, listed
from kgroup.lag.status.window_evidence import SHORTEST_MS

_AT_ONCE_MS: Final = 60_000
"""Takeovers so close to each other are of processes that are there at the same time, or of one restart."""

_TRY: Final = (
    "Look in the logs of all processes with this group.instance.id for FENCED_INSTANCE_ID: one was fenced"
    " and its loop has ended, although the process seems alive. Stop the old one for good, then restart the"
    " new one; give pods longer to stop before their successors start. kafka-consumer-groups.sh"
    " --describe --members names the host."
)


def static_member_silent(facts: GroupFacts, standing: Sequence[Standing]) -> Finding | None:
    """The finding on a member that owns all of `standing`; None if it was not taken over before that."""
    run = _takeovers(facts, standing)
    if not run:
        return None
    newest = max(standing, key=lambda stopped: (stopped.still.since_ms, stopped.still.lag))
    only = standing[0].facts.row if len(standing) == 1 else None
    at_ms, begun_ms = run[-1].at_ms, run[0].at_ms
    assert at_ms is not None and begun_ms is not None, "they are told by their times"
    within = f" {len(run)} times within {lasting(at_ms - begun_ms)}" if len(run) > 1 else ""
    places = listed([f"{stopped.facts.row.topic}-{stopped.facts.row.partition}" for stopped in standing])
    return Finding(
        kind=FindingKind.STATIC_MEMBER_SILENT,
        group=facts.group.group_id,
        topic=only.topic if only else None,
        partition=only.partition if only else None,
        member_id=run[-1].new_id,
        since_ms=at_ms,
        grade=Grade.INFERRED,
        evidence=f"instance {run[-1].instance_id} got a new member id{within}, is in the group, and has"
        f" committed nothing for {lasting(facts.now_ms - at_ms)} since;"
        f" {unread_text([stopped.facts for stopped in standing])} on {counted(len(standing), 'partition')}"
        f" ({places})",
        numbers={
            **newest.still.numbers,
            "takeovers": len(run),
            "taken_over_ms": at_ms,
            "partitions": len(standing),
            "total_lag": sum(stopped.still.lag for stopped in standing),
        },
        try_this=_TRY,
    )


def _takeovers(facts: GroupFacts, standing: Sequence[Standing]) -> list[Takeover]:
    """The last of the member, close to each other, if all that it owns stands since the first of them."""
    owners = {stopped.facts.row.member_id for stopped in standing}
    if len(owners) != 1 or any(stopped.still.repeats for stopped in standing):
        return []
    (owner,) = owners
    of_owner = [taken for taken in facts.takeovers if taken.at_ms is not None and taken.new_id == owner]
    if not of_owner:
        return []
    of_instance = [
        taken
        for taken in facts.takeovers
        if taken.instance_id == of_owner[-1].instance_id and taken.at_ms is not None
    ]
    run = of_instance[-1:]
    for before, after in reversed(list(pairwise(of_instance))):
        if not 0 <= (after.at_ms or 0) - (before.at_ms or 0) <= _AT_ONCE_MS:
            break
        run.insert(0, before)
    begun_ms, at_ms = run[0].at_ms or 0, run[-1].at_ms or 0
    own = [one for one in facts.partitions if one.row.member_id == owner and one.commits]
    if run[-1].new_id != owner or any(one.last_ms > at_ms for one in own):
        return []
    last_ms = max(stopped.facts.last_ms for stopped in standing)
    longest_ms = max(stopped.facts.longest_interval_ms or 0 for stopped in standing)
    limit_ms = broken_after_ms(longest_ms) if longest_ms else SHORTEST_MS
    return run if begun_ms - last_ms <= limit_ms else []
