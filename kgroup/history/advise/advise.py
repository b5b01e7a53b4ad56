"""Advice on a group's settings from its own history. Where nothing follows, there is no advice.

Each rule looks at one setting: what the log has seen of it, and what a what-if gives for another.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from kgroup.assignors.registry import ASSIGNORS, Protocol
from kgroup.durations import lasting
from kgroup.history.advise.absences import Absence, absences
from kgroup.history.advise.late import POLL_CAUSES, late_polls
from kgroup.history.advise.model import Advice, Pause, Pauses, Setting
from kgroup.history.advise.played import minutes_text, numbers, played, saved_text
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import CauseKind, Generation, Grade, Timeline
from kgroup.history.what_if.changes import DEFAULT_SESSION_MS, Changes
from kgroup.history.what_if.what_if import Comparison

_NO_RESTARTS: Final = frozenset({*POLL_CAUSES, CauseKind.SESSION_EXPIRED.value})
"""Members that were taken out and came back by themselves: an instance id does not help them."""
_SESSION_MAX_MS: Final = 300_000
"""Longer ones are not advised: a crash would leave partitions unread for that long."""
_STEP_MS: Final = 5_000
_MARGIN: Final = 1.5
_RESTARTS_MIN: Final = 2
_REBALANCES_MIN: Final = 3
_DEFAULT_POLL_MS: Final = 300_000
_POLL_SLACK: Final = 10
_PAUSES_MIN: Final = 100
_CLOSE: Final = 0.8
_RETENTION_SHARE: Final = 0.5


def advise(timeline: Timeline, pauses: Pauses | None, retention_ms: int) -> list[Advice]:
    """All advice on one group, in the order of the settings.

    `retention_ms` is the broker's offsets.retention.minutes.
    """
    gone = absences(timeline.generations)
    return [
        *_session_timeout(timeline, gone),
        *_max_poll_interval(timeline, pauses),
        *_instance_ids(timeline, gone),
        *_assignor(timeline),
        *_members(timeline),
        *_retention(timeline, retention_ms),
    ]


def _session_timeout(timeline: Timeline, gone: Sequence[Absence]) -> Iterator[Advice]:
    """Members that were given up after a session's silence and came back: they were not dead."""
    expired = [each for each in gone if each.kind is CauseKind.SESSION_EXPIRED]
    back = [
        (each, (each.member.session_timeout_ms or DEFAULT_SESSION_MS) + each.away_ms)
        for each in expired
        if each.away_ms is not None
    ]
    if not back:
        return
    longest, silent_ms = max(back, key=lambda pair: pair[1])
    advised_ms = _whole(silent_ms * _MARGIN)
    now_ms = longest.member.session_timeout_ms
    if advised_ms > _SESSION_MAX_MS or (now_ms is not None and advised_ms <= now_ms):
        return
    comparison = played(timeline, Changes(session_timeout_ms=advised_ms))
    if comparison is None or comparison.supposed.rebalances >= comparison.recorded.rebalances:
        return
    yield Advice(
        group=timeline.group_id,
        setting=Setting.SESSION_TIMEOUT,
        now=_ms_text(now_ms),
        advised=str(advised_ms),
        grade=Grade.INFERRED,
        evidence=f"{len(back)} of {len(expired)} members that expired came back, {longest.process} after"
        f" {lasting(silent_ms)} of silence; with this: {saved_text(comparison)}",
        numbers={
            "expired": len(expired),
            "came_back": len(back),
            "silent_ms": silent_ms,
            **numbers(comparison),
        },
        caution=f"a member that really dies is noticed after {lasting(advised_ms)}, and its partitions are"
        " unread until then",
    )


def _max_poll_interval(timeline: Timeline, pauses: Pauses | None) -> Iterator[Advice]:
    """Members that were late, or nearly; or a time long enough that nobody notices a member that hangs."""
    late = late_polls(timeline)
    timeouts = {
        member.rebalance_timeout_ms
        for generation in timeline.generations
        for member in generation.roster.members
        if member.rebalance_timeout_ms and member.rebalance_timeout_ms > 0
    }
    if not timeouts:
        return
    now_ms = min(timeouts)
    longest = pauses.longest[0] if pauses is not None else None
    values: dict[str, int | float | str | None] = {
        "longest_pause_ms": longest.length_ms if longest else None,
        "usual_pause_ms": pauses.usual_ms if pauses else None,
        "pauses": pauses.count if pauses else 0,
    }
    if late:
        yield Advice(
            group=timeline.group_id,
            setting=Setting.MAX_POLL_INTERVAL,
            now=str(now_ms),
            advised=f"above {now_ms}, or fewer max.poll.records",
            grade=Grade.INFERRED,
            evidence=f"members did not poll in time {len(late)} times, the last: {late[-1].evidence}",
            numbers={"late": len(late), **values},
            caution="how long the work of who was too late would have taken is not in the log",
        )
        return
    if pauses is None or longest is None:
        return
    close = next((each for each in pauses.longest if _is_close(each)), None)
    if close is not None:
        yield Advice(
            group=timeline.group_id,
            setting=Setting.MAX_POLL_INTERVAL,
            now=str(close.rebalance_timeout_ms),
            advised=str(_whole(close.length_ms * _MARGIN)),
            grade=Grade.UNKNOWN if close.worked_ms is None else Grade.INFERRED,
            evidence=f"{close.client_id} did not commit for {lasting(close.length_ms)}, of"
            f" {lasting(close.rebalance_timeout_ms or 0)} that it may take from one poll to the next",
            numbers={**values, "pause_ms": close.length_ms, "worked_ms": close.worked_ms},
            caution="if there was nothing to read all that time it polled, and all is well"
            if close.worked_ms is None
            else None,
        )
    elif (
        now_ms > _DEFAULT_POLL_MS
        and pauses.count >= _PAUSES_MIN
        and longest.length_ms * _POLL_SLACK <= now_ms
    ):
        yield Advice(
            group=timeline.group_id,
            setting=Setting.MAX_POLL_INTERVAL,
            now=str(now_ms),
            advised=str(max(_DEFAULT_POLL_MS, _whole(longest.length_ms * _POLL_SLACK / 2))),
            grade=Grade.INFERRED,
            evidence=f"{pauses.count:,} pauses between commits, none longer than"
            f" {lasting(longest.length_ms)}: a member that hangs is noticed only after"
            f" {lasting(now_ms)}, and every rebalance may wait that long for it",
            numbers=values,
        )


def _is_close(pause: Pause) -> bool:
    """Whether a member took nearly all of its time, as far as is known."""
    limit_ms = pause.rebalance_timeout_ms
    length_ms = pause.length_ms if pause.worked_ms is None else pause.worked_ms
    return limit_ms is not None and limit_ms >= length_ms >= _CLOSE * limit_ms


def _instance_ids(timeline: Timeline, gone: Sequence[Absence]) -> Iterator[Advice]:
    """Restarts of members without an instance id, each of which moved partitions to and fro."""
    restarts = [
        each
        for each in gone
        if each.away_ms is not None
        and each.kind.value not in _NO_RESTARTS
        and each.member.instance_id is None
        and each.away_ms <= (each.member.session_timeout_ms or DEFAULT_SESSION_MS)
    ]
    if len(restarts) < _RESTARTS_MIN:
        return
    comparison = played(timeline, Changes(static=True))
    if comparison is None:
        return
    before, after = comparison.recorded, comparison.supposed
    if after.rebalances + _RESTARTS_MIN > before.rebalances or after.moved >= before.moved:
        return
    longest = max(restarts, key=lambda each: each.away_ms or 0)
    known = before.unread_ms is not None and after.unread_ms is not None
    more_unread = (after.unread_ms or 0) - (before.unread_ms or 0) if known else 0
    yield Advice(
        group=timeline.group_id,
        setting=Setting.INSTANCE_ID,
        now="-",
        advised="one of its own for each member",
        grade=Grade.INFERRED,
        evidence=f"{len(restarts)} restarts, the longest of {lasting(longest.away_ms or 0)}; with static"
        f" members: {saved_text(comparison)}",
        numbers={"restarts": len(restarts), "longest_restart_ms": longest.away_ms, **numbers(comparison)},
        caution=f"partitions wait for their member meanwhile: {minutes_text(more_unread)} more unread"
        if more_unread > 0
        else None,
    )


def _assignor(timeline: Timeline) -> Iterator[Advice]:
    """Another assignor or protocol, if it would have stopped clearly fewer members, or shared out evenly."""
    last = _last_settled(timeline.generations)
    if last is None or last.roster.kind is not GroupKind.CLASSIC:
        return
    entry = ASSIGNORS.get(last.roster.protocol or "")
    if entry is None or entry.client is None:
        return
    candidates: list[tuple[Setting, str, Changes]] = []
    if entry.protocol is Protocol.EAGER:
        candidates.append((Setting.ASSIGNOR, "cooperative-sticky", Changes(assignor="cooperative-sticky")))
    candidates.append((Setting.PROTOCOL, "consumer", Changes(protocol=Protocol.SERVER)))
    for setting, name, changes in candidates:
        comparison = played(timeline, changes)
        if comparison is None or not _is_better(comparison):
            continue
        spread = ""
        if comparison.recorded.spread > 1 >= comparison.supposed.spread:
            spread = (
                f"; shares differ by {comparison.supposed.spread} instead of {comparison.recorded.spread}"
            )
        yield Advice(
            group=timeline.group_id,
            setting=setting,
            now=last.roster.protocol or "-" if setting is Setting.ASSIGNOR else "classic",
            advised=name,
            grade=Grade.INFERRED,
            evidence=f"the same comings and goings with it: {saved_text(comparison)}{spread}",
            numbers=numbers(comparison),
            caution="in two rolling restarts: first both assignors, then the new one alone (KIP-429)"
            if setting is Setting.ASSIGNOR
            else "brokers of 4.0 or later, and its session and heartbeat times are the broker's (KIP-848)",
        )


def _is_better(comparison: Comparison) -> bool:
    before, after = comparison.recorded, comparison.supposed
    if before.rebalances < _REBALANCES_MIN:
        return False
    calmer = 2 * after.members_stopped <= before.members_stopped and before.members_stopped >= _REBALANCES_MIN
    unread_known = before.unread_ms is not None and after.unread_ms is not None
    dearer = unread_known and (after.unread_ms or 0) > (before.unread_ms or 0)
    return (calmer or before.spread > 1 >= after.spread) and not dearer


def _members(timeline: Timeline) -> Iterator[Advice]:
    """More members than there is work for."""
    last = _last_settled(timeline.generations)
    if last is None or last.roster.kind not in (GroupKind.CLASSIC, GroupKind.CONSUMER):
        return
    members = last.roster.members
    idle = [member for member in members if not member.owned and member.subscribed]
    partitions = sum(len(member.owned) for member in members)
    if not idle or not 0 < partitions < len(members):
        return
    yield Advice(
        group=timeline.group_id,
        setting=Setting.MEMBERS,
        now=str(len(members)),
        advised=f"{partitions}, or more partitions",
        grade=Grade.RECORDED,
        evidence=f"{len(idle)} of {len(members)} members have no partition: only {partitions} to share",
        numbers={"members": len(members), "idle_members": len(idle), "partitions": partitions},
        caution="a spare member takes over a little sooner than one that is started on demand",
    )


def _retention(timeline: Timeline, retention_ms: int) -> Iterator[Advice]:
    """Times without members that come near to what offsets are kept for, or went beyond."""
    empty = list(_empty_spells(timeline))
    expired = [each for each in timeline.occurrences if each.cause.kind is CauseKind.OFFSETS_EXPIRED]
    longest_ms = max(empty, default=0)
    if not expired and longest_ms < _RETENTION_SHARE * retention_ms:
        return
    minutes = retention_ms // 60_000
    advised = max(minutes, -(-longest_ms // 60_000)) * 2
    lost = f"offsets expired {len(expired)} times; " if expired else ""
    yield Advice(
        group=timeline.group_id,
        setting=Setting.OFFSETS_RETENTION,
        now=str(minutes),
        advised=str(advised),
        grade=Grade.RECORDED if expired else Grade.INFERRED,
        evidence=f"{lost}without members for up to {longest_ms / 3_600_000:,.1f} h, and offsets are kept for"
        f" {retention_ms / 3_600_000:,.1f} h then",
        numbers={"longest_empty_ms": longest_ms, "expirations": len(expired), "retention_ms": retention_ms},
        caution="it is the broker's, for all groups; a member that stays is as good",
    )


def _empty_spells(timeline: Timeline) -> Iterator[int]:
    for before, after in pairwise(timeline.generations):
        left_ms, back_ms = before.roster.at_ms, after.roster.at_ms
        if not before.roster.members and after.roster.members and left_ms is not None and back_ms is not None:
            yield back_ms - left_ms


def _last_settled(generations: Sequence[Generation]) -> Generation | None:
    """The last generation, if the group has members."""
    return generations[-1] if generations and generations[-1].roster.members else None


def _whole(ms: float) -> int:
    """The time rounded up to the next five seconds."""
    return int(-(-ms // _STEP_MS)) * _STEP_MS


def _ms_text(ms: int | None) -> str:
    return "-" if ms is None else str(ms)
