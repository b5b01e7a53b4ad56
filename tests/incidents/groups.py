"""A classic group: its coordinator, as Kafka's GroupMetadata and GroupCoordinator have it, and its members.

Logged are generations when the leader's assignment is in, an empty group, a static member's new id, and
commits; nothing else. A rebalance waits until every member is back, the longest rebalance time-out (a
client's max.poll.interval.ms) is over, or the member's session is; the first one waits 3 s
(group.initial.rebalance.delay.ms).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from kgroup.protocol.records.values import GroupMetadataValue, MemberMetadata
from kgroup.protocol.subscription import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
    named_partitions,
)
from tests.incidents.members import Member

if TYPE_CHECKING:
    from tests.incidents.world import World

TopicPartition = tuple[str, int]
Shares = dict[Member, list[TopicPartition]]
Assign = Callable[["Group", Sequence[Member]], Shares]
INITIAL_DELAY_MS = 3_000


class Group:
    """`committed` is what the log has, `handed` the ranges of offsets that members processed, in order."""

    def __init__(
        self,
        world: World,
        name: str,
        topics: tuple[str, ...],
        *,
        assignor: str = "range",
        assign: Assign | None = None,
        protocol_type: str = "consumer",
    ) -> None:
        self.world, self.name, self.topics = world, name, topics
        self.assignor, self.assign = assignor, assign or by_range
        self.protocol_type = protocol_type
        self.generation = 0
        self.members: list[Member] = []
        """Those whom the coordinator knows, in the order of their joining."""
        self.clients: list[Member] = []
        self.preparing_since_ms: int | None = None
        self.hold_until_ms: int | None = None
        """The join phase cannot end before: a member id was given out and has not come back (KIP-394)."""
        self.first_wait_ms: int | None = None
        self.shares: defaultdict[str, list[TopicPartition]] = defaultdict(list)
        """What each instance id was given."""
        self.committed: dict[TopicPartition, int] = {}
        self.handed: defaultdict[TopicPartition, list[list[int]]] = defaultdict(list)
        self.stops_at: dict[TopicPartition, int] = {}
        """Offsets whose record no handler finishes; or it ends the process, which is back after `crash_s`."""
        self.crash_s: float | None = None

    @property
    def is_cooperative(self) -> bool:
        return self.assignor == "cooperative-sticky"

    def start(self, name: str, **how: Any) -> Member:
        """A new process that joins at once."""
        member = Member(self, name, **how)
        self.clients.append(member)
        member.join()
        self.world.happened("start-member", self.name, handle=name)
        return member

    def start_all(self, *names: str, **how: Any) -> list[Member]:
        return [self.start(name, **how) for name in names]

    def tick(self, seconds: float) -> None:
        for client in self.clients:
            client.tick(seconds)
        self._expire_sessions()
        self._complete_if_due()

    def add(self, member: Member) -> None:
        """A JoinGroup of somebody whom the coordinator does not know."""
        if self._replace_static(member):
            return
        self.members.append(member)
        if len(self.members) == 1:
            self.first_wait_ms = self.world.now_ms + INITIAL_DELAY_MS
        self.rebalance()
        member.rejoined = True

    def leave_behind(self, member: Member) -> None:
        """A new process of a dynamic member is another one to the coordinator; it waits for the old one."""
        if member in self.members and member.instance is None:
            dead = copy(member)
            dead.is_up = False
            self.members[self.members.index(member)] = dead

    def _replace_static(self, member: Member) -> bool:
        """A known instance id gets a new member id, without a rebalance (KIP-345, KIP-814)."""
        before = next((m for m in self.members if member.instance and m.instance == member.instance), None)
        if before is None:
            return False
        self.members[self.members.index(before)] = member
        member.owned, member.rejoined = list(self.shares[before.instance or ""]), before.rejoined
        if before is not member:
            before.fenced()
        if self.preparing_since_ms is None:
            self._log()
            member.resume()
        else:
            member.rejoined = True
        return True

    def remove(self, *members: Member) -> None:
        """Who left, or was taken for gone."""
        for member in members:
            self.members.remove(member)
            member.owned = []
        self.rebalance()

    def rebalance(self) -> None:
        if self.preparing_since_ms is None:
            self.preparing_since_ms = self.world.now_ms
            for member in self.members:
                member.called_back()

    def wait_for_pending(self, milliseconds: int) -> None:
        """A new client got a member id and never came back with it: its session is waited for."""
        self.hold_until_ms = self.world.now_ms + milliseconds
        self.rebalance()

    def _expire_sessions(self) -> None:
        now_ms = self.world.now_ms
        # Whoever waits in the join phase needs no heartbeat.
        gone = [
            member
            for member in self.members
            if now_ms - member.heard_ms > member.session_ms
            and not (self.preparing_since_ms is not None and member.rejoined)
        ]
        if gone:
            self.world.happened("session-expired", self.name, handles=[member.name for member in gone])
            self.remove(*gone)

    def _complete_if_due(self) -> None:
        if self.preparing_since_ms is None:
            return
        now_ms = self.world.now_ms
        longest_ms = max((member.poll_interval_ms for member in self.members), default=0)
        is_late = now_ms >= self.preparing_since_ms + longest_ms
        if self.members and not is_late:
            if not all(member.rejoined for member in self.members):
                return
            if now_ms < max(self.first_wait_ms or 0, self.hold_until_ms or 0):
                return
        late = [member for member in self.members if not member.rejoined]
        if late:
            self.world.happened("left-out", self.name, handles=[member.name for member in late])
        for member in late:
            # A static member that is late keeps its place until its session is over (KIP-345).
            if member.instance is None or not member.is_up:
                self.members.remove(member)
                member.owned = []
        self.preparing_since_ms = self.first_wait_ms = self.hold_until_ms = None
        self._begin_generation()

    def _begin_generation(self) -> None:
        self.generation += 1
        before = {partition: member for member in self.members for partition in member.owned}
        target = self.assign(self, self.members) if self.members else {}
        moves = False
        for member in self.members:
            share = target.get(member, [])
            if self.is_cooperative:
                kept = [p for p in share if before.get(p, member) is member]
                moves = moves or len(kept) < len(share)
                share = kept
            member.assigned(share)
            member.heard_ms = self.world.now_ms  # the answer to its join begins its session anew
            if member.instance is not None:
                self.shares[member.instance] = list(share)
        self._log()
        if moves:
            self.rebalance()

    def _log(self) -> None:
        leader = self.members[0].member_id if self.members else None
        value = GroupMetadataValue(
            protocol_type=self.protocol_type,
            generation=self.generation,
            protocol=self.assignor if self.members else None,
            leader=leader,
            current_state_timestamp=self.world.now_ms + _start_ms(),
            members=tuple(_logged(member) for member in self.members),
        )
        self.world.write_group(self.name, value)

    def partitions(self, topics: Sequence[str]) -> list[TopicPartition]:
        return [
            (topic, number)
            for topic in topics
            for number in range(len(self.world.topics[topic].partitions))
            if topic in self.world.topics
        ]

    def commit(self, positions: dict[TopicPartition, int]) -> None:
        self.committed |= positions
        self.world.commit(
            self.name, *((topic, number, offset) for (topic, number), offset in positions.items())
        )

    def hand(self, partition: TopicPartition, first: int, after: int) -> None:
        ranges = self.handed[partition]
        if ranges and ranges[-1][1] == first:
            ranges[-1][1] = after
        else:
            ranges.append([first, after])

    def doubled(self, partition: TopicPartition) -> int:
        """How many offsets were processed more than once, at least."""
        total = sum(after - first for first, after in self.handed[partition])
        return total - self._covered(partition)

    def skipped(self, partition: TopicPartition) -> int:
        """How many offsets below the furthest read were processed by nobody."""
        ranges = self.handed[partition]
        return max((after for _, after in ranges), default=0) - self._covered(partition)

    def _covered(self, partition: TopicPartition) -> int:
        covered = reached = 0
        for first, after in sorted(self.handed[partition]):
            covered += max(0, after - max(first, reached))
            reached = max(reached, after)
        return covered

    def lag(self, *partitions: TopicPartition) -> int:
        return sum(self.world.log(p).end - self.committed.get(p, 0) for p in partitions)


def by_range(group: Group, members: Sequence[Member]) -> Shares:
    """Each topic in ranges over those who subscribe to it, as RangeAssignor does."""
    shares: Shares = {member: [] for member in members}
    for topic in sorted({topic for member in members for topic in member.topics}):
        takers = sorted((m for m in members if topic in m.topics), key=lambda m: m.instance or m.member_id)
        partitions = group.partitions([topic])
        each, more = divmod(len(partitions), len(takers))
        at = 0
        for number, member in enumerate(takers):
            size = each + (number < more)
            shares[member] += partitions[at : at + size]
            at += size
    return shares


def sticky(group: Group, members: Sequence[Member]) -> Shares:
    """As even as can be, and nobody gives up more than it must; of members with one subscription."""
    partitions = group.partitions(members[0].topics)
    shares: Shares = {member: [p for p in member.owned if p in partitions] for member in members}
    free = [p for p in partitions if not any(p in share for share in shares.values())]
    while free or max(map(len, shares.values())) - min(map(len, shares.values())) > 1:
        least = min(members, key=lambda member: len(shares[member]))
        most = max(members, key=lambda member: len(shares[member]))
        shares[least].append((free or shares[most]).pop(0))
    return shares


def _logged(member: Member) -> MemberMetadata:
    subscription = member.subscription or encode_subscription(Subscription(topics=tuple(member.topics)))
    assignment = member.assignment or encode_assignment(
        Assignment(assigned_partitions=named_partitions(member.owned))
    )
    return MemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.instance,
        client_id=member.client_id,
        client_host=member.host,
        session_timeout=member.session_ms,
        rebalance_timeout=member.poll_interval_ms,
        subscription=subscription,
        assignment=assignment,
    )


def _start_ms() -> int:
    from tests.incidents.world import START_MS

    return START_MS
