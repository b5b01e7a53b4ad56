"""Makes the plan that plays a group's timeline and commits again.

A record of the log says when a round ended; what began it came before. So acts come `_LEAD_MS` before the
record that shows them, in which a round of quick heartbeats ends, or half the time since the round before if
that is shorter.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kgroup.assignors.registry import CLIENT_ASSIGNORS
from kgroup.durations import lasting
from kgroup.errors import InputError, nearest_or_all
from kgroup.history.groups.model import GroupKind
from kgroup.history.reenactment.commits import SeenCommit
from kgroup.history.reenactment.model import (
    Act,
    CommitOffsets,
    Die,
    Grow,
    Join,
    Leave,
    MoveCoordinator,
    Plan,
    PlannedMember,
    PlannedTopic,
    Produce,
    Rejoin,
    Resubscribe,
    Stall,
)
from kgroup.history.timeline.model import CauseKind, Generation, Partition, Timeline, TimelineMember
from kgroup.history.timeline.silences import DEFAULT_SESSION_MS
from kgroup.history.what_if.stays import Stay, stays_of

RECORDS_MAX: Final = 50_000
_LEAD_MS: Final = 20
_BEFORE_FIRST_MS: Final = 500
_EXPIRY_LATE_MS: Final = 150
_SILENT_MS: Final = 300
_STATIC_AWAY_MS: Final = 50
_AFTER_END_MS: Final = 1_000
_METADATA_MAX_AGE_MS: Final = 500
_HEARTBEAT_MS: Final = 200
_ORDER: Final = (Grow, MoveCoordinator, Produce, CommitOffsets, Resubscribe, Rejoin, Stall, Die, Leave, Join)
"""At the same time: what goes before what comes, and commits before both."""
_NO_CHANGE: Final = frozenset({CauseKind.UNEXPLAINED, CauseKind.LEADER_REJOINED})
_STALLS: Final = frozenset({CauseKind.POLL_INTERVAL_EXCEEDED, CauseKind.REBALANCE_TIMEOUT})


def plan_of(
    timeline: Timeline,
    commits: Sequence[SeenCommit],
    *,
    since_ms: int | None = None,
    until_ms: int | None = None,
    partitions: Mapping[str, int] | None = None,
) -> Plan:
    """The plan of a classic consumer group, from `since_ms` until before `until_ms` (epoch ms).

    Who was there at `since_ms` joins at the start. `partitions` of topics at the start win if they are more
    than the log shows. Raises InputError for a group that cannot be played: one of
    another kind, without members, or with nothing in that time.
    """
    name = timeline.group_id
    if not timeline.generations:
        raise InputError(f"group {name}: no members in this log, so there is nothing to play again")
    for generation in timeline.generations:
        if generation.roster.kind is not GroupKind.CLASSIC:
            raise InputError(
                f"group {name}: a {generation.roster.kind} group; only classic ones can be re-enacted"
            )
        if generation.roster.protocol_type not in ("consumer", ""):
            spoken = generation.roster.protocol_type
            raise InputError(
                f"group {name}: its members are not consumers, their protocol type is {spoken!r}"
            )
    generations, times = window(timeline.generations, since_ms, until_ms)
    if not any(generation.roster.members for generation in generations):
        raise InputError(f"group {name}: no members in that time")
    return _Planner(timeline, generations, times, commits, until_ms, partitions or {}).plan()


def window(
    generations: Sequence[Generation], since_ms: int | None, until_ms: int | None
) -> tuple[list[Generation], list[int]]:
    """The generations of a time, with that in force at its beginning, and when each was stored.

    One without a time is taken for a second later than the one before.
    """
    times: list[int] = []
    for generation in generations:
        at_ms = generation.roster.at_ms
        times.append(at_ms if at_ms is not None else (times[-1] + 1_000 if times else 0))
    first, end = 0, len(times)
    if since_ms is not None:
        first = max(bisect_right(times, since_ms) - 1, 0)
        times = [max(at_ms, since_ms) for at_ms in times]
    if until_ms is not None:
        end = next((place for place, at_ms in enumerate(times) if at_ms >= until_ms), end)
    return list(generations[first:end]), times[first:end]


@dataclass(slots=True)
class _Presence:
    """A stay with the name of the member whose it is."""

    stay: Stay
    name: str


class _Planner:
    def __init__(
        self,
        timeline: Timeline,
        generations: list[Generation],
        times: list[int],
        commits: Sequence[SeenCommit],
        until_ms: int | None,
        partitions: Mapping[str, int],
    ) -> None:
        self._partitions = partitions
        self._timeline = timeline
        self._generations = generations
        self._times = times
        self._until_ms = until_ms
        first = generations[0].roster.offset
        self._commits = [
            commit
            for commit in commits
            if commit.log_offset > first
            and commit.at_ms >= times[0]
            and (until_ms is None or commit.at_ms < until_ms)
        ]
        self._notes: list[str] = []
        self._acts: list[Act] = []
        self._presences = _named(stays_of(generations))
        self._owners = self._members_by_id()
        self._last_ms: dict[tuple[str, int], int] = {}
        self._leaves: dict[int, list[str]] = defaultdict(list)
        self._grows = False
        self._start_ms = 0

    def plan(self) -> Plan:
        """All of it."""
        self._start_ms = self._times[0] - _BEFORE_FIRST_MS
        beats, thinned = self._beats()
        topics = self._topics()
        for presence in self._presences:
            self._play(presence)
        for place, names in self._leaves.items():
            # At once, so that it is one round, and no sooner than the last of them has committed.
            at_ms = max(self._after_commits(name, place, self._before(place)) for name in names)
            self._acts += [Leave(at_ms=at_ms, member=name) for name in names]
        self._moves()
        self._rejoins()
        self._acts += beats
        end_ms = max([*self._times, *(commit.at_ms for commit in self._commits)])
        acts = sorted(
            (replace(act, at_ms=max(act.at_ms - self._start_ms, 0)) for act in self._acts),
            key=lambda act: (act.at_ms, _ORDER.index(type(act))),
        )
        return Plan(
            group_id=self._timeline.group_id,
            start_ms=self._start_ms,
            duration_ms=end_ms - self._start_ms + _AFTER_END_MS,
            topics=topics,
            members=self._members(),
            acts=tuple(acts),
            thinned=thinned,
            heartbeat_ms=_HEARTBEAT_MS,
            metadata_max_age_ms=_METADATA_MAX_AGE_MS if self._grows else 300_000,
            notes=tuple(dict.fromkeys(self._notes)),
        )

    def _lead(self, place: int) -> int:
        if place == 0:
            return _BEFORE_FIRST_MS // 2
        return max(min(_LEAD_MS, (self._times[place] - self._times[place - 1]) // 2), 0)

    def _before(self, place: int) -> int:
        """The time at which the events that led to a generation are to happen."""
        return self._times[place] - self._lead(place)

    # ---- members ----------------------------------------------------------------------------------

    def _members_by_id(self) -> dict[str, str]:
        return {
            member.member_id: presence.name for presence in self._presences for member in presence.stay.seen
        }

    def _members(self) -> tuple[PlannedMember, ...]:
        topics: dict[str, set[str]] = defaultdict(set)
        for presence in self._presences:
            for member in presence.stay.seen:
                topics[presence.name].update(self._subscribed(member))
        first = {presence.name: presence.stay.seen[0] for presence in reversed(self._presences)}
        return tuple(
            PlannedMember(
                name=name,
                client_id=member.client_id,
                client_host=member.client_host,
                instance_id=member.instance_id,
                topics=tuple(sorted(topics[name])),
            )
            for name, member in sorted(first.items())
        )

    def _subscribed(self, member: TimelineMember) -> tuple[str, ...]:
        topics = member.subscribed or {partition.topic for partition in member.owned}
        return tuple(sorted(topics or self._all_topics()))

    def _all_topics(self) -> set[str]:
        members = [member for each in self._generations for member in each.roster.members]
        topics = {topic for member in members for topic in member.subscribed or ()}
        topics |= {partition.topic for member in members for partition in member.owned}
        topics |= {commit.partition.topic for commit in self._commits}
        if not topics:
            raise InputError(f"group {self._timeline.group_id}: its log names no topic")
        return topics

    def _assignors(self, stay: Stay) -> tuple[str, ...]:
        """The assignors agreed on while it was there, the last one first: it must have asked for each."""
        end = len(self._generations) if stay.end is None else stay.end
        agreed = [self._generations[place].roster.protocol for place in range(stay.first, end)]
        names = [name for name in dict.fromkeys(reversed(agreed)) if name]
        for name in names:
            if name not in CLIENT_ASSIGNORS:
                self._notes.append(f"assignor {name} is not known here: range instead")
        return tuple(dict.fromkeys(name if name in CLIENT_ASSIGNORS else "range" for name in names)) or (
            "range",
        )

    def _play(self, presence: _Presence) -> None:
        stay, name = presence.stay, presence.name
        assignors = self._assignors(stay)
        self._join(name, stay.first, stay.seen[0], assignors)
        for before, (step, member) in zip(stay.seen, list(enumerate(stay.seen))[1:], strict=False):
            place = stay.first + step
            if member.member_id != before.member_id:
                away_ms = self._after_commits(name, place, self._before(place) - _STATIC_AWAY_MS)
                self._acts.append(Die(at_ms=away_ms, member=name))
                self._join(name, place, member, assignors, not_before_ms=away_ms + 1)
            elif member.subscribed != before.subscribed:
                topics = self._subscribed(member)
                self._acts.append(Resubscribe(at_ms=self._before(place), member=name, topics=topics))
        if stay.end is not None:
            self._depart(name, stay, stay.end)

    def _join(
        self,
        name: str,
        place: int,
        member: TimelineMember,
        assignors: tuple[str, ...],
        not_before_ms: int = 0,
    ) -> None:
        session_ms = member.session_timeout_ms or DEFAULT_SESSION_MS
        self._acts.append(
            Join(
                at_ms=max(self._before(place), not_before_ms),
                member=name,
                topics=self._subscribed(member),
                assignors=assignors,
                session_timeout_ms=session_ms,
                max_poll_interval_ms=member.rebalance_timeout_ms or session_ms,
            )
        )

    def _depart(self, name: str, stay: Stay, end: int) -> None:
        member, before_ms = stay.seen[-1], self._before(end)
        session_ms = member.session_timeout_ms or DEFAULT_SESSION_MS
        last_ms = self._last_commit_ms(name, end)
        cause = stay.departure
        if cause is CauseKind.MEMBER_GONE or cause is None:
            is_silent = last_ms is not None and self._times[end] - last_ms >= session_ms + _SILENT_MS
            cause = CauseKind.SESSION_EXPIRED if is_silent else CauseKind.LEAVE
            after = lasting(self._times[end] - self._start_ms)
            self._notes.append(f"how {member.client_id} went {after} after the start is not known")
        if cause is CauseKind.LEAVE:
            self._leaves[end].append(name)
            return
        there_ms = self._times[stay.first] + 1
        if cause in _STALLS:
            waits_ms = member.rebalance_timeout_ms or session_ms
            since_ms = max(before_ms - waits_ms, there_ms)
            duration_ms = waits_ms + 2 * _SILENT_MS
            self._acts.append(Stall(at_ms=since_ms, member=name, duration_ms=duration_ms))
            return
        since_ms = max(self._times[end] - session_ms + _EXPIRY_LATE_MS, there_ms)
        self._acts.append(Die(at_ms=self._after_commits(name, end, since_ms), member=name))

    def _after_commits(self, name: str, place: int, at_ms: int) -> int:
        """This time, or as soon as its last commit before a generation is done."""
        last_ms = self._last_commit_ms(name, place)
        return (
            at_ms if last_ms is None else min(max(at_ms, last_ms + 10), max(self._times[place] - 10, at_ms))
        )

    def _last_commit_ms(self, name: str, place: int) -> int | None:
        """The time of the member's last commit in the generation before."""
        return self._last_ms.get((name, place - 1))

    def _moves(self) -> None:
        for occurrence in self._timeline.occurrences:
            at_ms = occurrence.at_ms
            if at_ms is None or at_ms < self._start_ms or (self._until_ms and at_ms >= self._until_ms):
                continue
            if occurrence.cause.kind is CauseKind.COORDINATOR_MOVED:
                self._acts.append(MoveCoordinator(at_ms=at_ms))

    def _rejoins(self) -> None:
        """Plan the start of generations without any change: only a leader's join makes such a round."""
        for place, generation in enumerate(self._generations):
            kinds = {cause.kind for cause in generation.causes}
            leader = self._generations[place - 1].roster.leader
            if place and kinds and kinds <= _NO_CHANGE and leader in self._owners:
                self._acts.append(Rejoin(at_ms=self._before(place), member=self._owners[leader]))

    # ---- topics and records -----------------------------------------------------------------------

    def _topics(self) -> tuple[PlannedTopic, ...]:
        counts = dict.fromkeys(sorted(self._all_topics()), 1)
        now: dict[str, int] = {}
        for place, generation in enumerate(self._generations):
            grew = place > 0 and any(cause.kind is CauseKind.TOPIC_GREW for cause in generation.causes)
            for topic, count in _counts(each for m in generation.roster.members for each in m.owned).items():
                if count <= now.get(topic, 0):
                    continue
                if grew and topic in now:
                    self._grows = True
                    at_ms = self._before(place) - _METADATA_MAX_AGE_MS // 2
                    self._acts.append(Grow(at_ms=at_ms, topic=topic, partitions=count))
                elif not any(isinstance(act, Grow) and act.topic == topic for act in self._acts):
                    counts[topic] = count
                now[topic] = count
        if not self._grows:
            for topic, count in _counts(commit.partition for commit in self._commits).items():
                counts[topic] = max(counts[topic], count)
        for topic, count in self._partitions.items():
            if topic not in counts:
                raise InputError(
                    f"topic {topic}: this group does not read it; {nearest_or_all(topic, counts)}"
                )
            counts[topic] = max(counts[topic], count)
        return tuple(PlannedTopic(name=topic, partitions=count) for topic, count in counts.items())

    def _beats(self) -> tuple[list[Act], int]:
        """Commits by the member that owned the partition, and the records that they show to have come."""
        offsets: dict[Partition, set[int]] = defaultdict(set)
        for commit in self._commits:
            offsets[commit.partition].add(commit.offset)
        read = sum(max(each) - min(each) for each in offsets.values())
        thinned = max(1, -(-read // RECORDS_MAX))
        shown = {partition: _thin(sorted(each), thinned) for partition, each in offsets.items()}
        places = [generation.roster.offset for generation in self._generations]
        beats: dict[tuple[int, str], dict[Partition, int]] = defaultdict(dict)
        acts: list[Act] = []
        ends: dict[Partition, int] = {}
        unowned = 0
        for commit in self._commits:
            place = bisect_right(places, commit.log_offset) - 1
            offset = shown[commit.partition][commit.offset]
            come = offset - ends.get(commit.partition, 0)
            if come > 0:
                ends[commit.partition] = offset
                at_ms = max(commit.at_ms - 1, self._start_ms)
                acts.append(Produce(at_ms=at_ms, partition=commit.partition, records=come))
            owner = self._generations[place].roster.owner_of(commit.partition)
            if owner is None:
                unowned += 1
                continue
            name = self._owners[owner.member_id]
            beats[commit.at_ms, name][commit.partition] = offset
            self._last_ms[name, place] = commit.at_ms
        if unowned:
            self._notes.append(f"{unowned} commits of partitions that no member owned are left out")
        if thinned > 1:
            self._notes.append(f"about one of {thinned} records is produced")
        acts += [
            CommitOffsets(at_ms=at_ms, member=name, offsets=tuple(sorted(of.items())))
            for (at_ms, name), of in beats.items()
        ]
        return acts, thinned


def _named(stays: Sequence[Stay]) -> list[_Presence]:
    """Each stay with a name: that of its process, with a number where two of a name are there at once."""
    ends: dict[str, list[int | None]] = {}
    presences = []
    for stay in stays:
        slots = ends.setdefault(stay.process, [])
        slot = next((n for n, end in enumerate(slots) if end is not None and end <= stay.first), len(slots))
        slots[slot : slot + 1] = [stay.end]
        presences.append(_Presence(stay, stay.process if slot == 0 else f"{stay.process}#{slot + 1}"))
    return presences


def _counts(partitions: Iterable[Partition]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for topic, partition in partitions:
        counts[topic] = max(counts.get(topic, 0), partition + 1)
    return counts


def _thin(offsets: Sequence[int], thinned: int) -> dict[int, int]:
    """Offsets in order -> offsets from 0 on, nearer to each other and still in that order."""
    shown, last, now = {}, offsets[0], 0
    for offset in offsets:
        if offset > last:
            now += max(1, (offset - last) // thinned)
        shown[offset] = now
        last = offset
    return shown
