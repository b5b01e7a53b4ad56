"""Rounds that waited a whole session timeout for an unknown member.

A first JoinGroup gets a member id and has to come back with it (KIP-394); until then the member is pending,
and a round does not end before all pending ones have joined, or their session timeout has passed. A client
that lost the answer asks again and gets another id: the first one is never used, and all wait for it.
"""

from kgroup.durations import lasting
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.commits import CommitTrack, silence_of
from kgroup.history.timeline.model import Cause, CauseKind, Generation, Grade, Partition, Roster

_STAYED_MIN = 2
_SLACK_MS = 1_500
_COOPERATIVE = "cooperative-sticky"
_REMEDY = (
    "Look for a client that joins without coming back: one that is killed while it starts, whose requests"
    " time out, or whose library does not know MEMBER_ID_REQUIRED. The coordinator's log names its client id."
)


def pending_member(
    generation: Generation, previous: Roster, tracks: dict[Partition, CommitTrack]
) -> Cause | None:
    """A cause where those who stayed waited for a session timeout, and nobody is gone; else None.

    Under eager assignment a member that has rejoined does not commit until the round ends, and one that
    keeps the others waiting commits just before it rejoins. So all were silent for at least as long as the
    round took.
    """
    current = generation.roster
    if current.kind is not GroupKind.CLASSIC or previous.kind is not GroupKind.CLASSIC or generation.cut:
        return None
    if generation.left or generation.replaced or generation.unfinished or current.at_ms is None:
        return None
    # Under cooperative assignment members continue to commit; another coordinator has another clock.
    if current.protocol == _COOPERATIVE or current.leader_epoch != previous.leader_epoch:
        return None
    sessions = {member.session_timeout_ms for member in current.members}
    session_ms = next(iter(sessions)) if len(sessions) == 1 else None
    owners = [member for member in previous.members if member.owned]
    silences = [silence_of(tracks, member.owned, previous.offset) for member in owners]
    if session_ms is None or len(silences) < _STAYED_MIN:
        return None
    longest_ms = 0
    for silence in silences:
        if silence is None or silence.longest_ms is None or not (silence.moved or silence.commits_idle):
            return None
        longest_ms = max(longest_ms, silence.longest_ms, silence.hiccup_ms)
    waited_ms = [current.at_ms - silence.last_ms for silence in silences if silence is not None]
    shortest_ms, most_ms = min(waited_ms), max(waited_ms)
    # Who stays commits once more when it hears of the round, up to a heartbeat after the member id was handed
    # out. Only somebody who joined shows what began the round; without, the time has to fit all the better.
    least, soonest = (60, 80) if generation.joined else (90, 95)
    fits = 100 * shortest_ms >= least * session_ms and 100 * most_ms >= soonest * session_ms
    if not fits or most_ms > session_ms + longest_ms + _SLACK_MS:
        return None
    if shortest_ms <= longest_ms + _SLACK_MS:
        return None
    return Cause(
        kind=CauseKind.PENDING_MEMBER,
        grade=Grade.INFERRED,
        evidence=f"nobody is gone, and none of the {len(owners)} members committed for"
        f" {lasting(shortest_ms)} until the round ended, about the session timeout of"
        f" {lasting(session_ms)}: it waited for a member id that was handed out and never used",
        remedy=_REMEDY,
    )
