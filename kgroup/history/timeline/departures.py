"""Causes of departures, inferred from a member's timeouts and the last commits of its partitions.

A log says that a member is gone, never why. Facts narrow it down. A coordinator counts a commit as a sign of
life (`completeAndScheduleNextHeartbeatExpiration` in Kafka's group coordinators), so a member that committed
less than its session timeout before cannot have expired. A member that closes commits and leaves, or leaves
within its rhythm of commits; one whose silence is longer was silent before it went, and how long tells
(`silences.py`): about a session, and it has expired; about its poll interval, and its client left by itself
(`poll_intervals.py`). Where more than one fits, it is unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kgroup.durations import lasting
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.causes import static_restart
from kgroup.history.timeline.commits import CommitTrack, Silence, silence_of
from kgroup.history.timeline.model import (
    Cause,
    CauseKind,
    Grade,
    Partition,
    Roster,
    SilentDeparture,
    TimelineMember,
)
from kgroup.history.timeline.poll_intervals import first_look
from kgroup.history.timeline.silences import (
    DEFAULT_SESSION_MS,
    Quiet,
    expiry_fits,
    is_longer_than_a_leave,
    poll_interval_fits,
    quiet_of,
)
from kgroup.history.timeline.waits import waited_out_ms

# A time in which no broker expires anybody: the lowest session timeout that anybody configures is above it.
_NEVER_EXPIRES_MS = 4_000

_POSSIBLE = (CauseKind.LEAVE, CauseKind.SESSION_EXPIRED, CauseKind.REBALANCE_TIMEOUT)

_REMEDY_LEAVE = (
    "If this was not a shutdown: raise max.poll.interval.ms above the time the longest batch takes, or lower"
    " max.poll.records. Use group.instance.id (static membership) for planned restarts."
)
_REMEDY_EXPIRED = (
    "Keep heartbeat.interval.ms at a third of session.timeout.ms or less. Look for a killed process, long"
    " pauses or a broken network at that time; raise session.timeout.ms if it came back by itself."
)
_REMEDY_STATIC_EXPIRED = (
    "Make session.timeout.ms longer than a restart of a static member takes. If it was not restarted, look"
    " for a killed process, or one that did not poll for max.poll.interval.ms and then sent no heartbeats."
)
_REMEDY_AWAY = (
    "Make the group's session timeout longer than a restart of a static member takes. If nobody stopped it,"
    " it did not poll for max.poll.interval.ms."
)
_REMEDY_REBALANCE_TIMEOUT = (
    "Raise max.poll.interval.ms above the time a batch and on_partitions_revoked "
    "take: the member did not rejoin in time."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Evidence in the log from before a round in which somebody is gone.

    `tracks` are the commits. `cut` says that records are missing, so that an absent commit tells nothing, and
    `history_lost` that whole generations are. Times before the log offset `clock_from` are by the clock of
    another broker than that of the round. `together_after_ms` is after when all members of the round before
    had joined it. `away_since` has the static members that had left to come back, and when (epoch ms).
    """

    tracks: dict[Partition, CommitTrack]
    cut: bool = False
    history_lost: bool = False
    clock_from: int = 0
    together_after_ms: int | None = None
    away_since: Mapping[str, int] = field(default_factory=dict)


def why_gone(
    member: TimelineMember,
    previous: Roster,
    current: Roster,
    evidence: Evidence,
    unrevoked_since_ms: int | None = None,
) -> Cause:
    """The cause of one member's departure in the round that `current` came out of, as of that round.

    `unrevoked_since_ms` is since when a broker has waited for it to give up partitions.
    """
    verdict = departure(member, previous, current, evidence, unrevoked_since_ms)
    return verdict.cause if isinstance(verdict, SilentDeparture) else verdict


def departure(
    member: TimelineMember,
    previous: Roster,
    current: Roster,
    evidence: Evidence,
    unrevoked_since_ms: int | None = None,
) -> Cause | SilentDeparture:
    """The same as `why_gone`, with the silence where what comes later in the log may decide."""
    verdict = _departure(member, previous, current, evidence, unrevoked_since_ms)
    if evidence.cut or unrevoked_since_ms is not None or not _times_out_only_in_debt(member, current):
        return verdict
    if isinstance(verdict, SilentDeparture):
        return replace(verdict, cause=_without_rebalance_timeout(verdict.cause))
    return _without_rebalance_timeout(verdict)


def _times_out_only_in_debt(member: TimelineMember, current: Roster) -> bool:
    """Whether the rebalance timeout runs only while the member owes partitions, which its record says.

    So it is in consumer groups (KIP-848), but for members that still speak the classic protocol. Nobody gives
    anything up in a share group. Of streams groups, what their members owe is not followed here.
    """
    return current.kind in (GroupKind.CONSUMER, GroupKind.SHARE) and member.session_timeout_ms is None


def _without_rebalance_timeout(cause: Cause) -> Cause:
    left = tuple(each for each in cause.alternatives if each is not CauseKind.REBALANCE_TIMEOUT)
    return replace(cause, alternatives=left)


def _departure(
    member: TimelineMember,
    previous: Roster,
    current: Roster,
    evidence: Evidence,
    unrevoked_since_ms: int | None,
) -> Cause | SilentDeparture:
    at_ms = None if evidence.history_lost else current.at_ms
    tracks, together_after_ms = evidence.tracks, evidence.together_after_ms
    silence = silence_of(tracks, member.owned, previous.offset)
    timeout = member.rebalance_timeout_ms
    if unrevoked_since_ms is not None and at_ms is not None and timeout and timeout > 0:
        waited = at_ms - unrevoked_since_ms
        if waited >= timeout:
            owed = f"it owed partitions for {lasting(waited)}"
            why = f"{owed}, and its rebalance timeout is {lasting(timeout)}"
            return _gone(CauseKind.REBALANCE_TIMEOUT, member, why, _REMEDY_REBALANCE_TIMEOUT)
    away_since_ms = evidence.away_since.get(member.member_id)
    if away_since_ms is not None and at_ms is not None:
        return _stayed_away(member, at_ms - away_since_ms)
    if silence is None and at_ms is not None and together_after_ms is not None:
        since_ms = at_ms - together_after_ms
        if _is_too_soon(member, previous, since_ms):
            why = (
                f"left: its last round was put together less than {lasting(since_ms)} before, and its"
                f" session timeout is {lasting(member.session_timeout_ms or 0)}"
            )
            return _gone(CauseKind.LEAVE, member, why, _REMEDY_LEAVE)
    if silence is None or at_ms is None:
        why = "it committed nothing since it got its partitions" if member.owned else "it owned no partitions"
        return _unknown(member, f"gone; {why}, so nothing shows how it left")
    if silence.log_offset < evidence.clock_from:
        return _unknown(member, "gone; its last commit was with another coordinator, whose clock may differ")
    quiet = quiet_of(member, silence, previous, current, tracks)
    waited_ms = None if evidence.cut else waited_out_ms(member, previous, current, tracks, quiet)
    if waited_ms is not None:
        why = (
            f"the round lasted for its rebalance timeout of {lasting(waited_ms)}, in which nobody"
            f" committed, and went on without it; its session timeout of"
            f" {lasting(member.session_timeout_ms or 0)} would have ended it sooner"
        )
        return _gone(CauseKind.REBALANCE_TIMEOUT, member, why, _REMEDY_REBALANCE_TIMEOUT)
    if evidence.cut or not poll_interval_fits(quiet):
        return _by_silence(member, previous, current, evidence, quiet)
    if is_longer_than_a_leave(quiet):
        return first_look(member, quiet)
    cause = _by_silence(member, previous, current, evidence, quiet)
    return cause if cause.grade is not Grade.UNKNOWN else first_look(member, quiet, cause)


def _by_silence(
    member: TimelineMember, previous: Roster, current: Roster, evidence: Evidence, quiet: Quiet
) -> Cause:
    """The cause by the length of the silence, given that the client did poll."""
    if member.session_timeout_ms is None:
        return _without_session_timeout(member, quiet, cut=evidence.cut)
    if quiet.ms < member.session_timeout_ms:
        return _alive_shortly_before(member, previous, current, evidence.tracks, quiet.ms)
    if not evidence.cut and expiry_fits(quiet, member.session_timeout_ms):
        if member.instance_id:
            return _static_expired(member, quiet, member.session_timeout_ms)
        # With rounds between that nobody finished, a member may have left long before this one ended.
        if quiet.is_next and is_longer_than_a_leave(quiet):
            return _expired(member, quiet.ms, quiet.silence, member.session_timeout_ms)
    why = (
        f"gone {lasting(quiet.ms)} after its last commit; its session timeout is "
        f"{lasting(member.session_timeout_ms)}"
    )
    return _unknown(member, why)


def why_renamed(
    old: TimelineMember, new: TimelineMember, previous: Roster, current: Roster, evidence: Evidence
) -> Cause:
    """The reason a static member has another id after a round: as a rule it restarted.

    One whose session has expired comes back with a new id too, by itself, and if that happens before the
    round ends no record has the group without it.
    """
    restart = static_restart(old.member_id, new)
    if previous.kind is not GroupKind.CLASSIC or old.session_timeout_ms is None:
        return restart
    silence = silence_of(evidence.tracks, old.owned, previous.offset)
    signs = [] if evidence.together_after_ms is None else [evidence.together_after_ms]
    if silence is not None and silence.log_offset >= evidence.clock_from:
        signs.append(silence.last_ms)
    alive_ms = max(signs, default=None)
    at_ms = current.at_ms
    if alive_ms is not None and at_ms is not None and at_ms - alive_ms < old.session_timeout_ms:
        return restart
    return _or_expired(restart, old.session_timeout_ms)


def why_renamed_between_rounds(
    old: TimelineMember, new: TimelineMember, previous: Roster, current: Roster
) -> Cause:
    """The same without a round: the coordinator still knew the old id, and so has not seen it expire.

    An earlier one may have, without living to the end of the round that this made.
    """
    restart = static_restart(old.member_id, new)
    if previous.leader_epoch == current.leader_epoch:
        return restart
    return _or_expired(restart, old.session_timeout_ms)


def _or_expired(restart: Cause, session_timeout_ms: int | None) -> Cause:
    session = "session" if session_timeout_ms is None else f"session of {lasting(session_timeout_ms)}"
    return replace(
        restart,
        grade=Grade.UNKNOWN,
        evidence=f"{restart.evidence}; or its {session} had expired",
        alternatives=(CauseKind.STATIC_RESTART, CauseKind.SESSION_EXPIRED),
        remedy=None,
    )


def _is_too_soon(member: TimelineMember, previous: Roster, since_ms: int) -> bool:
    """Whether no timeout can have run out since the members were told that they are together.

    A session begins again with the answer to the join, and so does the time in which to sync.
    """
    if previous.kind is not GroupKind.CLASSIC or member.session_timeout_ms is None:
        return False
    longest = max((other.rebalance_timeout_ms or 0 for other in previous.members), default=0)
    return 0 <= since_ms < min(member.session_timeout_ms, longest)


def _alive_shortly_before(
    member: TimelineMember,
    previous: Roster,
    current: Roster,
    tracks: dict[Partition, CommitTrack],
    quiet_ms: int,
) -> Cause:
    why = (
        f"it committed {lasting(quiet_ms)} before the round ended, less than its session timeout of"
        f" {lasting(member.session_timeout_ms or 0)}, so it cannot have expired"
    )
    longest = max((other.rebalance_timeout_ms or 0 for other in previous.members), default=0)
    if _round_was_shorter(longest, previous, current, tracks):
        # A static member leaves when an admin removes it, or since KIP-1092 if its close() is asked to.
        departure = (
            "a LeaveGroup took the static member out"
            if member.instance_id
            else "left by itself or was removed by an admin"
        )
        why = f"{departure}: {why}, nor can the round have lasted a rebalance timeout ({lasting(longest)})"
        return _gone(CauseKind.LEAVE, member, why, _REMEDY_LEAVE)
    return _unknown(member, why, (CauseKind.LEAVE, CauseKind.REBALANCE_TIMEOUT))


def _round_was_shorter(
    longest_ms: int, previous: Roster, current: Roster, tracks: dict[Partition, CommitTrack]
) -> bool:
    """Whether the round cannot have lasted `longest_ms`, after which members that do not rejoin are dropped.

    It began after the one before; a lone member has nobody to wait for; and a member that stays rejoins
    when it next polls, so that under eager assignment it committed until shortly after the beginning. Where
    nobody stays, several that all were heard of a session before the end or later were closed together: none
    of them can have been away from poll() for so long and have been dropped for it.
    """
    if previous.at_ms is None or current.at_ms is None:
        return False
    if current.at_ms - previous.at_ms < longest_ms or len(previous.members) == 1:
        return True
    if not current.members:
        return _all_were_heard_of(previous, current.at_ms, tracks)
    if current.protocol == "cooperative-sticky":
        return False  # these continue to commit while a round lasts
    stayed = {member.member_id for member in current.members}
    for member in previous.members:
        silence = silence_of(tracks, member.owned, previous.offset)
        if member.member_id not in stayed or silence is None or silence.usual_ms is None:
            continue
        noticed_ms = silence.usual_ms + (member.session_timeout_ms or 0)
        if current.at_ms - silence.last_ms + noticed_ms < longest_ms:
            return True
    return False


def _all_were_heard_of(previous: Roster, at_ms: int, tracks: dict[Partition, CommitTrack]) -> bool:
    heard = [
        at_ms - silence.last_ms < (member.session_timeout_ms or 0)
        for member in previous.members
        if (silence := silence_of(tracks, member.owned, previous.offset)) is not None
    ]
    return len(heard) > 1 and all(heard)


def _without_session_timeout(member: TimelineMember, quiet: Quiet, *, cut: bool) -> Cause:
    if quiet.ms <= _NEVER_EXPIRES_MS:
        why = f"it committed {lasting(quiet.ms)} before it was gone, sooner than any session expires"
        return _gone(CauseKind.LEAVE, member, why, _REMEDY_LEAVE)
    if not cut and expiry_fits(quiet, DEFAULT_SESSION_MS) and is_longer_than_a_leave(quiet):
        return _expired(member, quiet.ms, quiet.silence, DEFAULT_SESSION_MS)
    why = f"gone {lasting(quiet.ms)} after its last commit; the broker's session timeout is not in the log"
    return _unknown(member, why)


def _static_expired(member: TimelineMember, quiet: Quiet, session_ms: int) -> Cause:
    """A static member that closes sends no LeaveGroup (KIP-345), nor does a round drop one.

    Only an admin takes it out, or a client of 4.x that is told to (KIP-1092).
    """
    why = (
        f"the static member was away for {lasting(quiet.ms)} since its last commit, and its session"
        f" timeout is {lasting(session_ms)}"
    )
    return _gone(CauseKind.SESSION_EXPIRED, member, why, _REMEDY_STATIC_EXPIRED)


def _stayed_away(member: TimelineMember, away_ms: int) -> Cause:
    """A static member that left with epoch −2 keeps its place until its session expires (KIP-848, KIP-1071).

    An admin can take it out before; that is rare, and the log does not tell.
    """
    why = f"the static member had left to come back {lasting(away_ms)} before, and its session expired"
    return _gone(CauseKind.SESSION_EXPIRED, member, why, _REMEDY_AWAY)


def _expired(member: TimelineMember, quiet_ms: int, silence: Silence, session_ms: int) -> Cause:
    why = (
        f"it committed every {lasting(silence.usual_ms or 0)}, then nothing for "
        f"{lasting(quiet_ms)}, and its"
        f" session timeout is {lasting(session_ms)}"
    )
    return _gone(CauseKind.SESSION_EXPIRED, member, why, _REMEDY_EXPIRED)


def _gone(kind: CauseKind, member: TimelineMember, why: str, remedy: str) -> Cause:
    return Cause(kind=kind, grade=Grade.INFERRED, member_ids=(member.member_id,), evidence=why, remedy=remedy)


def _unknown(member: TimelineMember, why: str, alternatives: tuple[CauseKind, ...] = _POSSIBLE) -> Cause:
    return Cause(
        kind=CauseKind.MEMBER_GONE,
        grade=Grade.UNKNOWN,
        member_ids=(member.member_id,),
        evidence=why,
        alternatives=alternatives,
    )
