"""A consumer process of the world: what `net/member/client.py` and its user do, on the virtual clock.

The user polls, works through the records that it gets, and polls again; while it waits in `poll`, answers and
timers wake it. It starts a partition that has no commit at its earliest record: what is produced before the
group's first commit must not be skipped.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Final

from kgroup.group.member.consumer.member import ConsumerMember
from kgroup.group.member.new import Member, new_member
from kgroup.group.member.positions import Position, PositionState
from kgroup.group.member.settings import GroupProtocol, MemberSettings, OffsetReset
from kgroup.group.member.step import (
    Answered,
    Callback,
    CallbackKind,
    Close,
    Commit,
    Failed,
    MemberInput,
    MemberStep,
    Poll,
    Subscribe,
    SubscribePattern,
    Unsubscribe,
)
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import FetchResponse, MemberRequest, MemberResponse, Node
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeatResponse
from kgroup.protocol.requests.coordinator import HeartbeatResponse, OffsetCommitResponse, SyncGroup
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.scenario.interest import Interest, interest_of
from kgroup.sim.scenario.scenario import CommitMode, SimMember
from kgroup.sim.watch.checkers import FATAL_TO_CONSUMERS
from kgroup.sim.watch.leading import Leading
from kgroup.sim.watch.ownership import Ownership
from kgroup.sim.watch.reconciliation import Holder
from kgroup.sim.watch.resets import Resets
from kgroup.sim.watch.result import REPLICATED, SUBSCRIBED
from kgroup.sim.watch.unheard import Unheard
from kgroup.sim.world.member_connections import Connections
from kgroup.sim.world.member_trace import MemberTrace
from kgroup.sim.world.node_host import NodeHost
from kgroup.sim.world.process import Process
from kgroup.sim.world.surroundings import Surroundings
from kgroup.sim.world.work import Work

Batch = tuple[tuple[TopicPartition, int, int], ...]
"""Partitions with the first and the last offset handed out."""


class Doing(StrEnum):
    """The activity of the consumer's user."""

    POLLING = "polling"
    PROCESSING = "processing"
    COMMITTING = "committing"
    CLOSING = "closing"
    IDLE = "idle"
    """It subscribes to nothing, and may not poll."""


_QUIET: Final = (HeartbeatResponse, ConsumerGroupHeartbeatResponse, FetchResponse, OffsetCommitResponse)
_FAR: Final = 1 << 62
_SUPERVISOR_MS: Final = 5_000
_POLLING: Final = Doing.POLLING  # asked for at every turn; before Python 3.12 naming it is slow


class MemberHost(Process):
    """One consumer of the scenario, through all the processes that it has had."""

    def __init__(
        self,
        spec: SimMember,
        around: Surroundings,
        *,
        number: int,
        nodes: dict[str, NodeHost],
        bootstrap: Sequence[Node],
        codec: bool,
    ) -> None:
        super().__init__(spec.name, around.schedule)
        self.spec = spec
        self.machine: Member | None = None
        self.protocol = spec.protocol
        self.owned: set[TopicPartition] = set()
        self.interest = interest_of(spec)
        self.on_interest: Callable[[], None] = lambda: None
        """Told when the user of a running process has subscribed to something else."""
        self.read_to: Callable[[TopicPartition], int] = lambda partition: _FAR
        """The offset up to which a partition may be read now."""
        self._next_interest: Interest | None = None
        self._bootstrap = bootstrap
        self._random = around.random(f"member {spec.name}")
        self._checkers = around.checkers
        self._measures = around.measures
        self._trace = None if around.tell is None else MemberTrace(self, spec.group, around.tell)
        self._resets: Resets | None = None
        self._connections = Connections(
            self,
            address=f"/10.0.{number // 250}.{number % 250 + 1}",
            first_token=number << 32,
            network=around.network,
            nodes=nodes,
            codec=codec,
            on_answer=self._answered,
            on_failure=self._failed,
            on_second_answer=self._answered_again,
            tell=around.tell,
        )
        self._timer_ms: int | None = None
        self._due_ms: int | None = None  # by the machine's clock
        self._doing = Doing.POLLING
        self._poll_until_ms = 0
        self._work = Work(self)
        self._commit_id = 0
        self._wants_close = False
        self._starts_again = False

    # ---- life -------------------------------------------------------------------------------------

    def start(self) -> None:
        """A new process, unless one runs."""
        if self.is_running:
            return
        self.number += 1
        self.is_running = True
        self._doing, self._wants_close = Doing.POLLING, False
        self._timer_ms = None
        settings = self._settings()
        self.machine = new_member(settings, self._bootstrap, self._random.random)
        self._leading = Leading()
        self.unheard = Unheard()
        self._resets = None
        if settings.auto_offset_reset is OffsetReset.LATEST:
            self._resets = Resets(self.spec.group, self.name, self._checkers, self.read_to)
        self.ownership = Ownership(self.name, settings, self._checkers, lambda: self.schedule.now_ms)
        self._restless_ms = self.schedule.now_ms
        if self._trace is not None:
            self._trace.started()
        self._measures.stop(self.name, self.schedule.now_ms)
        self.interest, self._next_interest = interest_of(self.spec), None
        self._handle(_subscription(self.interest))
        self.on_interest()
        self._poll()

    def _settings(self) -> MemberSettings:
        spec = self.spec
        return MemberSettings(
            group_id=spec.group,
            client_id=self.spec.name,
            group_protocol=self.protocol,
            group_instance_id=spec.instance_id,
            partition_assignment_strategy=spec.assignors,
            session_timeout_ms=spec.session_timeout_ms,
            heartbeat_interval_ms=spec.heartbeat_interval_ms,
            max_poll_interval_ms=spec.max_poll_interval_ms,
            max_poll_records=spec.max_poll_records,
            auto_offset_reset=spec.auto_offset_reset,
            enable_auto_commit=spec.commit_mode is CommitMode.AUTO,
            auto_commit_interval_ms=spec.auto_commit_interval_ms,
            fetch_max_wait_ms=spec.fetch_max_wait_ms,
            metadata_max_age_ms=spec.metadata_max_age_ms,
            request_timeout_ms=spec.request_timeout_ms,
        )

    def topics(self, there: Iterable[str]) -> tuple[str, ...]:
        """The topics that are `there` and that it subscribes to, or would if it ran."""
        return self.interest.among(there)

    @property
    def is_there(self) -> bool:
        """Whether it runs and wants to be in its group."""
        return self.is_running and not self.interest.is_nothing

    def subscribe(self, interest: Interest) -> None:
        """The user changes its mind, at once."""
        if self.is_running:
            self.deliver(partial(self._if_same, self.number, partial(self._subscribe, interest)))

    def change_interest(self, interest: Interest) -> None:
        """The user changes its mind when it is done with what it has in hand."""
        if self.is_running:
            self._next_interest = interest
            self.deliver(partial(self._if_same, self.number, self._change_if_idle))

    def _change_if_idle(self) -> None:
        if self._next_interest is None or self._doing not in (Doing.POLLING, Doing.IDLE):
            return
        interest, self._next_interest = self._next_interest, None
        self._subscribe(interest)
        if self.machine is not None and self._doing is _POLLING:
            self._poll()

    def _subscribe(self, interest: Interest) -> None:
        if self._doing is Doing.CLOSING:
            return
        changes_kind = (interest.pattern is None) != (self.interest.pattern is None)
        if changes_kind or interest.is_nothing:  # Kafka's consumer has to unsubscribe from the other kind
            self.ownership.unsubscribes()
            self._handle(Unsubscribe())
        was_nothing, self.interest = self.interest.is_nothing, interest
        now_ms = self.schedule.now_ms
        if interest.is_nothing:
            self._doing = Doing.IDLE
            self._measures.go_on(self.name, now_ms)
        else:
            self._handle(_subscription(interest))
            if was_nothing:
                self._doing = Doing.POLLING
                self._measures.stop(self.name, now_ms)
        self.on_interest()

    def kill(self) -> None:
        """The process is gone without a word; the machine that it ran on resets its connections."""
        if self.is_running:
            self._end("killed")

    def close(self) -> None:
        """The user closes the consumer when it is done with what it has in hand."""
        if self.is_running:
            self._wants_close = True
            self.deliver(partial(self._if_same, self.number, self._close_if_idle))

    def start_again(self) -> None:
        """Start, once a process that is closing has come to its end."""
        if self.is_running:
            self._starts_again = True
        else:
            self.start()

    def switch_protocol(self) -> None:
        """Restart in order with the other protocol; if it does not run, its next process has that."""
        is_classic = self.protocol is GroupProtocol.CLASSIC
        self.protocol = GroupProtocol.CONSUMER if is_classic else GroupProtocol.CLASSIC
        if self.is_running:
            self._starts_again = True
            self.close()

    @property
    def holder(self) -> Holder | None:
        """The partitions it has as a member of the consumer protocol, if it runs as one."""
        machine = self.machine
        if not isinstance(machine, ConsumerMember):
            return None
        return Holder(
            name=self.name,
            member_id=machine.member_id,
            epoch=machine.generation,
            owned=frozenset(self.owned),
        )

    def _close_if_idle(self) -> None:
        if self._doing in (Doing.POLLING, Doing.IDLE):
            self._doing = Doing.CLOSING
            assert self.machine is not None
            self.ownership.closes(self.machine.member_id, self.machine.is_settled, self.now_ms())
            self._handle(self._closing_call())

    def _closing_call(self) -> Close:
        return Close()

    def pause(self, until_ms: int) -> None:
        """The process stands still and does not know it."""
        if not self.is_running:
            return
        self._work.postpone(until_ms - max(self.schedule.now_ms, self.still_until_ms))
        for partition in self.owned:
            self._measures.release((self.spec.group, partition), self.name, self.schedule.now_ms)
        self.stand_still(until_ms)
        self.deliver(partial(self._if_same, self.number, self._resume))

    def _resume(self) -> None:
        for partition in sorted(self.owned):
            self._measures.hold((self.spec.group, partition), self.name, self.schedule.now_ms)

    def _if_same(self, number: int, action: Callable[[], None]) -> None:
        """Run what was meant for a process only if it still runs: nothing reaches its successor."""
        if self.is_running and number == self.number:
            action()

    def _end(self, why: str) -> None:
        now_ms = self.schedule.now_ms
        self.is_running = False
        self.stir()
        self._work.drop()
        for partition in self.owned:
            self._measures.release((self.spec.group, partition), self.name, now_ms)
        self.owned.clear()
        self._measures.go_on(self.name, now_ms)
        self._connections.close()
        self.machine = None
        if self._trace is not None:
            self._trace.stopped(why)
        if self._starts_again:
            self._starts_again = False
            self.schedule.at(now_ms, self.start)

    @property
    def reads(self) -> dict[TopicPartition, bool]:
        """The partitions that the running process owns, and whether its position is known."""
        if self.machine is None or self.is_still:
            return {}
        positions = self.machine.positions
        stable = self.machine.is_settled
        return {
            each: stable and each in positions and positions[each].state is PositionState.FETCHING
            for each in self.owned
        }

    @property
    def _positions(self) -> Mapping[TopicPartition, Position]:
        return {} if self.machine is None else self.machine.positions

    # ---- the user ---------------------------------------------------------------------------------

    def _poll(self) -> None:
        if self._wants_close:
            self._close_if_idle()
            return
        if self._next_interest is not None:
            self._change_if_idle()
            return
        self._poll_until_ms = self.now_ms() + self.spec.poll_timeout_ms
        self.ownership.polled()
        step = self._handle(Poll())
        if step.records:
            batch = tuple((partition, many[0].offset, many[-1].offset) for partition, many in step.records)
            self._process(batch, sum(len(many) for _, many in step.records))

    def _process(self, batch: Batch, records: int) -> None:
        self._doing = Doing.PROCESSING
        for partition, first, last in batch:
            if not self.interest.among([partition[0]]):
                where = f"{partition[0]}-{partition[1]}"
                self._checkers.broken(SUBSCRIBED, f"{self.spec.group}: {self.name} is handed out {where}")
            if last >= self.read_to(partition):
                where = f"{partition[0]}-{partition[1]}"
                self._checkers.broken(REPLICATED, f"{self.spec.group}: {self.name} reads {last} of {where}")
            self._checkers.handed_out((self.spec.group, partition), self.name, first)
            self.ownership.handed_out(partition, first, last)
        self._work.begin(records * self.spec.processing_ms, partial(self._processed, batch))

    def slow_down(self, factor: float) -> None:
        """Make its work take `factor` times as long; below 1 it is faster."""
        self._work.slow_down(factor)

    def _processed(self, batch: Batch) -> None:
        for partition, first, last in batch:
            self._measures.process((self.spec.group, partition), first, last)
            if self._trace is not None:
                self._trace.processed(partition, first, last)
        if self.spec.commit_mode is CommitMode.AFTER_PROCESSING:
            self._commit_id += 1
            self._doing = Doing.COMMITTING
            self._handle(Commit(commit_id=self._commit_id))
        else:
            self._doing = Doing.POLLING
        if self._doing is _POLLING:
            self._poll()

    # ---- the machine ------------------------------------------------------------------------------

    def _handle(self, event: MemberInput) -> MemberStep:
        assert self.machine is not None
        return self._carry_out(self.machine.handle(event, self.now_ms()))

    def _carry_out(self, step: MemberStep) -> MemberStep:
        machine = self.machine
        assert machine is not None
        for outcome in step.commits:
            # A refusal comes before the callbacks that follow from it. A member that gives its partitions up
            # ends the commit under way by itself: that is no excuse for giving them up.
            if outcome.error_code is not ErrorCode.REBALANCE_IN_PROGRESS:
                self.ownership.ended(outcome)
        for callback in step.callbacks:
            self._callback(callback)
        for outcome in step.commits:
            self.ownership.ended(outcome)
            if self._trace is not None:
                self._trace.commit_ended(outcome)
            if outcome.commit_id == self._commit_id and self._doing is Doing.COMMITTING:
                self._doing = Doing.POLLING
        for connection_id in step.disconnects:
            for request_id in self._connections.disconnect(connection_id):
                self.ownership.over(request_id)
        for send in step.requests:
            self._measures.requests += 1
            self.ownership.sent(send)
            if self._resets is not None:
                self._resets.asked(send.body)
            if isinstance(send.body, SyncGroup):
                self._led(send.body)
            self._connections.send(send)
        if self._trace is not None:
            self._trace.moved(machine)
        if step.error is not None:
            self._checkers.member_failed(self.name, step.error)
            is_fatal = step.error.error_code in FATAL_TO_CONSUMERS
            is_early = self._checkers.first_rounds.explain(self.name, step.error)
            if isinstance(machine, ConsumerMember) and (is_fatal or is_early):
                # Kafka's consumer does not go on from these; whoever runs it starts it again.
                self.schedule.at(self.schedule.now_ms + _SUPERVISOR_MS, self.start)
            self._end(str(step.error))
        elif step.closed:
            self.ownership.closed(self.now_ms())
            self._end("closed")
        else:
            self._arm_timer()
        return step

    def _led(self, body: SyncGroup) -> None:
        twice = self._leading.hands_out_twice(body)
        if twice:
            self._checkers.assigned_twice(body.group_id, body.generation_id, twice)

    def _callback(self, callback: Callback) -> None:
        now_ms, group = self.schedule.now_ms, self.spec.group
        self.ownership.changed(callback.kind, callback.partitions)
        if callback.kind is CallbackKind.ASSIGNED:
            for partition in callback.partitions:
                self._measures.hold((group, partition), self.name, now_ms)
            self.owned.update(callback.partitions)
            self._measures.go_on(self.name, now_ms)
            if isinstance(self.machine, ConsumerMember):
                self._checkers.on_reconciled(group)
            else:
                who = self.spec.instance_id or f"{self.name}#{self.number}"
                self._checkers.took_over(group, callback.generation, who, sorted(self.owned))
        else:
            for partition in callback.partitions:
                self._measures.release((group, partition), self.name, now_ms)
            self.owned.difference_update(callback.partitions)
            if not self.owned:
                self._measures.stop(self.name, now_ms)
        if self._trace is not None:
            self._trace.changed(callback)

    def _arm_timer(self) -> None:
        assert self.machine is not None
        due_ms = self._due_ms = self.machine.next_deadline_ms()
        if self._doing is _POLLING and (due_ms is None or self._poll_until_ms < due_ms):
            due_ms = self._poll_until_ms
        if due_ms is None:
            return
        # At least a millisecond, as in production: what is due at once was done at once.
        time_ms = max(self.world_ms(due_ms), self.schedule.now_ms + 1)
        if self._timer_ms is None or time_ms < self._timer_ms:
            self._timer_ms = time_ms
            self.schedule.at(time_ms, partial(self._timer_fired, self.number, time_ms))

    def _timer_fired(self, number: int, time_ms: int) -> None:
        if number != self.number or self._timer_ms != time_ms or not self.is_running:
            return
        if self.is_free:
            self._on_timer()
        else:
            self.deliver(partial(self._if_same, number, self._on_timer))

    def _on_timer(self) -> None:
        assert self.machine is not None
        self._timer_ms = None
        now_ms = self.now_ms()
        is_due = self._due_ms is not None and self._due_ms <= now_ms
        if is_due:
            self._carry_out(self.machine.expire(now_ms))
        if self.machine is None:
            return
        waits = self._doing is _POLLING
        if waits and (now_ms >= self._poll_until_ms or self.machine.wants_poll(now_ms)):
            self._poll()
        elif not is_due:
            self._arm_timer()

    def clock_jumped(self) -> None:
        """Do everything that is now due by its clock."""
        if self.is_running:
            self.deliver(partial(self._if_same, self.number, self._on_timer))

    def look(self) -> None:
        """A second has passed: the checkers look at the process."""
        if self.machine is None:
            return
        if self.is_still or self.is_clock_ahead:
            self._restless_ms = self.schedule.now_ms
            return
        restless_ms = max(self._restless_ms, self.jumped_ms)
        is_polling = self._doing is Doing.POLLING
        self.ownership.look(self.machine.is_settled, self.machine.beats, is_polling, restless_ms)

    # ---- what comes back --------------------------------------------------------------------------

    def _answered(self, request_id: int, body: MemberResponse) -> None:
        self._measures.answer(body)
        self._leading.heard(body)
        self.unheard.heard(body)
        self.ownership.over(request_id)
        if self._resets is not None:
            self._resets.heard(body, self._positions)
        self._handle(Answered(request_id=request_id, body=body))
        if self._resets is not None:
            self._resets.acted(self._positions)
        if self._doing is not _POLLING or self.machine is None:
            return
        is_quiet = isinstance(body, _QUIET)
        if not is_quiet or self.machine.wants_poll(self.now_ms()):
            self._poll()

    def _answered_again(self, asked: MemberRequest, body: MemberResponse) -> None:
        self.unheard.answered_again(asked, body)

    def _failed(self, request_ids: Iterable[int], why: str) -> None:
        for request_id in request_ids:
            if self.machine is not None:
                self.ownership.over(request_id)
                self._handle(Failed(request_id=request_id, why=why))
        if self.is_running and self._doing is _POLLING:
            self._poll()


def _subscription(interest: Interest) -> Subscribe | SubscribePattern:
    if interest.pattern is not None:
        return SubscribePattern(pattern=interest.pattern)
    return Subscribe(topics=interest.topics)
