"""A process of an old consumer: its script, its session and its reader, on the world's clock."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random

from kgroup.assignors.registry import CLIENT_ASSIGNORS
from kgroup.group.member.identity import MemberState
from kgroup.group.member.settings import OffsetReset
from kgroup.group.member.step import CallbackKind
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.scenario.interest import interest_of
from kgroup.sim.scenario.scenario import CommitMode, SimMember, ZookeeperSettings
from kgroup.sim.watch.tallies import Measures
from kgroup.sim.watch.trace import MemberMoved, PartitionsChanged, RecordsProcessed
from kgroup.sim.world.network import Network
from kgroup.sim.world.schedule import Schedule
from kgroup.sim.zookeeper.client import ZookeeperClient
from kgroup.sim.zookeeper.consumer import Script, Sleep, WaitForWatch, ZookeeperConsumer
from kgroup.sim.zookeeper.ensemble import Answer, Zookeeper
from kgroup.sim.zookeeper.reader import Reader
from kgroup.sim.zookeeper.service import Service
from kgroup.sim.zookeeper.trace import (
    ConsumerRegistered,
    RebalanceAttempted,
    RebalanceGivenUp,
    SessionExpired,
    WatchFired,
    ZookeeperEvent,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSurroundings:
    """Shared by all processes. `end_of(member, partition)`: the log end, None without a leader in reach.

    `on_session(session, process)`: the process that hears of this session's watches.
    """

    schedule: Schedule
    network: Network
    rng: Random
    zookeeper: Zookeeper
    service: Service
    settings: ZookeeperSettings
    measures: Measures
    tell: Callable[[ZookeeperEvent], None]
    end_of: Callable[[str, TopicPartition], int | None]
    on_session: Callable[[int, "ConsumerProcess"], None]


class ConsumerProcess:
    """One process, from its start to its end: `on_gone` is called with `closed` or `killed`.

    A process that was killed, or is closed, never does anything again.
    """

    def __init__(
        self, member: SimMember, around: ConsumerSurroundings, on_gone: Callable[[str], None]
    ) -> None:
        self.member = member
        self.alive = True
        self._around = around
        self._on_gone = on_gone
        self._state = MemberState.UNJOINED
        self._is_closing = False
        self._still = 0
        self._overslept: list[Callable[[], None]] = []
        self._fired = False
        self._waiting: Callable[[Answer], None] | None = None
        self.client = ZookeeperClient(
            name=member.name,
            schedule=around.schedule,
            network=around.network,
            rng=around.rng,
            zookeeper=around.zookeeper,
            session_timeout_ms=around.settings.session_timeout_ms,
            ask=partial(around.service.request, member),
            on_session=self._session_began,
            on_watch=self._watch_fired,
            on_expired=lambda: self._tell(SessionExpired),
        )
        self.reader = Reader(
            member,
            around.schedule,
            around.measures,
            end_of=lambda partition: around.end_of(member.name, partition),
            on_processed=self._processed,
            on_batch_done=self._batch_done,
        )
        self._consumer = ZookeeperConsumer(
            consumer_id=_consumer_id(member, around),
            group=member.group,
            interest=interest_of(member),
            assignor=CLIENT_ASSIGNORS["roundrobin" if "roundrobin" in member.assignors[:1] else "range"],
            retries_max=around.settings.rebalance_max_retries,
            backoff_ms=around.settings.rebalance_backoff_ms,
            auto_commit=member.commit_mode is CommitMode.AUTO,
            fetchers=self,
            first_of=self._first_of,
            on_attempt=self._attempted,
            on_outcome=self._rebalanced,
        )

    @property
    def consumer_id(self) -> str:
        """The name of its znode."""
        return self._consumer.consumer_id

    def requests(self) -> int:
        """The number of requests it has sent so far, to ZooKeeper and to brokers."""
        return self.client.requests_and_pings() + self.reader.fetches

    def begin(self) -> None:
        """Connect; the rest follows from having a session."""
        self._around.measures.stop(self.member.name, self._now_ms)
        self.client.connect()
        if self.member.commit_mode is CommitMode.AUTO:
            self._commit_now_and_then()

    # ---- what is done to it -------------------------------------------------------------------

    def close(self) -> None:
        """Stop reading, commit, and end the session."""
        self._is_closing = True
        self._run(self._consumer.commit(self.stop()), self._closed)

    def kill(self) -> None:
        """Gone without a word."""
        self.reader.stand_still()
        self._gone()
        self.client.die()

    def pause(self) -> None:
        """Stand still."""
        self._still += 1
        if self._still == 1:
            self.reader.stand_still()
            self.client.stand_still()
            self._around.measures.go_on(self.member.name, self._now_ms)

    def resume(self) -> None:
        """Continue, unaware."""
        self._still -= 1
        if self._still or not self.alive:
            return
        if self._state is not MemberState.STABLE:
            self._around.measures.stop(self.member.name, self._now_ms)
        self.reader.wake()
        self.client.wake()
        overslept, self._overslept = self._overslept, []
        for action in overslept:
            action()

    # ---- fetchers -----------------------------------------------------------------------------

    def start(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from these offsets: the rebalance has succeeded."""
        self.reader.start(positions)
        self._around.measures.go_on(self.member.name, self._now_ms)
        self._changed(CallbackKind.ASSIGNED, positions)

    def stop(self) -> dict[TopicPartition, int]:
        """Read nothing until the rebalance is over. Answers the positions."""
        positions = self.reader.stop()
        if positions:
            self._changed(CallbackKind.REVOKED, positions)
        self._around.measures.stop(self.member.name, self._now_ms)
        return positions

    # ---- scripts ------------------------------------------------------------------------------

    def _run(self, script: Script, on_end: Callable[[], None] = lambda: None) -> None:
        session = self.client.session

        def advance(answer: Answer | None) -> None:
            if not self.alive or session != self.client.session:
                return
            try:
                # A generator is begun by sending it None.
                step = script.send(answer)  # type: ignore[arg-type]
            except StopIteration:
                on_end()
                return
            match step:
                case Sleep(ms):
                    self._after(ms, lambda: advance(Answer()))
                case WaitForWatch():
                    self._waiting = advance
                    self._wake_if_fired()
                case _:
                    self.client.request(step, advance)

        advance(None)

    def _wake_if_fired(self) -> None:
        waiting = self._waiting
        if waiting is not None and self._fired and not self._is_closing:
            self._waiting, self._fired = None, False
            waiting(Answer())

    def _after(self, ms: int, action: Callable[[], None]) -> None:
        """A timer of the process: if it goes off while the process stands still, it is seen later."""

        def go_off() -> None:
            if not self.alive:
                return
            if self._still:
                self._overslept.append(action)
            else:
                action()

        self._around.schedule.at(self._now_ms + ms, go_off)

    def _commit_now_and_then(self) -> None:
        def commit() -> None:
            self._run(self._consumer.commit(self.reader.positions))
            self._commit_now_and_then()

        self._after(self.member.auto_commit_interval_ms, commit)

    def _first_of(self, partition: TopicPartition) -> int:
        """`auto.offset.reset`, whose two values are called smallest and largest here."""
        if self.member.auto_offset_reset is not OffsetReset.LATEST:
            return 0
        end = self._around.end_of(self.member.name, partition) or 0
        self._around.measures.pass_over((self.member.group, partition), end)
        return end

    # ---- what it is told ----------------------------------------------------------------------

    def _session_began(self) -> None:
        if self._is_closing:
            self._closed()
            return
        self._waiting, self._fired = None, False
        self._around.on_session(self.client.session, self)
        self._tell(ConsumerRegistered, consumer_id=self.consumer_id)
        self._run(self._consumer.live())

    def _watch_fired(self, path: str) -> None:
        self._around.measures.notifications += 1
        self._tell(WatchFired, path=path)
        self.client.request(self._consumer.rearm(path), lambda answer: None)
        self._fired = True
        self._wake_if_fired()

    def _attempted(self, attempt: int) -> None:
        if not attempt:
            self._around.measures.rebalances += 1
        self._tell(RebalanceAttempted, attempt=attempt)
        self._move(MemberState.PREPARING_REBALANCE)

    def _rebalanced(self, succeeded: bool) -> None:
        if not succeeded:
            self._tell(RebalanceGivenUp)
        self._move(MemberState.STABLE if succeeded else MemberState.UNJOINED)

    def _processed(self, partition: TopicPartition, first: int, last: int) -> None:
        self._tell(RecordsProcessed, partition=partition, first=first, last=last)

    def _batch_done(self, positions: dict[TopicPartition, int]) -> None:
        if self.member.commit_mode is CommitMode.AFTER_PROCESSING:
            self._run(self._consumer.commit(positions))

    def _closed(self) -> None:
        self.client.close()
        self._gone()

    def _gone(self) -> None:
        self.alive = False
        self._move(MemberState.UNJOINED)
        self._around.measures.go_on(self.member.name, self._now_ms)
        self._on_gone("closed" if self._is_closing else "killed")

    # ---- telling ------------------------------------------------------------------------------

    @property
    def _now_ms(self) -> int:
        return self._around.schedule.now_ms

    def _tell(self, event: Callable[..., ZookeeperEvent], **facts: object) -> None:
        member = self.member
        self._around.tell(event(at_ms=self._now_ms, member=member.name, group=member.group, **facts))

    def _move(self, state: MemberState) -> None:
        if state is not self._state:
            self._state = state
            self._tell(MemberMoved, state=state, generation=-1, member_id=self.consumer_id, is_leader=False)

    def _changed(self, kind: CallbackKind, partitions: Iterable[TopicPartition]) -> None:
        self._tell(PartitionsChanged, kind=kind, generation=-1, partitions=tuple(sorted(partitions)))


def _consumer_id(member: SimMember, around: ConsumerSurroundings) -> str:
    """`<group>_<host>-<ms>-<8 hex digits of a UUID>`, as ZookeeperConsumerConnector makes it."""
    return f"{member.group}_{member.name}-{around.schedule.now_ms}-{around.rng.getrandbits(32):08x}"
