"""Stands between coordinators and their clients and informs the checkers; reads every batch of their logs."""

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from kgroup.broker.cluster import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, Cluster
from kgroup.broker.coordinators import ReplyTo
from kgroup.broker.hosted_coordinator import HostedCoordinator
from kgroup.broker.partition import Partition
from kgroup.group.coordinator.events import GroupDeleted, GroupEvent
from kgroup.group.coordinator.offsets import FetchTopic
from kgroup.group.coordinator.step import Request
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.requests.client import OffsetFetch, OffsetFetchResponse
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kgroup.protocol.requests.coordinator import (
    JoinGroup,
    OffsetCommit,
    OffsetCommitResponse,
    ReplyBody,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.sim.scenario.scenario import node_name
from kgroup.sim.watch.agreement import LogAgrees
from kgroup.sim.watch.answers import AnswersFit, NobodyForgotten
from kgroup.sim.watch.checkers import Checkers
from kgroup.sim.watch.consumer_answers import ConsumerAnswers
from kgroup.sim.watch.coordinators import SLACK_MS, CoordinatorChecker, Scene, Ticket
from kgroup.sim.watch.downgrades import Downgrades
from kgroup.sim.watch.first_rounds import fails
from kgroup.sim.watch.log_model import LogModel
from kgroup.sim.watch.lost_words import LostWords
from kgroup.sim.watch.offsets import OffsetRegisters, Write
from kgroup.sim.watch.reconciliation import ConsumerSessions
from kgroup.sim.watch.result import NOBODY_FORGOTTEN, RECONCILES
from kgroup.sim.watch.retention import Retention
from kgroup.sim.watch.sessions import Deadlines, RoundsEnd, Sessions
from kgroup.sim.watch.shares import SharesFit
from kgroup.sim.watch.stale_heartbeats import StaleHeartbeats
from kgroup.sim.watch.tallies import GroupPartition
from kgroup.sim.watch.targets import TargetsFit
from kgroup.sim.watch.transactions import TransactionsEnd

_ALL_BATCHES: Final = 1 << 62
_UNSTABLE: Final = ErrorCode.UNSTABLE_OFFSET_COMMIT


class WatchedNode(Protocol):
    """A node's process as the watch needs to know it."""

    number: int
    is_running: bool
    jumped_ms: int

    @property
    def may_tick(self) -> bool:
        """Whether its timers run."""

    def now_ms(self) -> int:
        """The time by its own clock."""


class _Watched:
    """One coordinator and its checkers."""

    def __init__(self, scene: Scene, cluster: Cluster) -> None:
        self.scene = scene
        self.writes: dict[int, Write] = {}
        self.checkers: tuple[CoordinatorChecker, ...] = (
            Sessions(scene),
            Deadlines(scene, cluster.coordinators.next_deadline_ms),
            RoundsEnd(scene),
            AnswersFit(scene),
            SharesFit(scene),
            LogAgrees(scene),
            Retention(scene),
            NobodyForgotten(scene),
            ConsumerSessions(scene),
            ConsumerAnswers(scene, cluster.topic_names.get),
            TargetsFit(scene, cluster.image),
        )


class CoordinatorWatch:
    """Knows every coordinator, whichever node it is on; each new one must know every acknowledged commit.

    `nodes` are by id. `readers` are the groups whose members process records.
    """

    def __init__(
        self,
        cluster: Cluster,
        checkers: Checkers,
        nodes: Callable[[int], WatchedNode | None],
        readers: frozenset[str],
        world_ms: Callable[[], int],
    ) -> None:
        self._checkers = checkers
        self._nodes = nodes
        self._readers = readers
        self._world_ms = world_ms
        self.registers = OffsetRegisters(checkers.broken)
        self.transactions = TransactionsEnd(checkers.broken)
        self.downgrades = Downgrades()
        self.lost_words = LostWords()
        self.stale_heartbeats = StaleHeartbeats(cluster.topic_names.get)
        self.is_stale = False
        """Whether the request that a node takes in hand came before, or its sender has hung up on it."""
        self.models: dict[int, LogModel] = {}
        self._watched: dict[int, _Watched] = {}
        self._restless_ms: dict[int, int] = {}
        self._next_number = 0
        self._cluster = cluster
        self.attach(cluster, has_lost=False)

    def attach(self, cluster: Cluster, *, has_lost: bool) -> None:
        """Watch this cluster: a new one, or after a loss of power; `has_lost`: a log has lost something."""
        for watched in list(self._watched.values()):
            self._end(watched, is_gone=True)
        if has_lost:
            self.lost_words.log_cut()
        self._cluster = cluster
        cluster.coordinators.on_request = self._requested
        cluster.coordinators.on_loaded = self._loaded
        topics, before = cluster.topics, self.models
        if OFFSETS_TOPIC in topics:
            self.models = {
                partition.index: LogModel(partition.batches())
                for partition in topics[OFFSETS_TOPIC].partitions
            }
        if TRANSACTIONS_TOPIC in topics:
            batches = [raw for each in topics[TRANSACTIONS_TOPIC].partitions for raw in each.batches()]
            self.transactions.restart(batches, self._world_ms())
        for index, model in self.models.items():
            is_in = partial(self._is_in, index)
            old = before.get(index, LogModel())
            tombstones = model.tombstones.items()
            model.untold = {group for group, at in tombstones if at > old.tombstones.get(group, -1)}
            model.untold |= old.untold
            if has_lost:
                self._lose(model, is_in)
                continue
            # What was written last thing before the end: tombstones, markers, and the markers of the start.
            # What is gone without one was lost.
            for place in sorted(old.committed.keys() & model.deleted_offsets):
                self._offset_deleted(place)
            for group in model.groups.keys() - old.groups.keys():
                self.downgrades.found(group, model.groups[group])
            pending = old.pending.values()
            for place in sorted({place for offsets in pending for place in offsets}):
                if place in model.committed and not model.is_pending(place):
                    self.registers.set_by_log(place, model.committed[place].value.offset)
            self.registers.read_all(model, is_in, "the log")

    def _lose(self, model: LogModel, is_in: Callable[[str], bool]) -> None:
        self.registers.begin_again(model, is_in)
        for group in sorted(filter(is_in, self._readers)):
            logged = model.groups.get(group)
            self._checkers.begin_again(group, -1 if logged is None else logged.generation)
        committed = {place: kept.value.offset for place, kept in model.committed.items()}
        self._checkers.lost_commits(committed, is_in)

    def _is_in(self, index: int, group: str) -> bool:
        return self._cluster.offsets_partition(group) == index

    # ---- one coordinator --------------------------------------------------------------------------

    def _of(self, hosted: HostedCoordinator, now_ms: int) -> _Watched:
        index = hosted.partition.index
        watched = self._watched.get(index)
        if watched is not None and watched.scene.hosted is hosted:
            return watched
        if watched is not None:
            self._end(watched)
        scene = Scene(
            hosted=hosted,
            settings=self._cluster.settings.group,
            model=self.models.setdefault(index, LogModel()),
            report=self._checkers.broken,
            loaded_ms=now_ms,
        )
        watched = self._watched[index] = _Watched(scene, self._cluster)
        self.registers.read_all(
            scene.model, partial(self._is_in, index), f"{node_name(hosted.node_id)}, when it takes over,"
        )
        for checker in watched.checkers:
            checker.loaded(now_ms)
        # A coordinator may end, or its power fail, after the tombstone and before the word of it.
        for group in sorted(scene.model.untold):
            self._checkers.group_event(GroupDeleted(group_id=group))
        scene.model.untold.clear()
        return watched

    def _end(self, watched: _Watched, *, is_gone: bool = False) -> None:
        """Another coordinator has its groups; waiting clients were told so, unless its node has died."""
        scene = watched.scene
        self._watched.pop(scene.hosted.partition.index, None)
        node = self._nodes(scene.hosted.node_id)
        for ticket in scene.tickets.values():
            is_same = node is not None and node.is_running and node.number == ticket.process
            if is_same and not is_gone:
                self._checkers.broken(
                    NOBODY_FORGOTTEN,
                    f"{type(ticket.body).__name__} of {ticket.client_id}: its coordinator ended, no answer",
                )
        for writes in watched.writes.values():
            self.registers.unanswered(scene.hosted, writes)
        self.registers.ended(scene.hosted)

    def _loaded(self, hosted: HostedCoordinator) -> None:
        node = self._nodes(hosted.node_id)
        self._of(hosted, node.now_ms() if node is not None else self._world_ms())
        self._verify(hosted, f"{node_name(hosted.node_id)}, which has loaded the log,")

    def look(self) -> None:
        """A second has passed."""
        world_ms = self._world_ms()
        for index, hosted in sorted(self._cluster.coordinators.hosted.items()):
            watched = self._watched.get(index)
            if watched is not None and watched.scene.hosted is not hosted:
                self._end(watched)
            node = self._nodes(hosted.node_id)
            if node is None or hosted.is_loading or not hosted.is_idle:
                continue
            if not node.may_tick:
                self._restless_ms[hosted.node_id] = world_ms
                continue
            restless_ms = max(self._restless_ms.get(hosted.node_id, 0), node.jumped_ms)
            now_ms = node.now_ms()
            for checker in self._of(hosted, now_ms).checkers:
                checker.look(now_ms, world_ms - restless_ms > SLACK_MS)
        self.transactions.look(world_ms, self.models)

    # ---- requests ---------------------------------------------------------------------------------

    def _requested(
        self, hosted: HostedCoordinator, request: Request, now_ms: int, reply_to: ReplyTo
    ) -> ReplyTo:
        watched = self._of(hosted, now_ms)
        scene, body = watched.scene, request.body
        node = self._nodes(hosted.node_id)
        group_id = getattr(body, "group_id", "")
        group = scene.group(group_id)
        self._next_number += 1
        ticket = Ticket(
            request_id=request.id,
            body=body,
            client_id=request.client_id,
            asked_ms=now_ms,
            process=node.number if node is not None else -1,
            number=self._next_number,
            is_stale=self.is_stale,
        )
        if group is not None:
            ticket.state, ticket.generation = group.state, group.generation_id
            ticket.was_leader = group.leader_id == getattr(body, "member_id", None)
            ticket.pending = frozenset(group.pending_joins)
        ticket.of_consumer = scene.consumer_group(group_id) is not None
        if ticket.is_stale and isinstance(body, ConsumerGroupHeartbeat):
            self.stale_heartbeats.taken(body, scene.consumer_group(group_id))
        if isinstance(body, JoinGroup):
            self.downgrades.joins(hosted, group, body)
        if isinstance(body, JoinGroup | SyncGroup) and body.member_id:
            self._supersede(scene, body)
        scene.tickets[request.id] = ticket
        fails_to_upgrade = fails(body, group, scene.settings)
        number = 0
        if isinstance(body, OffsetCommit):
            watched.writes[request.id] = self.registers.asked(body)
            if group_id in self._readers:
                number = self._checkers.commit_asked(body)
        for checker in watched.checkers:
            checker.asked(ticket)
        return partial(self._answered, watched, ticket, number, fails_to_upgrade, reply_to)

    def _supersede(self, scene: Scene, body: JoinGroup | SyncGroup) -> None:
        """A member that asks again has given its earlier request up."""
        for request_id, ticket in list(scene.tickets.items()):
            other = ticket.body
            if not isinstance(other, type(body)):
                continue
            if (other.group_id, other.member_id) == (body.group_id, body.member_id):
                del scene.tickets[request_id]

    def _answered(
        self,
        watched: _Watched,
        ticket: Ticket,
        number: int,
        fails_to_upgrade: bool,
        reply_to: ReplyTo,
        reply: ReplyBody,
    ) -> None:
        scene = watched.scene
        node = self._nodes(scene.hosted.node_id)
        now_ms = ticket.asked_ms if node is None else max(node.now_ms(), ticket.asked_ms)
        scene.tickets.pop(ticket.request_id, None)
        writes = watched.writes.pop(ticket.request_id, None)
        body = ticket.body
        if isinstance(body, OffsetCommit) and isinstance(reply, OffsetCommitResponse):
            if writes is not None:
                self.registers.answered(scene.hosted, body, writes, reply)
            if number:
                self._checkers.commit_answered(number, body, reply)
        if isinstance(reply, SyncGroupResponse) and reply.error_code is ErrorCode.NONE:
            assert isinstance(body, SyncGroup)
            self.downgrades.synced(body.group_id, body.member_id, reply.assignment)
        if isinstance(body, ConsumerGroupHeartbeat):
            assert isinstance(reply, ConsumerGroupHeartbeatResponse)
            self.lost_words.answered(body, reply)
            if not ticket.is_stale:
                self.stale_heartbeats.answered(body, reply)
        for checker in watched.checkers:
            checker.answered(ticket, reply, now_ms)
        self._checkers.first_rounds.answered(ticket.client_id, body, reply, was_due=fails_to_upgrade)
        reply_to(reply)

    def heard(self, hosted: HostedCoordinator, event: GroupEvent) -> None:
        """A coordinator says what it did."""
        self.downgrades.heard(hosted, event)
        model = self.models.get(hosted.partition.index)
        if model is not None and isinstance(event, GroupDeleted):
            model.untold.discard(event.group_id)
        node = self._nodes(hosted.node_id)
        watched = self._watched.get(hosted.partition.index)
        if watched is None or watched.scene.hosted is not hosted or node is None:
            return
        now_ms = node.now_ms()
        for checker in watched.checkers:
            checker.heard(event, now_ms)

    def fetched(self, body: OffsetFetch, answer: OffsetFetchResponse, reader: str) -> None:
        """A node has answered a member that asks for its offsets; nothing happened in between."""
        if answer.error_code is not ErrorCode.NONE:
            return
        for each in answer.offsets:
            if each.error_code is ErrorCode.NONE:
                self.registers.read((body.group_id, each.partition), each.offset, reader)

    # ---- logs -------------------------------------------------------------------------------------

    def appended(self, partition: Partition) -> None:
        """A batch is in the log."""
        if partition.topic == TRANSACTIONS_TOPIC:
            self.transactions.logged(_last_batch(partition), self._world_ms())
            return
        if partition.topic != OFFSETS_TOPIC:
            return
        raw = _last_batch(partition)
        if not raw:
            return
        self.transactions.written(raw)
        model = self.models.setdefault(partition.index, LogModel())
        watched = self._watched.get(partition.index)
        # What was decided before a move goes to the log in it: its time is by the clock of who decided.
        node = self._nodes(partition.leader if watched is None else watched.scene.hosted.node_id)
        now_ms = node.now_ms() if node is not None else self._world_ms()
        settled = {place for offsets in model.pending.values() for place in offsets}
        for written in model.take(raw):
            key = written.key
            if isinstance(key, OffsetCommitKey) and written.value is None and written.before is not None:
                self._offset_deleted((key.group, (key.topic, key.partition)))
            if watched is not None:
                for checker in watched.checkers:
                    checker.written(written, now_ms)
        settled -= {place for offsets in model.pending.values() for place in offsets}
        for place in sorted(settled):
            if place in model.committed:
                self.registers.set_by_log(place, model.committed[place].value.offset)

    def _offset_deleted(self, place: GroupPartition) -> None:
        self.registers.set_by_log(place, -1)
        self._checkers.deleted(place)

    def verify_logs(self, now_ms: int) -> None:
        """Whether coordinators that had nothing but the logs would know every acknowledged commit."""
        groups = {group for group, _ in self._checkers.acknowledged_partitions()}
        for index in sorted({self._cluster.offsets_partition(group) for group in groups}):
            partition = self._cluster.topics[OFFSETS_TOPIC].partitions[index]
            hosted = HostedCoordinator(
                partition,
                self._cluster.settings.group,
                str,
                self._cluster.image,
                self._cluster.group_settings,
            )
            hosted.load(_ALL_BATCHES, now_ms)
            self._verify(hosted, "the log")
            live = self._cluster.coordinators.hosted.get(index)
            if live is not None and live.is_idle and not live.is_loading:
                self._compare_consumer_groups(live, hosted)

    def _compare_consumer_groups(self, live: HostedCoordinator, loaded: HostedCoordinator) -> None:
        """A coordinator that had nothing but the log would hold the same."""
        for group in sorted({*live.coordinator.consumer, *loaded.coordinator.consumer}):
            mine = live.coordinator.describe_consumer_group(group)
            theirs = loaded.coordinator.describe_consumer_group(group)
            for each in (mine, theirs):
                each.members.sort(key=lambda member: member.member_id)
            if mine != theirs:
                self._checkers.broken(RECONCILES, f"{group}: its log has it otherwise than its coordinator")

    def _verify(self, hosted: HostedCoordinator, where: str) -> None:
        for group, (topic, index) in self._checkers.acknowledged_partitions():
            if self._cluster.offsets_partition(group) != hosted.partition.index:
                continue
            requested = FetchTopic(name=topic, topic_id=None, partition_indexes=(index,))
            fetched = hosted.coordinator.fetch_offsets(group, (requested,), require_stable=False)
            offset = fetched[0].offsets[0].committed_offset
            retention_ms = self._cluster.settings.group.offsets_retention_ms
            self._checkers.committed((group, (topic, index)), offset, retention_ms, where)


def _last_batch(partition: Partition) -> bytes:
    """The batch that was appended just now; nothing if the log does not have it."""
    return next(iter(partition.log.batches(partition.log.end_offset - 1)), b"")
