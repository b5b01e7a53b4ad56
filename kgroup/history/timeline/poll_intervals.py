"""Members whose clients left by themselves because nobody polled for max.poll.interval.ms.

A classic member's record has the interval as its rebalance timeout (Java's client and librdkafka, KIP-62);
other clients have a timeout of their own there and do not leave. The LeaveGroup itself is in no log. So a
silence that fits (`silences.py`) is not enough: a consumer that had nothing to read for as long may just have
been shut down, as autoscalers do after five minutes, which is also the default of the interval. Either the
client commits even when it has read nothing, or records waited for whoever took over, or the same client came
back under a new id, or under its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from kgroup.durations import lasting
from kgroup.history.timeline.commits import Committed
from kgroup.history.timeline.model import (
    Cause,
    CauseKind,
    Generation,
    Grade,
    Partition,
    SilentDeparture,
    TimelineMember,
)
from kgroup.history.timeline.silences import Quiet, may_have_expired

_UNLIKELY = 0.01
_COMES_BACK_MS = 600_000
_BACKLOG_MIN = 10
REMEDY = (
    "Raise max.poll.interval.ms above the time the slowest batch takes, lower max.poll.records, or do slow"
    " work in a separate thread while the consumer is paused and keeps polling."
)

FirstCommits = Mapping[tuple[int, Partition], Committed]
"""The first commit of a partition after a round, by the log offset of the round's record."""


def first_look(member: TimelineMember, quiet: Quiet, otherwise: Cause | None = None) -> SilentDeparture:
    """A departure that fits the poll interval, as far as the log tells when the round is stored.

    `otherwise` is what it may have been within the rhythm of its commits, None if it was silent for longer.
    """
    silence = quiet.silence
    assert silence.partition is not None and quiet.poll_interval_ms is not None
    expired = may_have_expired(quiet)
    why = (
        f"it committed every {lasting(silence.usual_ms or 0)}, then nothing for"
        f" {lasting(quiet.ms)}, and its poll interval (rebalance timeout) is"
        f" {lasting(quiet.poll_interval_ms)}"
    )
    if expired:
        why += f"; its session timeout is {lasting(quiet.session_ms)}"
    elif member.session_timeout_ms is not None and quiet.ms < member.session_timeout_ms:
        why += f", its session timeout {lasting(member.session_timeout_ms)}, so it cannot have expired"
    others: tuple[CauseKind, ...] = (CauseKind.SESSION_EXPIRED if expired else CauseKind.LEAVE,)
    if otherwise is not None:
        others = otherwise.alternatives
    return SilentDeparture(
        member=member,
        cause=Cause(
            kind=CauseKind.MEMBER_GONE,
            grade=Grade.UNKNOWN,
            member_ids=(member.member_id,),
            evidence=why,
            alternatives=(CauseKind.POLL_INTERVAL_EXCEEDED, *others),
        ),
        partition=silence.partition,
        last_ms=silence.last_ms,
        last_offset=silence.last_offset,
        quiet_ms=quiet.ms,
        longest_ms=quiet.longest_ms,
        round_ms=quiet.round_ms or 0,
        per_ms=silence.per_ms,
        commits_idle=silence.commits_idle,
        may_have_expired=expired,
        may_have_left=otherwise is not None,
        stopped_reading=silence.stopped_reading,
    )


def settle(generations: Sequence[Generation], first_commits: FirstCommits) -> None:
    """Grade the silent departures, now that all of the log is known."""
    silent = [(number, one) for number, generation in enumerate(generations) for one in generation.silent]
    if not silent:
        return
    backs = {id(one): _return_of(generations, number, one.member) for number, one in silent}
    proven = {
        id(one): why
        for number, one in silent
        if _is_certain(one, generations[number], first_commits)
        and (why := _support(one, generations[number], first_commits, backs[id(one)])) is not None
    }
    for number, one in silent:
        why = proven.get(id(one)) or _by_the_others(one, [each for _, each in silent], proven, backs)
        if why is not None:
            _replace(generations[number], one, why)


def _is_certain(one: SilentDeparture, generation: Generation, first_commits: FirstCommits) -> bool:
    """Whether neither a leave nor the end of a session is left, if it was not just shut down.

    A client that is killed or frozen commits no more once it has read its last. One that still commits, and
    less than came, lives on while nobody polls.
    """
    if one.may_have_left:
        return False
    return not one.may_have_expired or (
        one.stopped_reading and _records_went_on(one, generation, first_commits)
    )


def _support(
    one: SilentDeparture, generation: Generation, first_commits: FirstCommits, came_back: str | None
) -> str | None:
    """The reason why it was not just shut down while it had nothing to read; None without one."""
    if one.commits_idle:
        return "it commits even when it has read nothing"
    if _records_went_on(one, generation, first_commits):
        stopped = "it committed once more after it had read its last, and " if one.stopped_reading else ""
        return f"{stopped}records of {one.partition} kept coming, and waited for the next reader"
    return came_back


def _records_went_on(one: SilentDeparture, generation: Generation, first_commits: FirstCommits) -> bool:
    """Whether the next reader, soon after the round, committed more than can have come since the round."""
    first = first_commits.get((generation.roster.offset, one.partition))
    at_ms = generation.roster.at_ms
    if first is None or at_ms is None or one.per_ms <= 0:
        return False
    more, since_ms = first.offset - one.last_offset, first.at_ms - at_ms
    if more > 2 * one.per_ms * (since_ms + one.longest_ms) + _BACKLOG_MIN:
        return True
    # Less where it had not caught up; or just what came in the whole time.
    return 4 * since_ms <= one.quiet_ms and 4 * more >= 3 * one.per_ms * (first.at_ms - one.last_ms)


def _return_of(generations: Sequence[Generation], number: int, member: TimelineMember) -> str | None:
    """That the client joins again soon: under its id, or with a name that no other member of its time had."""
    before, gone = generations[number - 1].roster, generations[number].roster
    if gone.at_ms is None:
        return None
    has_own_name = sum(other.identity == member.identity for other in before.members) == 1
    for generation in generations[number:]:
        at_ms = generation.roster.at_ms
        if at_ms is None or at_ms - gone.at_ms > max(_COMES_BACK_MS, 2 * (member.rebalance_timeout_ms or 0)):
            return None
        if any(other.member_id == member.member_id for other in generation.joined):
            return "the same client came back under the same id"
        if has_own_name and any(other.identity == member.identity for other in generation.joined):
            return "the same client came back under a new id"
    return None


def _by_the_others(
    one: SilentDeparture,
    silent: Sequence[SilentDeparture],
    proven: Mapping[int, str],
    backs: Mapping[int, str | None],
) -> str | None:
    """The evidence of other departures of the same client about one that may have gone another way as well.

    A process that dies is silent for its session and a part of its rhythm more. That its silence reaches the
    poll interval each time, where that is longer, is soon unlikely.
    """
    came_back = backs[id(one)]
    if came_back is None:
        return None
    same = [each for each in silent if each.member.identity == one.member.identity and backs[id(each)]]
    known = sum(id(each) in proven for each in same)
    if known > one.may_have_left:
        times = "another time" if known == 1 else f"{known} other times"
        return f"{came_back}, and did not poll {times}"
    if not one.may_have_left and prod(_chance_of_reaching(each) for each in same) < _UNLIKELY:
        return f"{came_back}, and was silent for that long {len(same)} times"
    return None


def _chance_of_reaching(one: SilentDeparture) -> float:
    """The chance that a silence reaches the poll interval if the session ran out; 1 if it stays below."""
    session_ms, interval_ms = one.member.session_timeout_ms, one.member.rebalance_timeout_ms
    if session_ms is None or interval_ms is None or one.quiet_ms < interval_ms or interval_ms <= session_ms:
        return 1.0
    spread_ms = one.longest_ms + one.round_ms
    return max(session_ms + spread_ms - interval_ms, 0) / max(spread_ms, 1)


def _replace(generation: Generation, one: SilentDeparture, why: str) -> None:
    settled = replace(
        one.cause,
        kind=CauseKind.POLL_INTERVAL_EXCEEDED,
        grade=Grade.INFERRED,
        evidence=f"{one.cause.evidence}; {why}",
        alternatives=(),
        remedy=REMEDY,
    )
    generation.causes = tuple(settled if cause is one.cause else cause for cause in generation.causes)
