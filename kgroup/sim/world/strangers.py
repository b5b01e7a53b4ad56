"""Misbehaving clients: they die, stall, come back changed and send stale requests.

Some speak old versions. They stand next to the nodes: what they send is there at once, and it is lost where
no coordinator answers. They read no records. A guest of a readers' group commits what its members have
committed.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from random import Random
from typing import Final

from kgroup.assignors.model import AssignorError
from kgroup.assignors.model import Topic as AssignableTopic
from kgroup.broker.apis.coordination import ask_coordinator
from kgroup.broker.hosted_coordinator import HostedCoordinator
from kgroup.group.coordinator.offsets import FetchTopic
from kgroup.group.member.classic.leading import group_members, make_assignment, subscription_of
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import (
    CommitPartition,
    CommitTopic,
    DeleteGroups,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeavingMember,
    OffsetCommit,
    OffsetDelete,
    ReplyBody,
    RequestBody,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.world.cluster_host import ClusterHost
from kgroup.sim.world.surroundings import Surroundings
from kgroup.wire.frames import Call

E = ErrorCode
GROUP: Final = "strangers"
_BEAT_MS: Final = 2_000
_PATIENCE_MS: Final = 25_000
_THROWN_OUT: Final = frozenset({E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION, E.FENCED_INSTANCE_ID})


class _Phase(StrEnum):
    OUT = "out"
    WAITING = "waiting"
    JOINED = "joined"
    STABLE = "stable"


class Stranger:
    """One of them; `chance` decides what it does next."""

    def __init__(
        self,
        name: str,
        group: str,
        scenario: Scenario,
        around: Surroundings,
        host: ClusterHost,
    ) -> None:
        self._name = name
        self._group = group
        self._is_guest = group != GROUP
        self._chance: Random = around.random(f"stranger {name}")
        self._schedule = around.schedule
        self._checkers = around.checkers
        self._host = host
        self._end_ms = around.schedule.now_ms + scenario.duration_ms
        self._topics = tuple(topic.name for topic in scenario.topics if topic.start_ms == 0)
        self._assignors = scenario.members[0].assignors if self._is_guest else ("range", "roundrobin")
        self._call = Call(
            token=-1,
            api_key=-1,
            version=-1,
            correlation_id=-1,
            client_id=name,
            client_host="/10.1.0.1",
            body=None,
        )
        self._lives = 0
        self._offset = 1_000_000 * (1 + int(name.rpartition("-")[2]))
        self._begin_life()

    def start(self) -> None:
        """Begin."""
        self._wake_in(self._chance.randint(0, 10_000))

    def _begin_life(self) -> None:
        chance = self._chance
        self._lives += 1
        self._phase = _Phase.OUT
        self._old = (getattr(self, "_member_id", ""), getattr(self, "_generation", -1))
        self._member_id, self._generation, self._is_leader = "", -1, False
        self._instance_id = f"{self._name}-static" if chance.random() < 0.35 else None
        self._is_old_client = chance.random() < 0.3
        self._session_ms = chance.choice((6_000, 8_000, 10_000))
        self._rebalance_ms = chance.choice((5_000, 10_000, 20_000))
        self._changes = 0
        self._since_ms = self._schedule.now_ms
        self._beat_ms = self._since_ms
        self._answer: JoinGroupResponse | None = None

    # ---- time -------------------------------------------------------------------------------------

    def _wake_in(self, ms: int) -> None:
        self._schedule.at(self._schedule.now_ms + ms, self._wake)

    def _wake(self) -> None:
        now_ms, chance = self._schedule.now_ms, self._chance
        if now_ms >= self._end_ms:
            return  # it dies, and its session will end
        if chance.random() < 0.2:
            self._disturb()
        match self._phase:
            case _Phase.OUT:
                if chance.random() < 0.6:
                    self._join()
            case _Phase.WAITING:
                if now_ms - self._since_ms > _PATIENCE_MS:
                    self._begin_life()
                elif chance.random() < 0.05:  # a new process of a static member, or a repeated request
                    self._member_id = "" if self._instance_id is not None else self._member_id
                    self._join()
            case _Phase.JOINED:
                if now_ms >= self._since_ms:
                    self._sync()
            case _Phase.STABLE:
                self._live(now_ms)
        pause_ms = int(chance.expovariate(1 / 900))
        self._wake_in(min(max(pause_ms, 50), 3_000))

    def _live(self, now_ms: int) -> None:
        luck = self._chance.random()
        if luck < 0.03:
            self._begin_life()  # dead: nobody is told
        elif luck < 0.05:
            self._ask(
                LeaveGroup(
                    group_id=self._group,
                    members=(LeavingMember(member_id=self._member_id, group_instance_id=self._instance_id),),
                    batched=not self._is_old_client,
                )
            )
            self._begin_life()
        elif luck < 0.08:
            self._changes += 1
            self._session_ms = self._chance.choice((6_000, 8_000, 10_000))
            self._rebalance_ms = self._chance.choice((5_000, 10_000, 20_000))
            if self._instance_id is not None:
                self._member_id, self._generation = "", -1
            self._join()
        elif luck < 0.2:
            self._commit(self._member_id, self._generation, self._instance_id)
        elif now_ms - self._beat_ms >= _BEAT_MS:
            self._beat(now_ms)

    # ---- requests ---------------------------------------------------------------------------------

    def _ask(self, body: RequestBody, then: Callable[[ReplyBody], None] | None = None) -> bool:
        node = self._host.coordinator_of(self._group)
        if node is None or not node.is_running or not node.is_free:
            return False
        answer = partial(self._answered, self._lives, then)
        ask_coordinator(node.node, self._call, self._group, body, node.now_ms(), answer)
        self._host.schedule_flush(node)
        return True

    def _answered(self, life: int, then: Callable[[ReplyBody], None] | None, reply: ReplyBody) -> None:
        if then is not None and life == self._lives:
            then(reply)

    def _subscription(self) -> tuple[tuple[str, bytes], ...]:
        topics = self._topics[: 1 + self._changes % len(self._topics)] if self._changes else self._topics
        return tuple(
            (name, subscription_of(topics, (), -1, None, None))
            for name in self._assignors[: 1 + (self._lives + self._changes) % len(self._assignors)]
            or self._assignors
        )

    def _join(self) -> None:
        self._phase, self._since_ms = _Phase.WAITING, self._schedule.now_ms
        protocols = self._subscription()
        if self._is_guest:
            protocols = tuple(
                (name, subscription_of(self._topics, (), -1, None, None)) for name in self._assignors
            )
        body = JoinGroup(
            group_id=self._group,
            session_timeout_ms=self._session_ms,
            rebalance_timeout_ms=self._rebalance_ms,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
            protocol_type="consumer",
            protocols=protocols,
            needs_known_id=not self._is_old_client,
            can_skip_assignment=not self._is_old_client,
        )
        if not self._ask(body, self._take_join):
            self._phase = _Phase.OUT

    def _take_join(self, reply: ReplyBody) -> None:
        assert isinstance(reply, JoinGroupResponse)
        if reply.error_code is E.MEMBER_ID_REQUIRED:
            self._phase = _Phase.OUT
            self._member_id = reply.member_id
            if self._chance.random() < 0.2:
                self._begin_life()  # the id was given out for nothing
        elif reply.error_code is not E.NONE:
            self._begin_life()
        else:
            self._member_id, self._generation = reply.member_id, reply.generation_id
            self._is_leader = reply.leader == reply.member_id
            self._answer = reply
            self._phase, self._since_ms = _Phase.JOINED, self._schedule.now_ms
            luck = self._chance.random()
            if luck < 0.08:
                self._begin_life()  # it dies between its JoinGroup and its SyncGroup
            elif luck < 0.2:
                self._since_ms += self._chance.randint(2_000, 15_000)

    def _sync(self) -> None:
        assignments: tuple[tuple[str, bytes], ...] = ()
        answer = self._answer
        if self._is_leader and answer is not None and not answer.skip_assignment:
            topics = [
                AssignableTopic(name=name, partitions=len(self._host.cluster.topics[name].partitions))
                for name in self._topics
            ]
            try:
                assignments = make_assignment(answer.protocol_name or "", group_members(answer), topics)
            except AssignorError:
                self._begin_life()
                return
        body = SyncGroup(
            group_id=self._group,
            generation_id=self._generation,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
            protocol_type=None if self._is_old_client else "consumer",
            protocol_name=None if self._is_old_client or answer is None else answer.protocol_name,
            assignments=assignments,
        )
        self._phase, self._since_ms = _Phase.WAITING, self._schedule.now_ms
        if not self._ask(body, self._take_sync):
            self._begin_life()

    def _take_sync(self, reply: ReplyBody) -> None:
        assert isinstance(reply, SyncGroupResponse)
        if reply.error_code is E.NONE:
            self._phase = _Phase.STABLE
        elif reply.error_code is E.REBALANCE_IN_PROGRESS:
            self._phase = _Phase.OUT
        else:
            self._begin_life()

    def _beat(self, now_ms: int) -> None:
        self._beat_ms = now_ms
        self._ask(self._heartbeat(self._member_id, self._generation), self._take_heartbeat)

    def _heartbeat(self, member_id: str, generation: int) -> Heartbeat:
        return Heartbeat(
            group_id=self._group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=self._instance_id,
        )

    def _take_heartbeat(self, reply: ReplyBody) -> None:
        assert isinstance(reply, HeartbeatResponse)
        if reply.error_code in _THROWN_OUT:
            self._begin_life()
        elif (
            reply.error_code is E.REBALANCE_IN_PROGRESS
            and self._phase is _Phase.STABLE
            and self._chance.random() < 0.75
        ):
            self._phase = _Phase.OUT

    # ---- offsets ----------------------------------------------------------------------------------

    def _partition(self) -> TopicPartition:
        topic = self._chance.choice(self._topics)
        return topic, self._chance.randrange(len(self._host.cluster.topics[topic].partitions))

    def _commit(self, member_id: str, generation: int, instance_id: str | None) -> None:
        partition = self._partition()
        self._offset += 1
        offset = self._offset
        if self._is_guest:
            offset = self._checkers.acknowledged((self._group, partition))
            if offset < 0:
                return
        one = CommitPartition(
            partition_index=partition[1],
            committed_offset=offset,
            committed_leader_epoch=-1,
            committed_metadata="",
        )
        self._ask(
            OffsetCommit(
                group_id=self._group,
                generation_id=generation,
                member_id=member_id,
                group_instance_id=instance_id,
                retention_time_ms=-1,
                topics=(CommitTopic(name=partition[0], topic_id=None, partitions=(one,)),),
                knows_group_not_found=not self._is_old_client,
            )
        )

    def _read(self) -> None:
        node = self._host.coordinator_of(self._group)
        if node is None or not node.is_running:
            return
        hosted = self._host.cluster.coordinator(self._group, node.node.node_id, node.now_ms())
        if isinstance(hosted, HostedCoordinator) and hosted.is_idle:
            topic, index = self._partition()
            requested = FetchTopic(name=topic, topic_id=None, partition_indexes=(index,))
            [fetched] = hosted.coordinator.fetch_offsets(
                self._group, (requested,), require_stable=self._chance.random() < 0.5
            )
            if fetched.offsets[0].error_code is E.NONE:
                place = (self._group, (topic, index))
                self._host.watch.registers.read(place, fetched.offsets[0].committed_offset, self._name)

    # ---- what nobody should do --------------------------------------------------------------------

    def _disturb(self) -> None:
        member_id, generation = self._member_id, self._generation
        old_id, old_generation = self._old
        choice = self._chance.randrange(10)
        if choice == 0:
            self._commit(member_id, generation - 1, self._instance_id)
        elif choice == 1:
            self._commit(old_id, max(old_generation, 0), None)
        elif choice == 2:
            self._ask(self._heartbeat(member_id, generation - 1))
        elif choice == 3:
            self._ask(self._heartbeat(old_id or "nobody", generation))
        elif choice == 4:
            self._commit("", -1, None)
        elif choice == 5 and old_id:
            self._ask(
                SyncGroup(
                    group_id=self._group,
                    generation_id=old_generation,
                    member_id=old_id,
                    group_instance_id=None,
                    protocol_type=None,
                    protocol_name=None,
                    assignments=(),
                )
            )
        elif choice == 6 and not self._is_guest and self._chance.random() < 0.3:
            if self._chance.random() < 0.5:
                self._ask(DeleteGroups(group_ids=(self._group,)))
            else:
                topic, index = self._partition()
                self._ask(OffsetDelete(group_id=self._group, topics=((topic, (index,)),)))
        elif choice == 7 and self._phase is _Phase.STABLE:
            self._beat(self._schedule.now_ms)
        else:
            self._read()
