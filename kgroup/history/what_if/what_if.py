"""The cost of a group's history with another assignor, protocol or member configuration.

Both sides are played by the same rules over the same comings and goings: the recorded one with the
assignments of the log, the supposed one with those that Kafka's assignor computes, each from its own
assignment before. What is supposed beyond that is said in `Comparison.assumptions`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kgroup.assignors.model import Assignment, Topic
from kgroup.assignors.planning.plan import GroupPlan, PlanMember
from kgroup.assignors.planning.rounds import Round, run_rounds
from kgroup.assignors.planning.score import Score, score
from kgroup.assignors.registry import ASSIGNORS, Protocol
from kgroup.errors import InputError
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import CauseKind, Timeline
from kgroup.history.what_if.assumptions import assumptions
from kgroup.history.what_if.changes import Changes
from kgroup.history.what_if.circumstances import Circumstances, circumstances
from kgroup.history.what_if.classic_rounds import in_rounds
from kgroup.history.what_if.outcome import Outcome, PlayedRound, moves_of, outcome_of
from kgroup.history.what_if.schedule import Moment, Schedule, changed_schedule, recorded_schedule
from kgroup.history.what_if.stays import Stay
from kgroup.protocol.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A group as recorded and as supposed."""

    group_id: str
    recorded: Outcome
    supposed: Outcome
    assumptions: tuple[str, ...]


def what_if(timeline: Timeline, changes: Changes) -> Comparison:
    """Play a group's history again under `changes`.

    Raises InputError for a group whose members get no partitions by Kafka's assignors (of another protocol
    type, a share or streams group), for one that uses an assignor of its own while `changes` name none, and
    for partitions of a topic that nobody subscribes to.
    """
    _check(timeline, changes)
    of_generations = circumstances(timeline.generations)
    as_recorded, as_supposed = recorded_schedule(timeline), changed_schedule(timeline, changes)
    unchanged = Changes(pause_ms=changes.pause_ms)
    recorded = _Player(timeline, unchanged, of_generations, replay=True).play(as_recorded)
    if changes.leaves_epochs:
        kinds = [timeline.generations[moment.index].roster.kind for moment in as_supposed.moments]
        of_epochs = [kind is GroupKind.CONSUMER for kind in kinds]
        as_supposed.moments = list(in_rounds(as_supposed.moments, of_epochs))
    supposed = _Player(timeline, changes, of_generations, replay=False).play(as_supposed)
    return Comparison(
        group_id=timeline.group_id,
        recorded=recorded,
        supposed=supposed,
        assumptions=tuple(assumptions(timeline, changes, of_generations, as_supposed)),
    )


def _check(timeline: Timeline, changes: Changes) -> None:
    group = f"group '{timeline.group_id}'"
    rosters = [generation.roster for generation in timeline.generations if generation.roster.members]
    if not rosters:
        raise InputError(f"{group}: no generation with members is in the log")
    for roster in rosters:
        if roster.kind not in (GroupKind.CLASSIC, GroupKind.CONSUMER):
            raise InputError(f"{group} is a {roster.kind} group: what-if knows classic and consumer groups")
        if roster.kind is GroupKind.CLASSIC and roster.protocol_type != "consumer":
            raise InputError(
                f"{group} has protocol type '{roster.protocol_type}': its members get no partitions"
            )
    if not changes.names_assignor:
        for each, generation in zip(circumstances(timeline.generations), timeline.generations, strict=True):
            if generation.roster.members and each.assignor is None:
                raise InputError(
                    f"{group} used the assignor '{generation.roster.protocol}' in generation "
                    f"{generation.roster.generation}, not one of Kafka's: say --assignor"
                )
    topics = {t for roster in rosters for member in roster.members for t in member.subscribed or ()}
    for topic in changes.partitions:
        if topic not in topics:
            named = ", ".join(sorted(topics))
            raise InputError(f"{group}: nobody subscribes to '{topic}'; its topics are {named}")


class _Player:
    """Plays one side, moment by moment. Members go by the keys of the schedule."""

    def __init__(
        self, timeline: Timeline, changes: Changes, given: Sequence[Circumstances], *, replay: bool
    ) -> None:
        self._generations = timeline.generations
        self._topic_ids = timeline.topic_ids
        self._changes = changes
        self._circumstances = given
        self._replay = replay
        self._stays: dict[int, Stay] = {}
        self._members: dict[int, PlanMember] = {}
        self._held: dict[str, tuple[TopicPartition, ...]] = {}  # where it is not what a member shall have
        self._readers: dict[TopicPartition, str] = {}
        self._number = 0
        self._rounds: list[PlayedRound] = []
        self._absent_ms = 0

    def play(self, schedule: Schedule) -> Outcome:
        """The moments, in order; then the sums."""
        for moment in schedule.moments:
            for absence in moment.absences:
                self._absent_ms += absence.unread_ms * self._count_owned(absence.key)
                if absence.back is not None:
                    self._come_back(absence.key, absence.back)
            if moment.rebalances:
                for part in self._one_ahead(moment):
                    self._rebalance(part)
        return outcome_of(self._rounds, self._absent_ms)

    def _come_back(self, key: int, back: Stay) -> None:
        """A static member has a new id, and in the coordinator's map the last place."""
        del self._stays[key]
        self._stays[key] = back
        if key in self._members:
            self._members[key] = self._members.pop(key)

    def _one_ahead(self, moment: Moment) -> Iterator[Moment]:
        """The moment; in parts where the coordinator has a target for the first who comes, and one for all.

        A classic round includes all members that come while it lasts. A coordinator that assigns does not
        wait, and for those who come within `group.consumer.assignment.interval.ms` of the first, a second
        (KIP-1263), not at all until that is over.
        """
        roster = self._generations[moment.index].roster
        if (
            self._replay
            or len(moment.joins) < 2
            or roster.kind is not GroupKind.CLASSIC
            or not self._coordinator_assigns(moment.index)
            or (moment.index == 0 and self._begins_in_the_middle())
        ):
            yield moment
            return
        first, *others = sorted(
            moment.joins, key=lambda join: join[1].member(moment.index).member_id != roster.leader
        )
        yield replace(moment, joins=(first,), ahead=first[0])
        yield replace(moment, joins=tuple(others), departures=(), others=())

    def _count_owned(self, key: int) -> int:
        member = self._members.get(key)
        return len(member.owned) if member else 0

    def _rebalance(self, moment: Moment) -> None:
        reason = self._reason(moment)
        departed = unread_ms = 0
        for departure in moment.departures:
            count = self._count_owned(departure.key)
            departed += count
            unread_ms += departure.unread_ms * count
            self._stays.pop(departure.key, None)
            self._members.pop(departure.key, None)
        self._stays.update(moment.joins)
        plan = self._plan(moment.index)
        if not plan.members:
            self._readers.clear()
            self._absent_ms += unread_ms
            return
        if moment.index == 0 and self._begins_in_the_middle():
            recorded = self._recorded_assignment(0)
            self._take(recorded, recorded)
            return
        given = self._circumstances[moment.index]
        for proposed in self._rounds_at(moment.index, plan):
            protocol = (
                ASSIGNORS[proposed.assignor].protocol if proposed.assignor in ASSIGNORS else Protocol.EAGER
            )
            held = self._as_held(proposed.plan)
            target = proposed.assignment or {member.member_id: list(member.owned) for member in plan.members}
            assignment = target if moment.ahead is None else self._free_for(moment.ahead, held, target)
            scored = score(held, assignment, protocol)
            stops = _unread_partitions(protocol, held, scored, departed)
            pause = self._pause_ms(given) if stops else 0
            self._rounds.append(
                PlayedRound(
                    generation=self._generations[moment.index].roster.generation if moment.recorded else None,
                    at_ms=moment.at_ms,
                    follow_up=proposed.follow_up,
                    what="handed out" if proposed.follow_up else reason,
                    assignor=proposed.assignor,
                    members=len(plan.members),
                    stopped=self._stopped(protocol, held, assignment),
                    score=scored,
                    pause_ms=pause,
                    unread_ms=None if pause is None else stops * pause + unread_ms,
                    assignment=assignment,
                    moves=tuple(moves_of(held.members, self._readers, assignment)),
                    error=str(proposed.error) if proposed.error else None,
                )
            )
            self._take(target, assignment)
            departed = unread_ms = 0

    def _as_held(self, plan: GroupPlan) -> GroupPlan:
        """The plan with what members have, where the last target is not reached yet."""
        members = (replace(each, owned=self._held.get(each.member_id, each.owned)) for each in plan.members)
        return replace(plan, members=tuple(members))

    def _free_for(self, key: int, plan: GroupPlan, target: Assignment) -> Assignment:
        """The assignment right after a join: a new member gets what is free; others wait for heartbeats."""
        came = self._members[key].member_id
        taken = {partition for member in plan.members for partition in member.owned}
        assignment = {member.member_id: list(member.owned) for member in plan.members}
        assignment[came] = [partition for partition in target.get(came, ()) if partition not in taken]
        return assignment

    def _pause_ms(self, given: Circumstances) -> int | None:
        return given.pause_ms if self._changes.pause_ms is None else self._changes.pause_ms

    def _begins_in_the_middle(self) -> bool:
        """Whether both sides start from the first generation, as its origin is not in the log."""
        return any(cause.kind is CauseKind.HISTORY_CUT for cause in self._generations[0].causes)

    def _rounds_at(self, index: int, plan: GroupPlan) -> Iterator[Round]:
        """The recorded answer, or the assignor's with the rounds that must follow it."""
        given = self._circumstances[index]
        if not self._replay:
            assignor = self._changes.assignor_at(given)
            assert assignor is not None
            yield from run_rounds(plan, assignor, ())
            return
        assignment = self._recorded_assignment(index)
        protocol_name = self._generations[index].roster.protocol or ""
        yield Round(
            number=1,
            event=0,
            follow_up=False,
            what="",
            assignor=given.assignor or protocol_name,
            plan=plan,
            assignment=assignment,
            score=score(plan, assignment, given.protocol),
        )

    def _recorded_assignment(self, index: int) -> Assignment:
        return {m.member_id: sorted(m.owned) for m in self._generations[index].roster.members}

    def _plan(self, index: int) -> GroupPlan:
        """The group before a rebalance, with what its members own."""
        names = {key: stay.member(index) for key, stay in self._stays.items()}
        for key, seen in names.items():
            before = self._members.get(key) or PlanMember(member_id=seen.member_id, topics=())
            self._members[key] = replace(
                before,
                member_id=seen.member_id,
                topics=tuple(sorted(seen.subscribed or ())),
                group_instance_id=seen.instance_id
                or (self._stays[key].process if self._changes.static else None),
            )
        self._keep_more_members()
        members = list(self._members.values())
        if not self._coordinator_assigns(index):
            members.sort(key=lambda member: member.member_id)
        counts = {**self._circumstances[index].counts, **self._changes.partitions}
        topics = sorted({name for member in members for name in member.topics if counts.get(name)})
        return GroupPlan(
            members=tuple(members),
            topics=tuple(
                Topic(name=name, partitions=counts[name], topic_id=self._topic_ids.get(name))
                for name in topics
            ),
            generation=self._number,
            previous=dict(self._readers),
        )

    def _coordinator_assigns(self, index: int) -> bool:
        """Whether members go into the coordinator's map, where they stand as they came."""
        assignor = self._changes.assignor_at(self._circumstances[index])
        return assignor is not None and ASSIGNORS[assignor].protocol is Protocol.SERVER

    def _keep_more_members(self) -> None:
        """Have the supposed members in the group just while it has others."""
        keys = range(-self._changes.more_members, 0)
        if not self._stays:
            for key in keys:
                self._members.pop(key, None)
            return
        pattern = self._members[min(self._stays)]
        for key in keys:
            name = f"what-if-{key + self._changes.more_members + 1}"
            before = self._members.get(key) or PlanMember(member_id=name, topics=())
            instance = name if pattern.group_instance_id else None
            self._members[key] = replace(before, topics=pattern.topics, group_instance_id=instance)

    def _take(self, target: Assignment, held: Assignment) -> None:
        """Let the members have `held` of what they were assigned, and continue from the target."""
        self._number += 1
        self._held = {} if held is target else {who: tuple(owned) for who, owned in held.items()}
        for key, member in self._members.items():
            owned = tuple(target.get(member.member_id, ()))
            self._members[key] = replace(member, owned=owned, generation=self._number)
            self._readers.update(dict.fromkeys(held.get(member.member_id, ()), member.member_id))

    def _stopped(self, protocol: Protocol, plan: GroupPlan, assignment: Assignment) -> tuple[str, ...]:
        """Members that were there before and had to stop reading something."""
        eager = protocol is Protocol.EAGER
        stopped = {
            member.member_id
            for member in plan.members
            if (member.owned if eager else set(member.owned).difference(assignment.get(member.member_id, ())))
        }
        return tuple(sorted(stopped))

    def _reason(self, moment: Moment) -> str:
        """The reason why the group rebalanced: `join grow-2; session-expired grow-victim`."""
        joined = [stay.process for _, stay in moment.joins]
        parts = [f"join {_counted(joined)}"] if joined else []
        for kind in dict.fromkeys(departure.kind for departure in moment.departures):
            gone = [self._stays[key].process for key, why, _ in moment.departures if why is kind]
            parts.append(f"{kind} {_counted(gone)}")
        follow_up = any(
            cause.kind is CauseKind.COOPERATIVE_FOLLOW_UP for cause in self._generations[moment.index].causes
        )
        if follow_up and self._replay:
            parts.append(CauseKind.COOPERATIVE_FOLLOW_UP)
        return "; ".join([*parts, *moment.others])


def _counted(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _unread_partitions(protocol: Protocol, plan: GroupPlan, scored: Score, departed: int) -> int:
    """The number of partitions that were read before and are not read while the group rebalances.

    `departed` are those of members that are gone. Under a cooperative assignor what a member gives up is
    unread while the rebalance after this one hands it out, and counts here.
    """
    match protocol:
        case Protocol.EAGER:
            return departed + sum(len(member.owned) for member in plan.members)
        case Protocol.COOPERATIVE:
            return departed + scored.withheld
        case Protocol.SERVER:
            return departed + scored.revoked
