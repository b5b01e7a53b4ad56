"""Rounds that waited for one member until its rebalance timeout, then went on without it.

A classic coordinator waits for members to rejoin for as long as the longest rebalance timeout of all, and
then drops the dynamic ones that have not (`onCompleteJoin` in Kafka's group coordinators). Under eager
assignment those that stay commit nothing from when they rejoin, so their last commits tell how long the round
lasted. A member without heartbeats would have ended it by its session timeout, which is much shorter; one
that left would have ended it at any time before, and hardly ever just then.
"""

from typing import Final

from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.commits import CommitTrack, silence_of
from kgroup.history.timeline.model import Partition, Roster, TimelineMember
from kgroup.history.timeline.silences import Quiet

_EXACT_MS: Final = 1_500
"""From the begin of a round until the first member that stays rejoins it, with its next heartbeat."""
_STORED_MS: Final = 500
"""From the end of a round until its leader's assignment is in the log."""
_VAGUE_SHARE: Final = 20
"""If a round's length is known no better than to this part of the timeout, it may be a coincidence."""


def waited_out_ms(
    member: TimelineMember,
    previous: Roster,
    current: Roster,
    tracks: dict[Partition, CommitTrack],
    quiet: Quiet,
) -> int | None:
    """The rebalance timeout (ms) that the round before `current` lasted for, as `member` did not rejoin.

    None where the round was shorter or longer, or where somebody or something else may have ended it.
    """
    timeout_ms = max(
        (one.rebalance_timeout_ms or 0 for one in (*previous.members, *current.members)), default=0
    )
    stayed = {one.member_id for one in current.members}
    gone = [one.member_id for one in previous.members if one.member_id not in stayed]
    if gone != [member.member_id] or current.kind is not GroupKind.CLASSIC or not quiet.is_next:
        return None
    if quiet.is_static or member.session_timeout_ms is None or 2 * member.session_timeout_ms > timeout_ms:
        return None
    if quiet.ms < timeout_ms - _EXACT_MS or current.at_ms is None:
        return None
    notice_ms = member.session_timeout_ms // 3  # heartbeat.interval.ms, which is no higher as a rule
    silences = []
    for one in previous.members:
        own = silence_of(tracks, one.owned, previous.offset) if one.member_id in stayed else None
        if own is None or own.longest_ms is None:
            continue
        silent_ms = current.at_ms - own.last_ms
        if not timeout_ms - notice_ms <= silent_ms <= timeout_ms + own.longest_ms + _STORED_MS:
            return None
        if _VAGUE_SHARE * (own.longest_ms + _EXACT_MS) > timeout_ms:
            return None
        silences.append(silent_ms)
    return timeout_ms if silences and max(silences) >= timeout_ms - _EXACT_MS else None
