"""The brokers as old consumers see them: znodes under `/brokers`, leaders to fetch from, growing logs."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final

from kgroup.broker.settings import from_properties
from kgroup.protocol.group_hash import partition_for
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.scenario.scenario import FaultKind, Scenario, SimTopic, node_name
from kgroup.sim.watch.trace import NodeStarted, NodeStopped
from kgroup.sim.world.schedule import Schedule
from kgroup.sim.zookeeper.client import PINGS_PER_SESSION
from kgroup.sim.zookeeper.consumer import BROKER_IDS, topic_data, topic_path
from kgroup.sim.zookeeper.ensemble import CreateEphemeral, Zookeeper
from kgroup.sim.zookeeper.reader import Inflow

_REPLICAS_MAX: Final = 3
_PORT: Final = 9092


@dataclass(slots=True)
class _Broker:
    """`leads`: ZooKeeper has its znode, so that it may be a leader. `stops`: reasons to answer nobody."""

    number: int
    session: int = 0
    leads: bool = False
    is_running: bool = False
    stops: int = 0
    is_cut: bool = False
    silences: int = 0
    spoke: int = 0


class Brokers:
    """All brokers, and the topics on them."""

    def __init__(
        self,
        scenario: Scenario,
        schedule: Schedule,
        rng: Random,
        zookeeper: Zookeeper,
        tell: Callable[[NodeStarted | NodeStopped], None],
    ) -> None:
        self._schedule = schedule
        self._rng = rng
        self._zookeeper = zookeeper
        self._tell = tell
        self._session_timeout_ms = scenario.zookeeper.session_timeout_ms
        settings = from_properties(scenario.properties)
        self._group_partition = partition_for(scenario.members[0].group, settings.offsets_topic_partitions)
        self._brokers = {node_name(number): _Broker(number) for number in range(1, scenario.nodes + 1)}
        there = [topic for topic in scenario.topics if topic.start_ms == 0]
        self._counts = {topic.name: topic.partitions for topic in there}
        self._inflows = {
            topic.name: Inflow(topic.records_per_s, topic.partitions, schedule.now_ms) for topic in there
        }
        self._lags: dict[str, tuple[int, int]] = {}
        """By topic: how late its followers are, and since when."""
        for broker in self._brokers.values():
            self._start(broker)
        for topic in self._counts:
            self._write_topic(topic)
        self._write_leaders()

    @property
    def names(self) -> list[str]:
        """`node-1`, ..."""
        return list(self._brokers)

    @property
    def coordinator(self) -> str:
        """The broker that would coordinate the first member's group."""
        return self._leading(self._group_partition) or node_name(1)

    @property
    def topics(self) -> list[str]:
        """The topics that there are, sorted."""
        return sorted(self._counts)

    def create(self, topic: SimTopic) -> None:
        """Make a topic; subscribers by pattern watch for it."""
        self._counts[topic.name] = topic.partitions
        self._inflows[topic.name] = Inflow(topic.records_per_s, topic.partitions, self._schedule.now_ms)
        self._write_topic(topic.name)
        self._write_leaders()

    def partitions(self, topic: str) -> int:
        """The number of partitions of a topic."""
        return self._counts[topic]

    def grow(self, topic: str, partitions: int) -> None:
        """Give a topic partitions; everybody who reads it watches its znode."""
        self._counts[topic] = partitions
        self._inflows[topic].grow(partitions, self._schedule.now_ms)
        self._write_topic(topic)
        self._write_leaders()

    def lag_replicas(self, topic: str, by_ms: int) -> None:
        """From now on the followers of a topic get every record this much later than before."""
        lag_ms, _ = self._lags.get(topic, (0, 0))
        self._lags[topic] = (lag_ms + by_ms, self._schedule.now_ms)

    def high_watermark(self, partition: TopicPartition) -> int:
        """The end of what may be read: the log end offset, as it was when the followers had come so far."""
        topic, number = partition
        lag_ms, since_ms = self._lags.get(topic, (0, 0))
        now_ms = self._schedule.now_ms
        return self._inflows[topic].end(number, max(now_ms - lag_ms, min(since_ms, now_ms)))

    def leader(self, partition: int) -> str | None:
        """The broker that leads such a partition and answers, or None."""
        name = self._leading(partition)
        if name is None or not self._brokers[name].is_running or self._brokers[name].stops:
            return None
        return name

    def _leading(self, partition: int) -> str | None:
        """The first of a partition's replicas that ZooKeeper knows of, as Kafka's controller elects it."""
        for number in self._replicas(partition):
            name = node_name(number)
            if self._brokers[name].leads:
                return name
        return None

    def _replicas(self, partition: int) -> list[int]:
        count = len(self._brokers)
        return [(partition + n) % count + 1 for n in range(min(_REPLICAS_MAX, count))]

    def _write_topic(self, topic: str) -> None:
        self._zookeeper.write(topic_path(topic), topic_data(self._counts[topic], self._replicas))

    def _write_leaders(self) -> None:
        """Write the leaders that the controller has elected; consumers ask brokers instead."""
        for topic, count in self._counts.items():
            for partition in range(count):
                in_sync = [n for n in self._replicas(partition) if self._brokers[node_name(n)].leads]
                state = {"version": 1, "leader": in_sync[0] if in_sync else -1, "isr": in_sync}
                self._zookeeper.write(f"{topic_path(topic)}/partitions/{partition}/state", json.dumps(state))

    # ---- faults -------------------------------------------------------------------------------

    def strike(self, kind: FaultKind, name: str) -> Callable[[], None] | None:
        """Do it to a broker. Answers how to undo it."""
        broker = self._brokers[name]
        match kind:
            case FaultKind.START:
                self._start(broker)
                return None
            case FaultKind.KILL | FaultKind.RESTART if broker.is_running:
                self._stop(broker, in_order=kind is FaultKind.RESTART)
                return partial(self._start, broker)
            case FaultKind.PAUSE if broker.is_running:
                broker.stops += 1
                self._fall_silent(broker)
                return partial(self._go_on, broker)
            case _:
                return None

    def cut(self, name: str, is_cut: bool) -> None:
        """Whether the way to ZooKeeper is cut."""
        broker = self._brokers[name]
        if is_cut == broker.is_cut:
            return
        broker.is_cut = is_cut
        if is_cut:
            self._fall_silent(broker)
        else:
            self._speak_again(broker)

    def _start(self, broker: _Broker) -> None:
        if broker.is_running:
            return
        broker.is_running = True
        self._register(broker)
        self._tell(NodeStarted(at_ms=self._schedule.now_ms, node=node_name(broker.number)))

    def _stop(self, broker: _Broker, *, in_order: bool) -> None:
        broker.is_running = False
        why = "shut down" if in_order else "killed"
        self._tell(NodeStopped(at_ms=self._schedule.now_ms, node=node_name(broker.number), why=why))
        if in_order:
            self._expire(broker)
        else:
            self._expire_later(broker)

    def _go_on(self, broker: _Broker) -> None:
        broker.stops -= 1
        self._speak_again(broker)

    def _fall_silent(self, broker: _Broker) -> None:
        broker.silences += 1
        if broker.silences == 1 and broker.is_running:
            self._expire_later(broker)

    def _speak_again(self, broker: _Broker) -> None:
        broker.silences -= 1
        if not broker.silences and broker.is_running:
            self._register(broker)

    def _register(self, broker: _Broker) -> None:
        """Have a session and a znode: the old one where ZooKeeper still has it, as the process lives on."""
        broker.spoke += 1
        if broker.leads and self._zookeeper.is_open(broker.session):
            return
        broker.session = self._zookeeper.open_session()
        path = f"{BROKER_IDS}/{broker.number}"
        address = {"host": node_name(broker.number), "port": _PORT, "jmx_port": -1}
        data = json.dumps({"version": 1, **address, "timestamp": str(self._schedule.now_ms)})
        self._zookeeper.answer(broker.session, CreateEphemeral(path, data))
        broker.leads = True
        self._write_leaders()

    def _expire_later(self, broker: _Broker) -> None:
        broker.spoke += 1
        spoke = broker.spoke
        since_ping_ms = self._rng.randrange(max(1, self._session_timeout_ms // PINGS_PER_SESSION))

        def expire() -> None:
            if spoke == broker.spoke:
                self._expire(broker)

        self._schedule.at(self._schedule.now_ms - since_ping_ms + self._session_timeout_ms, expire)

    def _expire(self, broker: _Broker) -> None:
        broker.leads = False
        broker.spoke += 1
        self._zookeeper.expire(broker.session)
        self._write_leaders()
