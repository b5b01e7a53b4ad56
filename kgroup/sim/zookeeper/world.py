"""A scenario played by consumers of Kafka 0.8, which coordinate through ZooKeeper.

The same topics, records, members and faults as in `world`, and the same measures. What has no counterpart
does nothing: there is no coordinator to move, neither disks nor clocks matter to ZooKeeper's sessions, and a
consumer of 0.8 cannot change its subscription. Of `cut X from coordinator` the other end is ZooKeeper, which
itself never fails.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final

from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.scenario.interest import interest_of
from kgroup.sim.scenario.scenario import (
    COORDINATOR,
    NODE_PREFIX,
    Fault,
    FaultKind,
    Scenario,
    SimMember,
    SimTopic,
)
from kgroup.sim.watch.result import Run
from kgroup.sim.watch.tallies import Measures
from kgroup.sim.watch.trace import (
    FaultBegan,
    FaultEnded,
    MemberStarted,
    MemberStopped,
    PartitionsChanged,
    TopicCreated,
    TopicGrown,
)
from kgroup.sim.world.faults import draw
from kgroup.sim.world.network import Network
from kgroup.sim.world.schedule import Schedule
from kgroup.sim.zookeeper.brokers import Brokers
from kgroup.sim.zookeeper.client import ZOOKEEPER
from kgroup.sim.zookeeper.ensemble import TreeChange, Zookeeper
from kgroup.sim.zookeeper.process import ConsumerProcess, ConsumerSurroundings
from kgroup.sim.zookeeper.service import Service
from kgroup.sim.zookeeper.trace import WatchTriggered, ZnodeChanged, ZookeeperEvent

_WITHOUT_COUNTERPART: Final = frozenset(
    {
        FaultKind.MOVE,
        FaultKind.SKEW,
        FaultKind.SLOW_DISK,
        FaultKind.FAIL_APPENDS,
        FaultKind.FAIL_DISK,
        FaultKind.CUT_POWER,
        FaultKind.LOSE_WRITES,
        FaultKind.DUPLICATE,
        FaultKind.NARROW,
        FaultKind.SUBSCRIBE,
        FaultKind.UNSUBSCRIBE,
    }
)
"""No coordinator and no log of offsets; and a consumer of 0.8 subscribes once and for all."""


def run_zookeeper(
    scenario: Scenario,
    seed: int,
    *,
    on_event: Callable[[ZookeeperEvent], None] | None = None,
) -> Run:
    """Play the scenario, with the same random faults as `sim.world.world.run` has under this seed.

    There are no violations: the old design promises little.
    """
    faults = list(scenario.faults)
    if scenario.chaos is not None:
        faults += draw(scenario, scenario.chaos, Random(f"{seed}/faults"))
    if scenario.more_chaos is not None:
        faults += draw(scenario, scenario.more_chaos, Random(f"{seed}/more faults"))
    return _World(scenario, seed, on_event).play([_clipped(fault, scenario.duration_ms) for fault in faults])


def _clipped(fault: Fault, duration_ms: int) -> Fault:
    """The fault, cut to end no later than the scenario."""
    if fault.duration_ms is None:
        return fault
    return replace(fault, duration_ms=min(fault.duration_ms, duration_ms - fault.at_ms))


class _World:
    def __init__(
        self, scenario: Scenario, seed: int, on_event: Callable[[ZookeeperEvent], None] | None
    ) -> None:
        self._scenario = scenario
        self._seed = seed
        self._on_event = on_event
        self._schedule = schedule = Schedule(scenario.epoch_ms)
        rng = Random(f"zookeeper {seed}")
        self._network = Network(schedule, rng, scenario.network)
        self._measures = Measures()
        self._last_change_ms = scenario.epoch_ms
        self._processes: dict[str, ConsumerProcess] = {}  # the newest of each member
        self._numbers: dict[str, int] = {}
        self._clients: dict[int, ConsumerProcess] = {}  # by session
        zookeeper = Zookeeper(self._notify, self._changed)
        self._brokers = Brokers(scenario, schedule, rng, zookeeper, self._tell)
        self._around = ConsumerSurroundings(
            schedule=schedule,
            network=self._network,
            rng=rng,
            zookeeper=zookeeper,
            service=Service(schedule, zookeeper, scenario.zookeeper.operation_ms, self._tell),
            settings=scenario.zookeeper,
            measures=self._measures,
            tell=self._tell,
            end_of=self._end_of,
            on_session=self._clients.__setitem__,
        )

    def play(self, faults: Sequence[Fault]) -> Run:
        """Play from the start to the end."""
        scenario, schedule = self._scenario, self._schedule
        for member in scenario.members:
            if member.start_ms is not None:
                self._at(member.start_ms, partial(self._start, member))
        for topic in scenario.topics:
            if topic.start_ms:
                self._at(topic.start_ms, partial(self._create, topic))
        for fault in faults:
            self._at(fault.at_ms, partial(self._strike, fault))
        end_ms = scenario.epoch_ms + scenario.duration_ms + scenario.settle_ms
        schedule.run(end_ms)
        for process in self._processes.values():
            if process.alive:
                self._measures.requests += process.requests()
        healed_ms = scenario.epoch_ms + scenario.duration_ms
        settled_ms = max(0, self._last_change_ms - healed_ms) if self._is_settled() else None
        return Run(
            scenario=scenario,
            seed=self._seed,
            end_ms=end_ms,
            settled_ms=settled_ms,
            violations=(),
            tally=self._measures.tally(end_ms),
        )

    def _is_settled(self) -> bool:
        groups = {process.member.group for process in self._processes.values() if process.alive}
        return all(
            len(self._measures.readers((group, topic_partition))) == 1
            for group in groups
            for topic_partition in self._partitions_of(group)
        )

    def _at(self, after_ms: int, action: Callable[[], None]) -> None:
        self._schedule.at(self._scenario.epoch_ms + after_ms, action)

    # ---- members ------------------------------------------------------------------------------

    def _start(self, member: SimMember) -> None:
        before = self._processes.get(member.name)
        if before is not None and before.alive:
            return
        number = self._numbers[member.name] = self._numbers.get(member.name, 0) + 1
        now_ms = self._schedule.now_ms
        self._tell(MemberStarted(at_ms=now_ms, member=member.name, group=member.group, process=number))
        process = ConsumerProcess(member, self._around, partial(self._gone, member, number))
        self._processes[member.name] = process
        for topic_partition in self._partitions_of(member.group):
            self._measures.need((member.group, topic_partition), now_ms)
        process.client.cut(self._network.is_cut(member.name, ZOOKEEPER))
        process.begin()

    def _gone(self, member: SimMember, number: int, why: str) -> None:
        process = self._processes[member.name]
        self._measures.requests += process.requests()
        stopped = MemberStopped(
            at_ms=self._schedule.now_ms, member=member.name, group=member.group, process=number, why=why
        )
        self._tell(stopped)

    def _partitions_of(self, group: str) -> list[TopicPartition]:
        members = [member for member in self._scenario.members if member.group == group]
        there = self._brokers.topics
        topics = sorted({topic for member in members for topic in interest_of(member).among(there)})
        return [(topic, number) for topic in topics for number in range(self._brokers.partitions(topic))]

    def _end_of(self, member: str, partition: TopicPartition) -> int | None:
        node = self._brokers.leader(partition[1])
        if node is None or self._network.is_cut(member, node):
            return None
        return self._brokers.high_watermark(partition)

    def _changed(self, path: str, change: TreeChange, data: str | None, session: int | None) -> None:
        self._tell(
            ZnodeChanged(at_ms=self._schedule.now_ms, path=path, change=change, data=data, session=session)
        )

    def _notify(self, session: int, path: str) -> None:
        self._tell(WatchTriggered(at_ms=self._schedule.now_ms, path=path, session=session))
        process = self._clients.get(session)
        if process is not None:
            process.client.watch_fired(path)

    def _tell(self, event: ZookeeperEvent) -> None:
        if isinstance(event, PartitionsChanged):
            self._last_change_ms = event.at_ms
        if self._on_event is not None:
            self._on_event(event)

    # ---- faults -------------------------------------------------------------------------------

    def _strike(self, fault: Fault) -> None:
        target = self._brokers.coordinator if fault.target == COORDINATOR else fault.target
        other = ZOOKEEPER if fault.other == COORDINATOR else fault.other
        self._tell(FaultBegan.of(replace(fault, target=target, other=other), self._schedule.now_ms))
        undo = self._begin(fault, target, other)
        if fault.duration_ms is not None and undo is not None:
            self._schedule.at(
                self._schedule.now_ms + fault.duration_ms, partial(self._end, fault.kind, target, undo)
            )

    def _end(self, kind: FaultKind, target: str, undo: Callable[[], None]) -> None:
        self._tell(FaultEnded(at_ms=self._schedule.now_ms, kind=kind, target=target))
        undo()

    def _begin(self, fault: Fault, target: str, other: str | None) -> Callable[[], None] | None:
        """Do it. Answers how to undo it when its time is over."""
        match fault.kind:
            case FaultKind.CUT:
                return self._cut(target, other)
            case FaultKind.LOSE:
                self._network.loss += (fault.amount or 0) / 100
                return partial(self._lose_less, (fault.amount or 0) / 100)
            case FaultKind.DELAY:
                self._network.more_latency_ms += fault.amount or 0
                return partial(self._delay_less, fault.amount or 0)
            case FaultKind.LAG_REPLICAS:
                self._brokers.lag_replicas(target, fault.amount or 0)
                return partial(self._brokers.lag_replicas, target, -(fault.amount or 0))
            case FaultKind.CREATE:
                self._create(next(topic for topic in self._scenario.topics if topic.name == target))
                return None
            case FaultKind.GROW:
                self._grow(target, fault.amount or 0)
                return None
            case kind if kind in _WITHOUT_COUNTERPART:
                return None
            case _:
                if target.startswith(NODE_PREFIX):
                    return self._brokers.strike(fault.kind, target)
                return self._hit_member(fault, target)

    def _hit_member(self, fault: Fault, name: str) -> Callable[[], None] | None:
        member = next(member for member in self._scenario.members if member.name == name)
        if fault.kind is FaultKind.START:
            self._start(member)
            return None
        process = self._processes.get(name)
        if process is None or not process.alive:
            return None
        match fault.kind:
            case FaultKind.LEAVE:
                process.close()
                return None
            case FaultKind.KILL:
                process.kill()
                return partial(self._start, member)
            case FaultKind.RESTART:
                process.close()
                return partial(self._start, member)
            case FaultKind.PAUSE:
                process.pause()
                return process.resume
            case _:
                assert fault.kind is FaultKind.SLOW, fault.kind
                process.reader.slow(fault.amount or 1)
                return partial(process.reader.slow, 1)

    def _cut(self, target: str, other: str | None) -> Callable[[], None]:
        self._network.cut(target, other)
        self._see_cuts()

        def mend() -> None:
            self._network.mend(target, other)
            self._see_cuts()

        return mend

    def _see_cuts(self) -> None:
        for process in self._processes.values():
            if process.alive:
                process.client.cut(self._network.is_cut(process.member.name, ZOOKEEPER))
        for node in self._brokers.names:
            self._brokers.cut(node, self._network.is_cut(node, ZOOKEEPER))

    def _lose_less(self, part: float) -> None:
        self._network.loss -= part

    def _delay_less(self, by_ms: int) -> None:
        self._network.more_latency_ms -= by_ms

    def _create(self, topic: SimTopic) -> None:
        if topic.name in self._brokers.topics:
            return
        now_ms = self._schedule.now_ms
        self._brokers.create(topic)
        self._tell(TopicCreated(at_ms=now_ms, topic=topic.name, partitions=topic.partitions))
        self._need_all(now_ms)

    def _grow(self, topic: str, partitions: int) -> None:
        if topic not in self._brokers.topics or partitions <= self._brokers.partitions(topic):
            return
        now_ms = self._schedule.now_ms
        self._brokers.grow(topic, partitions)
        self._tell(TopicGrown(at_ms=now_ms, topic=topic, partitions=partitions))
        self._need_all(now_ms)

    def _need_all(self, now_ms: int) -> None:
        for process in self._processes.values():
            for topic_partition in self._partitions_of(process.member.group):
                self._measures.need((process.member.group, topic_partition), now_ms)
