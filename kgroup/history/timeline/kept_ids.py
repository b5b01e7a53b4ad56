"""Members that were gone and came back under the same id: their clients lived on.

Where the broker assigns, a client has one id as long as it lives (KIP-848). So a member that left and is back
was not shut down: its code unsubscribed and subscribed again, or nobody polled for max.poll.interval.ms.
librdkafka leaves then only when it is polled again: it commits what it had, leaves and joins, all at once.
Java's consumer leaves when the interval is over (`poll_intervals.py`). One whose session ended comes back as
well, once it hears that it is unknown.
"""

from collections.abc import Sequence
from dataclasses import replace

from kgroup.durations import lasting
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.commits import CommitTrack, silence_of
from kgroup.history.timeline.model import (
    Cause,
    CauseKind,
    Generation,
    Grade,
    Partition,
    Roster,
    TimelineMember,
)
from kgroup.history.timeline.poll_intervals import REMEDY


def stalls(
    left: Sequence[TimelineMember], previous: Roster, tracks: dict[Partition, CommitTrack]
) -> dict[str, int]:
    """How long (ms) each of those that are gone had committed nothing before its last commit, by member id.

    Only of those that broke their rhythm by their poll interval or more.
    """
    if previous.kind is GroupKind.CLASSIC:
        return {}
    found = {}
    for member in left:
        silence = silence_of(tracks, member.owned, previous.offset)
        interval_ms = member.rebalance_timeout_ms
        if silence is None or not interval_ms or interval_ms <= 0:
            continue
        if silence.stalled_ms >= interval_ms > 2 * (silence.usual_ms or interval_ms):
            found[member.member_id] = silence.stalled_ms
    return found


def settle_returns(generations: Sequence[Generation]) -> None:
    """Say of those that are gone that they came back under their ids, and why they left, where that tells."""
    last_joins = {
        member.member_id: number
        for number, generation in enumerate(generations)
        if generation.roster.kind is not GroupKind.CLASSIC
        for member in generation.joined
    }
    for number, generation in enumerate(generations):
        back = {
            member.member_id: member
            for member in generation.left
            if member.instance_id is None and last_joins.get(member.member_id, number) > number
        }
        if back:
            generation.causes = tuple(_settled(cause, generation, back) for cause in generation.causes)


def _settled(cause: Cause, generation: Generation, back: dict[str, TimelineMember]) -> Cause:
    member = back.get(cause.member_ids[0]) if len(cause.member_ids) == 1 else None
    if member is None or cause.kind not in (CauseKind.LEAVE, CauseKind.MEMBER_GONE):
        return cause
    stalled_ms = generation.stalls.get(member.member_id)
    if cause.kind is CauseKind.MEMBER_GONE or stalled_ms is None:
        lived = "it came back under the same id: its client lived on"
        return replace(cause, evidence=f"{cause.evidence}; {lived}")
    interval = lasting(member.rebalance_timeout_ms or 0)
    return replace(
        cause,
        kind=CauseKind.POLL_INTERVAL_EXCEEDED,
        grade=Grade.INFERRED,
        evidence=f"it committed nothing for {lasting(stalled_ms)}, and its poll interval (rebalance timeout)"
        f" is {interval}; then it committed, left and came back under the same id",
        remedy=REMEDY,
    )
