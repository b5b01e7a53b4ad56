"""When a group would have rebalanced: its recorded comings and goings, with members set up differently."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kgroup.assignors.registry import Protocol
from kgroup.group.timeline_model import CauseKind, Timeline
from kgroup.group.what_if_changes import DEFAULT_SESSION_MS, Changes
from kgroup.group.what_if_stays import DEPARTURES, Stay, stays_of

_MEMBERSHIP: Final = DEPARTURES | {
    CauseKind.FIRST_JOIN,
    CauseKind.JOIN,
    CauseKind.COOPERATIVE_FOLLOW_UP,
    CauseKind.HISTORY_CUT,
}
_CHOICE_OF_ASSIGNOR: Final = frozenset({CauseKind.ASSIGNOR_CHANGED, CauseKind.PROTOCOL_MIGRATED})
# What makes a leader call for a round, and a coordinator that assigns by itself does without.
_LEADERS: Final = frozenset({CauseKind.LEADER_REJOINED, CauseKind.UNEXPLAINED, CauseKind.STATIC_RESTART})


class Departure(NamedTuple):
    """The group takes a member out; its partitions were read by nobody for `unread_ms` before."""

    key: int
    kind: CauseKind
    unread_ms: int


class Absence(NamedTuple):
    """A member was away for `unread_ms` and kept its partitions; `back` is who it is now, if it came back."""

    key: int
    back: Stay | None
    unread_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What happens at one time. `rebalances` unless only absences end.

    `place` is the generation whose topics and subscriptions hold. Members go by a key, which a process that
    comes back without a rebalance keeps. `others` are causes that are not about who is there. `recorded`
    is False for what happens at another time than in the log.
    """

    place: int
    at_ms: int | None
    joins: tuple[tuple[int, Stay], ...] = ()
    departures: tuple[Departure, ...] = ()
    absences: tuple[Absence, ...] = ()
    others: tuple[CauseKind, ...] = ()
    rebalances: bool = True
    recorded: bool = True


@dataclass(slots=True, kw_only=True)
class Schedule:
    """All moments in order, and what had to be supposed for them, counted."""

    moments: list[Moment]
    unknown_departures: int = 0
    untimed: int = 0
    restarts: int = 0
    defaulted_sessions: int = 0


def recorded_schedule(timeline: Timeline) -> Schedule:
    """The generations as they were."""
    return _Scheduler(timeline, Changes()).schedule(keep_all=True)


def changed_schedule(timeline: Timeline, changes: Changes) -> Schedule:
    """Only the rebalances that would have been, at the times at which they would have been."""
    return _Scheduler(timeline, changes).schedule(keep_all=False)


class _Scheduler:
    def __init__(self, timeline: Timeline, changes: Changes) -> None:
        self._generations = timeline.generations
        self._changes = changes
        self._stays = stays_of(timeline.generations)
        times = [g.roster.at_ms for g in timeline.generations if g.roster.at_ms is not None]
        self._end_ms = max(
            [*times, *([timeline.last_commit_ms] if timeline.last_commit_ms else [])], default=0
        )
        self._found = Schedule(moments=[])
        self._key = list(range(len(self._stays)))
        self._joins: defaultdict[int, list[tuple[int, Stay]]] = defaultdict(list)
        self._departures: defaultdict[int, list[Departure]] = defaultdict(list)
        self._elsewhere: list[Moment] = []

    def schedule(self, *, keep_all: bool) -> Schedule:
        resumed = {} if keep_all else self._restarts()
        back = set(resumed.values())
        for number, stay in enumerate(self._stays):
            if number not in back:
                self._joins[stay.first].append((self._key[number], stay))
            if number in resumed:
                self._resume(number, resumed[number])
            elif stay.end is not None:
                self._depart(number, stay)
        moments = [self._moment(place) for place in range(len(self._generations))]
        kept = [moment for moment in moments if keep_all or _has_reason(moment)]
        self._found.moments = _in_time([*kept, *self._elsewhere])
        return self._found

    def _restarts(self) -> dict[int, int]:
        """Stay -> the stay of the same static process that takes it up, by number."""
        ended: defaultdict[str, list[int]] = defaultdict(list)
        resumed: dict[int, int] = {}
        for number, stay in enumerate(self._stays):
            for earlier in ended[stay.process]:
                end = self._stays[earlier].end
                if end is None or end > stay.first or not self._is_in_time(self._stays[earlier], stay):
                    continue
                ended[stay.process].remove(earlier)
                resumed[earlier] = number
                self._key[number] = self._key[earlier]
                break
            ended[stay.process].append(number)
        return resumed

    def _is_in_time(self, earlier: Stay, later: Stay) -> bool:
        gone_ms, back_ms = self._gone_ms(earlier), self._generations[later.first].roster.at_ms
        if not self._waits_for(earlier) or gone_ms is None or back_ms is None:
            return False
        return back_ms - gone_ms < self._session_ms(earlier)

    def _waits_for(self, stay: Stay) -> bool:
        """Whether the group waits for it to come back: it is static, and nobody took it out."""
        if stay.member(stay.first).instance_id:
            return stay.departure is CauseKind.SESSION_EXPIRED
        return self._changes.static

    def _gone_ms(self, stay: Stay) -> int | None:
        """When it was there last, as far as that is known."""
        assert stay.end is not None
        noticed_ms = self._generations[stay.end].roster.at_ms
        if noticed_ms is None or stay.departure is not CauseKind.SESSION_EXPIRED:
            return noticed_ms
        return noticed_ms - self._recorded_session_ms(stay)

    def _recorded_session_ms(self, stay: Stay) -> int:
        said = stay.seen[-1].session_timeout_ms
        return DEFAULT_SESSION_MS if said is None else said

    def _session_ms(self, stay: Stay) -> int:
        said = self._changes.session_timeout_ms
        return self._recorded_session_ms(stay) if said is None else said

    def _resume(self, number: int, successor: int) -> None:
        stay, back = self._stays[number], self._stays[successor]
        gone_ms, back_ms = self._gone_ms(stay), self._generations[back.first].roster.at_ms
        assert gone_ms is not None and back_ms is not None
        self._found.restarts += 1
        absence = Absence(self._key[number], back, back_ms - gone_ms)
        self._elsewhere.append(
            Moment(place=back.first, at_ms=back_ms, absences=(absence,), rebalances=False, recorded=False)
        )

    def _depart(self, number: int, stay: Stay) -> None:
        assert stay.end is not None and stay.departure is not None
        key, kind = self._key[number], stay.departure
        expired = kind is CauseKind.SESSION_EXPIRED
        self._found.unknown_departures += kind is CauseKind.MEMBER_GONE
        self._found.defaulted_sessions += expired and stay.seen[-1].session_timeout_ms is None
        waits = expired or self._waits_for(stay)
        gone_ms, noticed_ms = self._gone_ms(stay), self._generations[stay.end].roster.at_ms
        if waits and (gone_ms is None or noticed_ms is None):
            self._found.untimed += 1
        session_ms = self._session_ms(stay) if waits else 0
        if gone_ms is None or noticed_ms is None or gone_ms + session_ms == noticed_ms:
            self._departures[stay.end].append(Departure(key, kind, session_ms))
            return
        self._elsewhere.append(self._expiry(key, stay.first, gone_ms, session_ms))

    def _expiry(self, key: int, first: int, gone_ms: int, session_ms: int) -> Moment:
        if gone_ms + session_ms > self._end_ms:
            still_gone = Absence(key, None, max(self._end_ms - gone_ms, 0))
            place = len(self._generations) - 1
            return Moment(
                place=place, at_ms=self._end_ms, absences=(still_gone,), rebalances=False, recorded=False
            )
        at_ms = gone_ms + session_ms
        place = max(
            (
                number
                for number, generation in enumerate(self._generations)
                if generation.roster.at_ms is not None and generation.roster.at_ms <= at_ms
            ),
            default=first,
        )
        departure = Departure(key, CauseKind.SESSION_EXPIRED, session_ms)
        return Moment(place=place, at_ms=at_ms, departures=(departure,), recorded=False)

    def _moment(self, place: int) -> Moment:
        generation = self._generations[place]
        ignored = set(_MEMBERSHIP)
        if self._changes.assignor or self._changes.protocol:
            ignored |= _CHOICE_OF_ASSIGNOR
        if self._changes.protocol is Protocol.SERVER:
            ignored |= _LEADERS
        kinds = dict.fromkeys(cause.kind for cause in generation.causes if cause.kind not in ignored)
        return Moment(
            place=place,
            at_ms=generation.roster.at_ms,
            joins=tuple(self._joins[place]),
            departures=tuple(self._departures[place]),
            others=tuple(kinds),
        )


def _has_reason(moment: Moment) -> bool:
    return bool(moment.joins or moment.departures or moment.others)


def _in_time(moments: Sequence[Moment]) -> list[Moment]:
    """By time, generations in their order; one without a time belongs to that of the generation before."""
    begun: list[int] = []
    times: dict[int, int] = {}
    for moment in moments:
        if moment.recorded:
            begun.append(max(moment.at_ms or 0, *begun[-1:], 0))
            times[moment.place] = begun[-1]

    def key(moment: Moment) -> tuple[int, bool, int]:
        at_ms = times[moment.place] if moment.recorded else moment.at_ms
        return at_ms or 0, moment.recorded, moment.place

    return sorted(moments, key=key)
