"""A coordinator and a few members, and all that can happen next. No time passes but what an event needs.

Requests of members and their answers lie on the network until an event takes one of them. What is no part of
the protocol of the group (metadata, offsets, records) is answered at once.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from kgroup.group.coordinator.classic.group import Member as ClassicGroupMember
from kgroup.group.coordinator.classic.rounds import SESSION as CLASSIC_SESSION
from kgroup.group.coordinator.consumer.rules import SESSION as CONSUMER_SESSION
from kgroup.group.coordinator.coordinator import GroupCoordinator
from kgroup.group.coordinator.events import GroupDeleted
from kgroup.group.coordinator.metadata_image import FixedImage, TopicImage
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import Request, Step
from kgroup.group.coordinator.timers import TimerKey
from kgroup.group.member.classic.member import ClassicMember
from kgroup.group.member.consumer.member import ConsumerMember
from kgroup.group.member.new import Member, new_member
from kgroup.group.member.settings import GroupProtocol, MemberSettings, OffsetReset
from kgroup.group.member.step import Answered, CallbackKind, Close, Failed, MemberStep, Poll, Subscribe
from kgroup.log.files.entries import LoggedEntry
from kgroup.protocol.requests.client import (
    CommittedOffset,
    Fetch,
    FindCoordinator,
    FindCoordinatorResponse,
    ListOffsets,
    Metadata,
    MetadataResponse,
    Node,
    OffsetFetch,
    OffsetFetchResponse,
    PartitionMetadata,
    TopicMetadata,
)
from kgroup.protocol.requests.coordinator import JoinGroup
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.watch.reconciliation import Books, Holder
from kgroup.sim.watch.result import TARGETS_FIT
from kgroup.sim.watch.stale_heartbeats import StaleHeartbeats
from kgroup.sim.watch.targets import misfits

GROUP, TOPIC, TOPIC_ID = "g", "t", UUID(int=7)
_NODE = Node(node_id=1, host="node", port=9092)
_FAR_MS = 1_000_000_000
_START_MS = 1_000_000
_SETTLE_ROUNDS = 80


class BrokenPromiseError(AssertionError):
    """Something happened that never may."""


class Event(NamedTuple):
    """`what` happens, to the member or the message with this number."""

    what: str
    number: int = 0


@dataclass(slots=True)
class _Message:
    """A request or an answer on its way. `life`: of which process of the member; -1: nobody waits for it."""

    member: int
    life: int
    request_id: int
    body: Any
    is_answer: bool = False
    number: int = 0


@dataclass(slots=True)
class _Process:
    machine: Member
    owned: set[TopicPartition]
    now_ms: int = _START_MS
    is_closing: bool = False


class SmallWorld:
    """`faults`: how many things may go wrong: a crash, a broken connection, a fail-over, a leave.

    `joined`: that many members are in the group already, and all has settled. `late_requests`: what was sent
    on a connection that has broken may still arrive, at any time.
    """

    def __init__(
        self,
        protocols: Iterable[GroupProtocol],
        partitions: int,
        faults: int,
        *,
        late_requests: bool = False,
        joined: int = 0,
    ) -> None:
        self._protocols = tuple(protocols)
        self._partitions = partitions
        self.faults_left = faults
        self._late_requests = late_requests
        self._lives = [0] * len(self._protocols)
        self._processes: list[_Process | None] = [None] * len(self._protocols)
        self._network: list[_Message] = []
        self._waiting: dict[int, _Message] = {}  # requests that the coordinator has, by their number
        self._next_number = 0
        self._log: list[LoggedEntry] = []
        self._uuids = 0
        self._image = FixedImage([TopicImage(name=TOPIC, topic_id=TOPIC_ID, partitions=partitions)])
        self._settings = GroupSettings(
            initial_rebalance_delay_ms=0,
            consumer_assignment_interval_ms=0,
            offsets_retention_check_interval_ms=_FAR_MS,
        )
        self._books = Books(
            self._broken,
            self._image.name_of,
            lambda: None,
            known=self._broken,
            stale=StaleHeartbeats(self._image.name_of),
        )
        self._coordinator = self._new_coordinator()
        if joined:
            later, self._protocols = self._protocols[joined:], self._protocols[:joined]
            self._processes, self._lives = self._processes[:joined], self._lives[:joined]
            self.settle()
            self._protocols += later
            self._processes += [None] * len(later)
            self._lives += [0] * len(later)
            self.faults_left = faults

    # ---- what can happen ----------------------------------------------------------------------

    def events(self) -> list[Event]:
        """All that can happen now, in a fixed order."""
        events = []
        for number, process in enumerate(self._processes):
            if process is None:
                # They are all alike: which one starts first makes no difference.
                if not self._lives[number] and all(self._lives[:number]):
                    events.append(Event("start", number))
                continue
            if process.machine.wants_poll(process.now_ms):
                events.append(Event("poll", number))
            if self._may_beat(number, process):
                events.append(Event("beat", number))
        events += [Event("deliver", index) for index in self._deliverable()]
        events += [Event("expire", index) for index, _ in enumerate(self._dead_sessions())]
        if self.faults_left:
            for number, process in enumerate(self._processes):
                if process is not None:
                    events.append(Event("crash", number))
                    if not process.is_closing:
                        events.append(Event("leave", number))
                    if self._has_message(number):
                        events.append(Event("break", number))
            events.append(Event("fail-over"))
        return events

    def _may_beat(self, number: int, process: _Process) -> bool:
        due_ms = process.machine.next_deadline_ms()
        return due_ms is not None and due_ms < process.now_ms + _FAR_MS // 2 and not self._has_message(number)

    def _has_message(self, number: int) -> bool:
        life = self._lives[number]
        messages = [*self._network, *self._waiting.values()]
        return any(each.member == number and each.life == life for each in messages)

    def _deliverable(self) -> list[int]:
        """The first message of each connection; one that was broken is a connection by itself."""
        seen: set[tuple[int, int, bool]] = set()
        found = []
        for index, message in enumerate(self._network):
            connection = (message.member, message.life, message.is_answer)
            if message.life == -1 or connection not in seen:
                seen.add(connection)
                found.append(index)
        return found

    def _dead_sessions(self) -> list[TimerKey]:
        """Sessions of ids that no process has any more, nor is about to hear of."""
        keys = self._coordinator._timers._deadlines
        return sorted(
            key
            for key in keys
            if key.kind in (CLASSIC_SESSION, CONSUMER_SESSION) and self._is_dead(key.member_id)
        )

    def _is_dead(self, member_id: str) -> bool:
        if any(each is not None and each.machine.member_id == member_id for each in self._processes):
            return False
        client_id = re.fullmatch(r"c(\d)-.*", member_id)  # as coordinators name classic members
        if client_id is None:
            return True
        number = int(client_id[1])
        return self._processes[number] is None or not self._has_message(number)

    # ---- it happens -----------------------------------------------------------------------------

    def happen(self, event: Event) -> None:
        """Let it happen, and look whether every promise is kept."""
        match event.what:
            case "start":
                self._start(event.number)
            case "poll":
                self._poll(event.number)
            case "beat":
                self._beat(event.number)
            case "deliver":
                self._deliver(self._network.pop(event.number))
            case "expire":
                self._expire(self._dead_sessions()[event.number])
            case "crash":
                self.faults_left -= 1
                self._gone(event.number)
            case "leave":
                self.faults_left -= 1
                process = self._process(event.number)
                process.is_closing = True
                self._take(event.number, process.machine.handle(Close(), process.now_ms))
            case "break":
                self.faults_left -= 1
                self._break(event.number)
            case _:
                self.faults_left -= 1
                self._fail_over()
        self._look()

    def _process(self, number: int) -> _Process:
        process = self._processes[number]
        assert process is not None
        return process

    def _start(self, number: int) -> None:
        self._lives[number] += 1
        settings = MemberSettings(
            group_id=GROUP,
            client_id=f"c{number}",
            group_protocol=self._protocols[number],
            partition_assignment_strategy=("range",),
            max_poll_interval_ms=_FAR_MS,
            metadata_max_age_ms=_FAR_MS,
            enable_auto_commit=False,
            auto_offset_reset=OffsetReset.EARLIEST,
        )
        drawn = (number + 1) / 16
        machine = new_member(settings, [_NODE], lambda: drawn)
        self._processes[number] = process = _Process(machine, set())
        self._take(number, machine.handle(Subscribe(topics=(TOPIC,)), process.now_ms))
        self._poll(number)
        self._poll(number)

    def _poll(self, number: int) -> None:
        process = self._process(number)
        self._take(number, process.machine.handle(Poll(), process.now_ms))

    def _beat(self, number: int) -> None:
        process = self._process(number)
        due_ms = process.machine.next_deadline_ms()
        assert due_ms is not None
        process.now_ms = max(process.now_ms, due_ms)
        self._take(number, process.machine.expire(process.now_ms))

    def _take(self, number: int, step: MemberStep) -> None:
        process = self._process(number)
        for callback in step.callbacks:
            if callback.kind is CallbackKind.ASSIGNED:
                process.owned |= set(callback.partitions)
            else:
                process.owned -= set(callback.partitions)
        if step.disconnects:  # what was under way there has failed for the member
            self._orphan(number)
        if step.error is not None or step.closed:
            self._gone(number)
            return
        for send in step.requests:
            answer = self._plain_answer(send.body)
            if answer is not None:
                again = process.machine.handle(Answered(send.request_id, answer), process.now_ms)
                self._take(number, again)
                if self._processes[number] is not process:
                    return
            elif not isinstance(send.body, Fetch | ListOffsets):
                self._network.append(_Message(number, self._lives[number], send.request_id, send.body))

    def _plain_answer(self, body: Any) -> Any:
        match body:
            case FindCoordinator():
                return FindCoordinatorResponse(node=_NODE)
            case Metadata():
                partitions = tuple(
                    PartitionMetadata(partition=each, leader=1) for each in range(self._partitions)
                )
                topic = TopicMetadata(name=TOPIC, partitions=partitions, topic_id=TOPIC_ID)
                return MetadataResponse(nodes=(_NODE,), topics=(topic,))
            case OffsetFetch():
                asked = [(topic, number) for topic, numbers in body.topics for number in numbers]
                return OffsetFetchResponse(
                    offsets=tuple(CommittedOffset(partition=each, offset=0) for each in asked)
                )
            case _:
                return None

    def _deliver(self, message: _Message) -> None:
        if message.is_answer:
            process = self._processes[message.member]
            if process is not None and message.life == self._lives[message.member]:
                step = process.machine.handle(Answered(message.request_id, message.body), process.now_ms)
                self._take(message.member, step)
            return
        self._next_number += 1
        message.number = self._next_number
        self._waiting[message.number] = message
        body = message.body
        if isinstance(body, JoinGroup):  # as of the newest version
            body = replace(body, needs_known_id=True, can_skip_assignment=True)
        request = Request(id=message.number, body=body, client_id=f"c{message.member}", client_host="/h")
        self._decided(self._coordinator.handle(request, _START_MS))
        self._decided(self._coordinator.expire(_START_MS))  # the initial delay of a classic group is none

    def _decided(self, step: Step) -> None:
        for record in step.records():
            self._log.append(
                LoggedEntry(
                    partition=0,
                    offset=len(self._log),
                    timestamp_ms=record.timestamp_ms,
                    leader_epoch=0,
                    producer_id=None,
                    entry=record.entry,
                )
            )
        if any(isinstance(event, GroupDeleted) for event in step.events):
            self._books.forget(GROUP)  # its epochs begin again
        for reply in step.replies:
            asked = self._waiting.pop(reply.request_id)
            if asked.life != -1:
                self._network.append(
                    _Message(asked.member, asked.life, asked.request_id, reply.body, is_answer=True)
                )

    def _expire(self, key: TimerKey) -> None:
        self._coordinator._timers.schedule(key, _START_MS)
        self._decided(self._coordinator.expire(_START_MS))

    # ---- faults -----------------------------------------------------------------------------------

    def _orphan(self, number: int) -> list[int]:
        """Nobody waits for these any more; returns the requests' ids. What has arrived is decided on."""
        life = self._lives[number]
        mine = [
            each
            for each in [*self._network, *self._waiting.values()]
            if each.member == number and each.life == life
        ]
        for message in mine:
            message.life = -1
        self._network = [
            each for each in self._network if each.life != -1 or (self._late_requests and not each.is_answer)
        ]
        return [each.request_id for each in mine]

    def _gone(self, number: int) -> None:
        self._orphan(number)
        self._processes[number] = None

    def _break(self, number: int) -> None:
        process = self._process(number)
        for request_id in self._orphan(number):
            if self._processes[number] is process:
                step = process.machine.handle(Failed(request_id=request_id, why="broken"), process.now_ms)
                self._take(number, step)

    def _fail_over(self) -> None:
        """Another node reads the log. Who waited at the old one loses its connection."""
        waited = sorted({each.member for each in self._waiting.values() if each.life != -1})
        self._waiting = {key: each for key, each in self._waiting.items() if each.life != -1}
        self._coordinator = self._new_coordinator()
        for number in waited:
            if self._processes[number] is not None:
                self._break(number)
        self._waiting = {}

    def _new_coordinator(self) -> GroupCoordinator:
        coordinator = GroupCoordinator(0, self._settings, self._new_uuid, self._image)
        for record in self._log:
            coordinator.apply(record)
        coordinator.loaded(_START_MS)
        return coordinator

    def _new_uuid(self) -> str:
        self._uuids += 1
        return str(UUID(int=self._uuids))

    # ---- promises ---------------------------------------------------------------------------------

    def _broken(self, checker: str, why: str) -> None:
        raise BrokenPromiseError(f"{checker}: {why}")

    def _look(self) -> None:
        running = [each for each in self._processes if each is not None]
        of_consumer = self._coordinator.consumer.watched(GROUP)
        if of_consumer is not None:
            self._books.look(
                of_consumer,
                [
                    Holder(
                        name=process.machine.member_id,
                        member_id=process.machine.member_id,
                        epoch=process.machine.generation,
                        owned=frozenset(process.owned),
                    )
                    for process in running
                    if isinstance(process.machine, ConsumerMember)
                ],
                is_logged=True,
            )
            for why in misfits(of_consumer, self._image):
                self._broken(TARGETS_FIT, why)
        owners: dict[tuple[int, TopicPartition], str] = {}
        for process in running:
            machine = process.machine
            if not isinstance(machine, ClassicMember) or not machine.is_settled:
                continue
            for partition in process.owned:
                owner = owners.setdefault((machine.generation, partition), machine.member_id)
                if owner != machine.member_id:
                    self._broken("one-owner", f"{partition}: {owner} and {machine.member_id}")

    def settle(self) -> None:
        """Nothing goes wrong any more, and everybody gets a turn: each partition has to get one reader."""
        self.faults_left = 0
        for _ in range(_SETTLE_ROUNDS):
            if self.is_settled:
                return
            for what in ("start", "expire", "deliver"):
                while (event := self._first(what)) is not None:
                    self.happen(event)
            for number, _ in enumerate(self._processes):
                for what in ("poll", "beat"):
                    if Event(what, number) in self.events():
                        self.happen(Event(what, number))
        raise BrokenPromiseError(f"reconciles: {self.state()}")

    def _first(self, what: str) -> Event | None:
        return next((each for each in self.events() if each.what == what), None)

    @property
    def is_settled(self) -> bool:
        """All who live have what they shall have, and all is read once."""
        if not all(self._lives):
            return False
        running = [each for each in self._processes if each is not None]
        if any(each.is_closing for each in running) or self._dead_sessions():
            return False
        owned = [partition for each in running for partition in each.owned]
        everything = [(TOPIC, number) for number in range(self._partitions)] if running else []
        return all(each.machine.is_settled for each in running) and sorted(owned) == everything

    # ---- the state -------------------------------------------------------------------------------

    def state(self) -> str:
        """Two worlds with the same state have the same future. Ids of requests and clocks are left out."""
        members = [
            None if each is None else (_member_state(each.machine), sorted(each.owned), each.is_closing)
            for each in self._processes
        ]
        network = [(each.member, each.life == -1, each.is_answer, each.body) for each in self._network]
        waiting = [(each.member, each.life == -1, each.body) for each in self._waiting.values()]
        return repr((members, network, waiting, self._group_state(), self._lives, self.faults_left))

    def _group_state(self) -> Any:
        of_consumer = self._coordinator.consumer.watched(GROUP)
        sessions = self._dead_sessions()
        if of_consumer is not None:
            members = sorted(of_consumer.members.items())
            targets = sorted((name, sorted(target.items())) for name, target in of_consumer.targets.items())
            return of_consumer.epoch, of_consumer.assignment_epoch, members, targets, sessions
        classic = self._coordinator.classic.watched(GROUP)
        if classic is None:
            return None
        return (
            classic.state,
            classic.generation_id,
            classic.leader_id,
            sorted(classic.pending_joins),
            sorted(
                (
                    each.member_id,
                    each.assignment,
                    each.awaits_join,
                    each.sync_request is not None,
                    each.is_new,
                )
                for each in classic.members.values()
            ),
            sessions,
        )


def _classic_member_state(member: ClassicGroupMember) -> Any:
    waits = member.awaits_join, member.sync_request is not None
    return member.member_id, member.assignment, waits, member.is_new


def _member_state(machine: Member) -> Any:
    membership = machine._membership
    if isinstance(machine, ConsumerMember):
        beats = membership._heartbeats
        return (
            machine.state,
            machine.generation,
            membership._target,
            membership._local,
            membership._under_way is None,
            beats._said,
            beats.request is None,
        )
    return (
        machine.state,
        machine.generation,
        machine.member_id,
        membership._rejoin_reason is None,
        membership._is_prepared,
        membership._assignment,
        membership._leading is None,
        membership._request is None,
        membership._heartbeats.request is None,
    )
