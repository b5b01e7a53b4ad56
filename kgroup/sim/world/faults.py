"""Faults, scripted or random: how they strike, and how they are undone."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Final, assert_never

from kgroup.sim.scenario.interest import Interest, interest_of
from kgroup.sim.scenario.scenario import COORDINATOR, Chaos, Fault, FaultKind, Scenario, SimTopic, node_name
from kgroup.sim.watch.trace import FaultBegan, FaultEnded, TopicGrown
from kgroup.sim.world.cluster_host import ClusterHost
from kgroup.sim.world.demand import Demand
from kgroup.sim.world.member_host import MemberHost
from kgroup.sim.world.node_host import NodeHost
from kgroup.sim.world.process import Process
from kgroup.sim.world.surroundings import Surroundings

Undo = Callable[[], None]
K = FaultKind
ASK_AGAIN_MS: Final = 1_000
_DISK_FAILS_MS: Final = 4_000
_DEAD_FOR_GOOD: Final = 0.3
"""The part of killed members that do not come back."""


class Faults:
    """Strikes the world's processes and network. No fault lasts longer than the scenario plays."""

    def __init__(
        self,
        scenario: Scenario,
        around: Surroundings,
        cluster: ClusterHost,
        members: dict[str, MemberHost],
        demand: Demand,
        create: Callable[[SimTopic], None],
    ) -> None:
        self._scenario = scenario
        self._schedule = schedule = around.schedule
        self._network = around.network
        self._cluster = cluster
        self._members = members
        self._demand = demand
        self._create = create
        self._tell = around.tell
        self._end_ms = schedule.now_ms + scenario.duration_ms
        self._under_way: dict[int, Callable[[], None]] = {}
        self._next_id = 0
        faults = list(scenario.faults)
        if scenario.chaos is not None:
            faults += draw(scenario, scenario.chaos, around.random("faults"))
        if scenario.more_chaos is not None:
            faults += draw(scenario, scenario.more_chaos, around.random("more faults"))
        for fault in sorted(faults, key=lambda fault: fault.at_ms):
            schedule.at(schedule.now_ms + fault.at_ms, partial(self._strike, fault))

    def end_all(self) -> None:
        """Undo what is still under way."""
        for end in list(self._under_way.values()):
            end()

    def _strike(self, fault: Fault) -> None:
        left_ms = self._end_ms - self._schedule.now_ms
        if fault.duration_ms is not None:
            fault = replace(fault, duration_ms=min(fault.duration_ms, left_ms))
        target = self._target(fault.target)
        other = self._target(fault.other) if fault.other is not None else None
        if target is None or (other is None) != (fault.other is None) or target == other:
            return
        fault = replace(fault, target=target, other=other)
        if self._tell is not None:
            self._tell(FaultBegan.of(fault, self._schedule.now_ms))
        undo = self._do(fault)
        if undo is None:
            return
        self._next_id += 1
        end = partial(self._end, self._next_id, fault, undo)
        self._under_way[self._next_id] = end
        if fault.duration_ms is not None:
            self._schedule.at(self._schedule.now_ms + fault.duration_ms, end)

    def _end(self, number: int, fault: Fault, undo: Undo) -> None:
        if self._under_way.pop(number, None) is None:
            return
        if self._tell is not None:
            self._tell(FaultEnded(at_ms=self._schedule.now_ms, kind=fault.kind, target=fault.target))
        undo()

    def _target(self, name: str) -> str | None:
        if name != COORDINATOR:
            return name
        node = self._cluster.coordinator_of(self._scenario.members[0].group)
        return node.name if node is not None else None

    # ---- what each of them does -------------------------------------------------------------------

    def _do(self, fault: Fault) -> Undo | None:
        amount = fault.amount or 0
        match fault.kind:
            case K.START | K.LEAVE | K.KILL | K.RESTART | K.PAUSE:
                node = self._cluster.by_name.get(fault.target)
                return self._do_to_node(fault, node) if node else self._do_to_member(fault)
            case K.SLOW:
                member = self._members[fault.target]
                member.slow_down(max(1, amount))
                return partial(member.slow_down, 1 / max(1, amount))
            case K.CUT:
                return self._cut(fault.target, fault.other)
            case K.LOSE:
                return self._add_to_network("loss", amount / 100)
            case K.DELAY:
                return self._add_to_network("more_latency_ms", amount)
            case K.DUPLICATE:
                return self._add_to_network("duplicates", amount / 100)
            case K.SLOW_DISK:
                return self._slow_disk(self._cluster.by_name[fault.target], amount)
            case K.SKEW:
                process = self._members.get(fault.target) or self._cluster.by_name[fault.target]
                self._skew(process, amount)
                return partial(self._skew, process, -amount) if fault.duration_ms is not None else None
            case K.CREATE:
                self._create(next(each for each in self._scenario.topics if each.name == fault.target))
                return None
            case K.GROW:
                self._grow(fault.target, amount)
                return None
            case K.NARROW:
                member = self._members[fault.target]
                member.subscribe(Interest(topics=member.topics(self._cluster.topic_names)[:1]))
                return partial(member.subscribe, interest_of(member.spec))
            case K.SUBSCRIBE | K.UNSUBSCRIBE:
                member = self._members[fault.target]
                member.change_interest(Interest(topics=fault.topics))
                lasts = fault.duration_ms is not None
                return partial(member.change_interest, interest_of(member.spec)) if lasts else None
            case K.LAG_REPLICAS:
                self._cluster.replication.lag(fault.target, amount)
                return partial(self._cluster.replication.lag, fault.target, -amount)
            case K.FAIL_APPENDS:
                return self._fail_appends(fault.target, amount / 100)
            case K.FAIL_DISK:
                return self._fail_disk(amount / 100)
            case K.CUT_POWER:
                self._cluster.disk.cut_power(abs(amount) or 1, in_transaction=amount < 0)
                return None
            case K.LOSE_WRITES:
                partition = self._cluster.cluster.offsets_partition(fault.target)
                self._cluster.lose_power(lost_batches=amount, partition=partition)
                return None
            case K.MOVE:
                self._move(fault.target, in_step=fault.amount is not None)
                return None
        assert_never(fault.kind)

    def _do_to_member(self, fault: Fault) -> Undo | None:
        member = self._members[fault.target]
        lasts = fault.duration_ms is not None
        match fault.kind:
            case K.START:
                member.start()
            case K.LEAVE:
                member.close()
            case K.KILL:
                was_running = member.is_running
                member.kill()
                return member.start if lasts and was_running else None
            case K.RESTART:
                if member.is_running:
                    member.close()
                    return member.start_again
            case K.PAUSE:
                member.pause(self._schedule.now_ms + (fault.duration_ms or 0))
                return _nothing
            case _:
                raise AssertionError(fault.kind)
        return None

    def _do_to_node(self, fault: Fault, node: NodeHost) -> Undo | None:
        lasts = fault.duration_ms is not None
        if fault.kind is K.START:
            self._cluster.start(node)
            return None
        if not node.is_running:
            return None
        match fault.kind:
            case K.KILL:
                self._cluster.kill(node)
                return partial(self._cluster.start, node) if lasts else None
            case K.LEAVE | K.RESTART:
                self._cluster.shut_down(node)
                return partial(self._cluster.start, node) if lasts else None
            case K.PAUSE:
                node.stand_still(self._schedule.now_ms + (fault.duration_ms or 0))
                return self._cluster.silent(node)
            case _:
                raise AssertionError(fault.kind)

    def _slow_disk(self, node: NodeHost, by_ms: int) -> Undo:
        node.disk_ms += by_ms

        def undo() -> None:
            node.disk_ms -= by_ms

        return undo

    def _skew(self, process: Process, by_ms: int) -> None:
        process.skew(by_ms)
        if isinstance(process, NodeHost):
            self._cluster.schedule_flush(process)  # what is due by its clock now is done now
        elif isinstance(process, MemberHost):
            process.clock_jumped()

    def _fail_disk(self, part: float) -> Undo:
        self._cluster.disk.failing += part

        def undo() -> None:
            self._cluster.disk.failing -= part

        return undo

    def _fail_appends(self, topic: str, part: float) -> Undo:
        failing = self._cluster.disk.failing_topics
        failing[topic] = failing.get(topic, 0.0) + part

        def undo() -> None:
            failing[topic] -= part

        return undo

    def _cut(self, target: str, other: str | None) -> Undo:
        self._network.cut(target, other)
        node = self._cluster.by_name.get(target)
        heard = self._cluster.silent(node) if node is not None and other is None else _nothing

        def undo() -> None:
            self._network.mend(target, other)
            heard()

        return undo

    def _add_to_network(self, setting: str, amount: float) -> Undo:
        setattr(self._network, setting, getattr(self._network, setting) + amount)

        def undo() -> None:
            setattr(self._network, setting, getattr(self._network, setting) - amount)

        return undo

    def _grow(self, topic: str, partitions: int) -> None:
        now_ms = self._schedule.now_ms
        if not self._cluster.cluster.alive:  # nobody to ask: the caller tries again
            self._schedule.at(now_ms + ASK_AGAIN_MS, partial(self._grow, topic, partitions))
            return
        if not self._cluster.create_partitions(topic, partitions):
            return
        self._demand.look(now_ms)
        if self._tell is not None:
            self._tell(TopicGrown(at_ms=now_ms, topic=topic, partitions=partitions))

    def _move(self, group: str, *, in_step: bool) -> None:
        leader = self._cluster.coordinator_of(group)
        if leader is None:
            return
        ids = [node.node_id for node in self._cluster.cluster.alive]
        others = [node_id for node_id in ids if node_id != leader.node.node_id]
        if others:
            later = [node_id for node_id in others if node_id > leader.node.node_id]
            node = self._cluster.nodes[(later or others)[0]]
            self._cluster.move_coordinator(group, node, in_step=in_step)


def _nothing() -> None:
    """A fault that ends by itself."""


# ---- chance ---------------------------------------------------------------------------------------


def draw(scenario: Scenario, chaos: Chaos, random: Random) -> list[Fault]:
    """Faults of the kinds that chance may draw, each on a random process that it can strike."""
    members = [member.name for member in scenario.members]
    nodes = [node_name(number) for number in range(1, scenario.nodes + 1)]
    groups = sorted({member.group for member in scenario.members})
    names = [topic.name for topic in scenario.topics]
    later = [topic.name for topic in scenario.topics if topic.start_ms != 0]
    sizes = {topic.name: topic.partitions for topic in scenario.topics}
    faults: list[Fault] = []
    at_ms = 0.0
    while True:
        at_ms += random.expovariate(1 / chaos.mean_interval_ms)
        if at_ms >= scenario.duration_ms:
            return faults
        kind = random.choice(chaos.kinds)
        lasts_ms = max(1_000, int(random.expovariate(1 / chaos.mean_duration_ms)))
        duration_ms: int | None = lasts_ms
        target, amount, other = "", None, None
        topics: tuple[str, ...] = ()
        match kind:
            case K.KILL | K.RESTART | K.PAUSE | K.START:
                target = random.choice(members + nodes)
            case K.SKEW:
                target, amount = random.choice(members + nodes), random.randint(-20_000, 20_000)
            case K.LEAVE:
                target = random.choice(members)
            case K.CUT:
                target = random.choice(members + nodes)
                other = random.choice([None, random.choice(nodes)])
                other = other if other != target else None
            case K.SLOW:
                target, amount = random.choice(members), random.choice((2, 10, 50, 250))
            case K.SLOW_DISK:
                target, amount = random.choice(nodes), random.choice((5, 50, 500))
            case K.LOSE:
                amount = random.randint(1, 30)
            case K.DUPLICATE:
                amount = random.randint(1, 20)
            case K.DELAY:
                amount = random.choice((10, 100, 1_000))
            case K.GROW:
                target = random.choice(sorted(sizes))
                sizes[target] += random.randint(1, 3)
                amount = sizes[target]
            case K.NARROW:
                target = random.choice(members)
            case K.LAG_REPLICAS:
                target, amount = random.choice(names), random.choice((500, 2_000, 10_000))
            case K.FAIL_APPENDS:
                target, amount = random.choice(names), random.choice((10, 50, 100))
            case K.FAIL_DISK:
                amount, duration_ms = random.choice((10, 50, 100)), min(lasts_ms, _DISK_FAILS_MS)
            case K.CUT_POWER:
                amount = random.choice((-3, -2, -1, 1, 2, 5))
            case K.LOSE_WRITES:
                target, amount = random.choice(groups), random.randint(1, 8)
            case K.MOVE:
                target, amount = random.choice(groups), random.choice((None, 1, 1))
            case K.CREATE:
                if not later:
                    continue
                target = random.choice(later)
            case K.SUBSCRIBE:
                target, topics = (
                    random.choice(members),
                    tuple(random.sample(names, random.randint(1, len(names)))),
                )
            case K.UNSUBSCRIBE:
                target = random.choice(members)
            case _:
                assert_never(kind)
        if kind in (K.GROW, K.MOVE, K.START, K.LEAVE, K.CUT_POWER, K.LOSE_WRITES, K.CREATE):
            duration_ms = None
        if kind is K.KILL and target in members and random.random() < _DEAD_FOR_GOOD:
            duration_ms = None
        faults.append(
            Fault(
                at_ms=int(at_ms),
                kind=kind,
                target=target,
                duration_ms=duration_ms,
                amount=amount,
                other=other,
                topics=topics,
            )
        )
