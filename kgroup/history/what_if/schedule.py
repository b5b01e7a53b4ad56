"""The times of a group's rebalances: its recorded joins and leaves, with members configured differently."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from kgroup.assignors.registry import Protocol
from kgroup.history.timeline.model import CauseKind, Generation, Timeline
from kgroup.history.what_if.changes import DEFAULT_SESSION_MS, Changes
from kgroup.history.what_if.stays import DEPARTURES, Stay, stays_of

_MEMBERSHIP: Final = DEPARTURES | {
    CauseKind.FIRST_JOIN,
    CauseKind.JOIN,
    CauseKind.COOPERATIVE_FOLLOW_UP,
    CauseKind.HISTORY_CUT,
}
_CHOICE_OF_ASSIGNOR: Final = frozenset({CauseKind.ASSIGNOR_CHANGED, CauseKind.PROTOCOL_MIGRATED})
# What makes a leader call for a round, and a coordinator that assigns by itself does without.
_LEADERS: Final = frozenset(
    {
        CauseKind.LEADER_REJOINED,
        CauseKind.COORDINATOR_MOVED,
        CauseKind.PENDING_MEMBER,
        CauseKind.UNEXPLAINED,
        CauseKind.STATIC_RESTART,
    }
)


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
    """The events of one time. `rebalances` unless only absences end.

    `index` is that of the generation whose topics and subscriptions hold. Members go by a key, which a
    process that comes back without a rebalance keeps. `others` are causes that are not about who is there.
    `recorded` is False for events at another time than in the log. `ahead` is the one who comes before the
    others, and is given what is free while they wait.
    """

    index: int
    at_ms: int | None
    joins: tuple[tuple[int, Stay], ...] = ()
    departures: tuple[Departure, ...] = ()
    absences: tuple[Absence, ...] = ()
    others: tuple[CauseKind, ...] = ()
    rebalances: bool = True
    recorded: bool = True
    ahead: int | None = None


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
    """The rebalances that would have happened, at the times they would have happened."""
    return _Scheduler(timeline, changes).schedule(keep_all=False)


class _Scheduler:
    def __init__(self, timeline: Timeline, changes: Changes) -> None:
        self._generations = timeline.generations
        self._changes = changes
        self._stays = stays_of(timeline.generations)
        self._times = list(_times(timeline.generations))
        ends = [at_ms for at_ms in (timeline.last_commit_ms, *self._times[-1:]) if at_ms is not None]
        self._end_ms = max(ends, default=0)
        self._schedule = Schedule(moments=[])
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
        moments = [self._moment(index) for index in range(len(self._generations))]
        kept = [moment for moment in moments if keep_all or _has_reason(moment)]
        self._schedule.moments = sorted([*kept, *self._elsewhere], key=self._in_time)
        return self._schedule

    def _in_time(self, moment: Moment) -> tuple[int, bool, int]:
        at_ms = self._times[moment.index] if moment.recorded else moment.at_ms
        return at_ms or 0, moment.recorded, moment.index

    def _restarts(self) -> dict[int, int]:
        """Stay -> the stay of the same static process that takes it up, by number."""
        waited_for: defaultdict[str, list[int]] = defaultdict(list)
        resumed: dict[int, int] = {}
        for number, stay in enumerate(self._stays):
            possible = [n for n in waited_for[stay.process] if self._may_come_back(self._stays[n], stay)]
            back_from = next((n for n in possible if (self._stays[n].end or 0) <= stay.first), None)
            if back_from is not None:
                possible.remove(back_from)
                resumed[back_from] = number
                self._key[number] = self._key[back_from]
            waited_for[stay.process] = possible
            if stay.end is not None and self._waits_for(stay):
                waited_for[stay.process].append(number)
        return resumed

    def _may_come_back(self, earlier: Stay, later: Stay) -> bool:
        """Whether the session of one is not over when the other joins; it may not even have gone by then."""
        gone_ms, back_ms = self._gone_ms(earlier), self._times[later.first]
        return gone_ms is not None and back_ms is not None and back_ms < gone_ms + self._session_ms(earlier)

    def _waits_for(self, stay: Stay) -> bool:
        """Whether the group waits for it to come back: it is static, and nobody took it out."""
        if stay.member(stay.first).instance_id:
            return stay.departure is CauseKind.SESSION_EXPIRED
        return self._changes.static

    def _gone_ms(self, stay: Stay) -> int | None:
        """The last time it was there, as far as that is known."""
        assert stay.end is not None
        noticed_ms, joined_ms = self._times[stay.end], self._times[stay.first]
        if noticed_ms is None or stay.departure is not CauseKind.SESSION_EXPIRED:
            return noticed_ms
        return max(noticed_ms - self._recorded_session_ms(stay), joined_ms or 0)

    def _recorded_session_ms(self, stay: Stay) -> int:
        said = stay.seen[-1].session_timeout_ms
        return DEFAULT_SESSION_MS if said is None else said

    def _session_ms(self, stay: Stay) -> int:
        said = self._changes.session_timeout_ms
        return self._recorded_session_ms(stay) if said is None else said

    def _resume(self, number: int, successor: int) -> None:
        stay, back = self._stays[number], self._stays[successor]
        gone_ms, back_ms = self._gone_ms(stay), self._times[back.first]
        assert gone_ms is not None and back_ms is not None
        self._schedule.restarts += 1
        absence = Absence(self._key[number], back, back_ms - gone_ms)
        self._elsewhere.append(
            Moment(index=back.first, at_ms=back_ms, absences=(absence,), rebalances=False, recorded=False)
        )

    def _depart(self, number: int, stay: Stay) -> None:
        assert stay.end is not None and stay.departure is not None
        key, kind = self._key[number], stay.departure
        expired = kind is CauseKind.SESSION_EXPIRED
        self._schedule.unknown_departures += kind is CauseKind.MEMBER_GONE
        self._schedule.defaulted_sessions += expired and stay.seen[-1].session_timeout_ms is None
        gone_ms, noticed_ms = self._gone_ms(stay), self._times[stay.end]
        if gone_ms is None or noticed_ms is None:
            self._schedule.untimed += expired or self._waits_for(stay)
            self._departures[stay.end].append(Departure(key, kind, 0))
        elif not (expired or self._waits_for(stay)):
            self._departures[stay.end].append(Departure(key, kind, 0))
        elif expired and self._session_ms(stay) == self._recorded_session_ms(stay):
            self._departures[stay.end].append(Departure(key, kind, noticed_ms - gone_ms))
        else:
            self._elsewhere.append(self._expiry(key, gone_ms, self._session_ms(stay)))

    def _expiry(self, key: int, gone_ms: int, session_ms: int) -> Moment:
        if gone_ms + session_ms > self._end_ms:
            still_gone = Absence(key, None, max(self._end_ms - gone_ms, 0))
            index = len(self._generations) - 1
            return Moment(
                index=index, at_ms=self._end_ms, absences=(still_gone,), rebalances=False, recorded=False
            )
        at_ms = gone_ms + session_ms
        index = bisect_right(self._times, at_ms, key=lambda time: time or 0) - 1
        departure = Departure(key, CauseKind.SESSION_EXPIRED, session_ms)
        return Moment(index=index, at_ms=at_ms, departures=(departure,), recorded=False)

    def _moment(self, index: int) -> Moment:
        generation = self._generations[index]
        ignored = set(_MEMBERSHIP)
        if self._changes.names_assignor:
            ignored |= _CHOICE_OF_ASSIGNOR
        if self._changes.named_protocol is Protocol.SERVER:
            ignored |= _LEADERS
        kinds = dict.fromkeys(cause.kind for cause in generation.causes if cause.kind not in ignored)
        return Moment(
            index=index,
            at_ms=generation.roster.at_ms,
            joins=tuple(self._joins[index]),
            departures=tuple(self._departures[index]),
            others=tuple(kinds),
        )


def _has_reason(moment: Moment) -> bool:
    return bool(moment.joins or moment.departures or moment.others)


def _times(generations: Sequence[Generation]) -> Iterator[int | None]:
    """The time each generation began, or the one before where no time was logged; never going back."""
    time: int | None = None
    for generation in generations:
        at_ms = generation.roster.at_ms
        time = at_ms if time is None or (at_ms is not None and at_ms > time) else time
        yield time
