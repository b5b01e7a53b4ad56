"""Runs a scenario: production's nodes and members on one virtual clock, watched by the checkers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final
from uuid import UUID

from kgroup.broker.cluster import OFFSETS_TOPIC
from kgroup.broker.hosted_coordinator import HostedCoordinator
from kgroup.broker.settings import from_properties
from kgroup.broker.storage import Storage
from kgroup.errors import InputError
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.protocol.requests.client import Node
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.scenario.scenario import FaultKind, Scenario, SimTopic
from kgroup.sim.watch.checkers import Checkers
from kgroup.sim.watch.coordinators import LOOK_EVERY_MS
from kgroup.sim.watch.reconciliation import Books
from kgroup.sim.watch.result import Run
from kgroup.sim.watch.tallies import Measures
from kgroup.sim.watch.trace import Settled, TopicCreated, TraceEvent
from kgroup.sim.world.arrivals import Producers
from kgroup.sim.world.cluster_host import PORT, ClusterHost
from kgroup.sim.world.demand import Demand
from kgroup.sim.world.disk import Disk, DiskStorage, PowerLost
from kgroup.sim.world.faults import ASK_AGAIN_MS, Faults
from kgroup.sim.world.housekeeping import Housekeeping, possible_readers
from kgroup.sim.world.member_host import MemberHost
from kgroup.sim.world.network import Network
from kgroup.sim.world.producers import TransactionalProducer
from kgroup.sim.world.schedule import Schedule
from kgroup.sim.world.strangers import GROUP, Stranger
from kgroup.sim.world.surroundings import Surroundings

FAULTS_OF_MEMORY: Final = frozenset(
    {
        FaultKind.FAIL_APPENDS,
        FaultKind.FAIL_DISK,
        FaultKind.CUT_POWER,
        FaultKind.LAG_REPLICAS,
        FaultKind.LOSE_WRITES,
    }
)
_GUESTS_EACH: Final = 3
_LOOK_MS: Final = 1_000
"""The interval between checks whether everything has settled."""

_TO_SHARE_OUT_MS: Final = 60_000
"""The time a new partition may wait for a reader after it is seen."""

Tell = Callable[[TraceEvent], None]


@dataclass(frozen=True, slots=True)
class _Unsettled:
    """The reason a group has not settled; `is_known`: Kafka's own would not either."""

    group: str
    why: str
    is_known: bool = False


def run(
    scenario: Scenario,
    seed: int,
    *,
    storage: Storage | None = None,
    on_event: Tell | None = None,
    codec: bool = True,
    until_settled: bool = False,
) -> Run:
    """Play a scenario. The same seed gives the same run, event for event.

    `storage`: where the logs go, None: nowhere. `on_event` is called with each event. Without
    `codec` most requests travel as values, which is quicker and changes nothing. `until_settled`: end as soon
    as everything has settled, not when the scenario's time is over. Raises InputError for a topic that cannot
    be made, SourceError if the storage fails.
    """
    return World(scenario, seed, storage, on_event, codec=codec).play(until_settled)


class World:
    """Everything in it is built from the scenario and the seed; `play` lets it go."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        storage: Storage | None,
        tell: Tell | None,
        *,
        codec: bool,
        member_type: type[MemberHost] = MemberHost,
    ) -> None:
        kinds = {fault.kind for fault in scenario.faults} | set(
            scenario.chaos.kinds if scenario.chaos else ()
        )
        if storage is not None and kinds & FAULTS_OF_MEMORY:
            raise InputError(
                f"{' and '.join(sorted(kinds & FAULTS_OF_MEMORY))}: only for logs in memory, not in a folder"
            )
        self.scenario = scenario
        self.seed = seed
        self._tell = tell
        self.schedule = schedule = Schedule(scenario.epoch_ms)
        self.measures = measures = Measures()
        self.checkers = checkers = Checkers(measures, lambda: schedule.now_ms)
        network = Network(schedule, self._random("network"), scenario.network)
        self.groups = tuple(dict.fromkeys(member.group for member in scenario.members))
        around = Surroundings(
            schedule=schedule,
            network=network,
            random=self._random,
            checkers=checkers,
            measures=measures,
            tell=tell,
        )
        disk = Disk(self._random("disk"))
        self.cluster = ClusterHost(
            around,
            settings=from_properties({"auto.create.topics.enable": "false", **scenario.properties}),
            nodes=scenario.nodes,
            storage=storage or DiskStorage(disk),
            disk=disk,
            groups=self.groups,
        )
        self._make_topics()
        bootstrap = [
            Node(node_id=-number, host=node.name, port=PORT) for number, node in self.cluster.nodes.items()
        ]
        self.members = {
            spec.name: member_type(
                spec,
                around,
                number=number,
                nodes=self.cluster.by_name,
                bootstrap=bootstrap,
                codec=codec,
            )
            for number, spec in enumerate(scenario.members)
        }
        self.strangers = [
            Stranger(
                f"stranger-{number}",
                self.groups[0] if number % _GUESTS_EACH == 0 else GROUP,
                scenario,
                around,
                self.cluster,
            )
            for number in range(1, scenario.strangers + 1)
        ]
        self.producers = [
            TransactionalProducer(f"producer-{number}", scenario, around, self.cluster)
            for number in range(1, scenario.producers + 1)
        ]
        self.books = Books(
            checkers.broken,
            self._topic_name,
            measures.epoch_went_up,
            known=checkers.known_to_kafka,
            stale=self.cluster.watch.stale_heartbeats,
        )
        checkers.on_reconciled = self._look_at_books
        checkers.on_epochs_lost = self.books.forget
        self.demand = demand = Demand(self.cluster, self.members, measures)
        for host in self.members.values():
            host.on_interest = lambda: demand.look(schedule.now_ms)
            host.read_to = self.cluster.replication.read_to
        self.faults = Faults(
            scenario, around, self.cluster, self.members, self.demand, create=self._create_topic
        )

    def _random(self, subject: str) -> Random:
        """Chance of its own for each subject, so that more of the one changes nothing of the other."""
        return Random(f"{self.seed}/{subject}")

    def _make_topics(self) -> None:
        # Before the first fault: no node could make it while all are cut off.
        self.cluster.cluster.internal_topic(OFFSETS_TOPIC, self.schedule.now_ms)
        for topic in self.scenario.topics:
            if topic.start_ms == 0 and not self.cluster.create_topic(topic):
                raise InputError(f"topic {topic.name!r} is there already")

    def _create_topic(self, topic: SimTopic) -> None:
        """Create a topic in mid-scenario: as soon as there is a node that can be asked."""
        now_ms = self.schedule.now_ms
        if not self.cluster.cluster.alive:
            self.schedule.at(now_ms + ASK_AGAIN_MS, partial(self._create_topic, topic))
        elif self.cluster.create_topic(topic):
            self.cluster.came(topic.name)
            Producers(topic, self.cluster, self.schedule, self.checkers).start()
            self.demand.look(now_ms)
            if self._tell is not None:
                self._tell(TopicCreated(at_ms=now_ms, topic=topic.name, partitions=topic.partitions))

    # ---- playing ----------------------------------------------------------------------------------

    def play(self, until_settled: bool) -> Run:
        """Play from the start to the end."""
        start_ms = self.schedule.now_ms
        for topic in self.scenario.topics:
            if topic.start_ms == 0:
                Producers(topic, self.cluster, self.schedule, self.checkers).start()
            elif topic.start_ms is not None:
                self.schedule.at(start_ms + topic.start_ms, partial(self._create_topic, topic))
        for spec in self.scenario.members:
            if spec.start_ms is not None:
                self.schedule.at(start_ms + spec.start_ms, self.members[spec.name].start)
            for switch_ms in spec.switches_ms:
                self.schedule.at(start_ms + switch_ms, self.members[spec.name].switch_protocol)
        readers = {topic.name: possible_readers(self.scenario, topic.name) for topic in self.scenario.topics}
        Housekeeping(self.cluster, self.checkers, readers, self.schedule).start()
        for stranger in self.strangers:
            stranger.start()
        for producer in self.producers:
            producer.start()
        healed_ms = start_ms + self.scenario.duration_ms
        self._look()
        self._run(healed_ms)
        self.faults.end_all()
        settled_ms = self._settle(healed_ms, until_settled)
        reason = self._unsettled(with_new=False)
        if reason is not None:
            of_consumer = self._consumer_group(reason.group) is not None
            what = f"{reason.group}: {reason.why}"
            self.checkers.unsettled(what, of_consumer=of_consumer, is_known=reason.is_known)
            settled_ms = None
        self.cluster.flush()
        self.cluster.watch.verify_logs(self.schedule.now_ms)
        self.cluster.cluster.close()
        return Run(
            scenario=self.scenario,
            seed=self.seed,
            end_ms=self.schedule.now_ms,
            settled_ms=settled_ms,
            violations=tuple(self.checkers.violations),
            tally=self.measures.tally(self.schedule.now_ms),
            known=tuple(self.checkers.known),
        )

    def _run(self, until_ms: int) -> None:
        """Continue, through losses of power."""
        while True:
            try:
                self.schedule.run(until_ms)
                return
            except PowerLost:
                self.cluster.lose_power()

    def _look(self) -> None:
        """The checkers see the state of things every second."""
        self.cluster.watch.look()
        for member in self.members.values():
            member.look()
        for group in self.groups:
            self._look_at_books(group)
        self.schedule.at(self.schedule.now_ms + LOOK_EVERY_MS, self._look)

    def _consumer_group(self, group: str) -> ConsumerGroup | None:
        hosted = self.cluster.cluster.coordinators.hosted.get(self.cluster.cluster.offsets_partition(group))
        return None if hosted is None else hosted.coordinator.consumer.watched(group)

    def _look_at_books(self, group: str) -> None:
        """Compare what the group's coordinator holds, for the consumer protocol, with what the members do."""
        partition = self.cluster.cluster.offsets_partition(group)
        hosted = self.cluster.cluster.coordinators.hosted.get(partition)
        if hosted is None or hosted.is_loading or self.checkers.has_lost(group):
            return
        of_consumer = hosted.coordinator.consumer.watched(group)
        if of_consumer is None:
            return
        holders = [member.holder for member in self.members.values() if member.spec.group == group]
        self.books.look(
            of_consumer, [holder for holder in holders if holder is not None], is_logged=hosted.is_idle
        )

    def _topic_name(self, topic_id: UUID) -> str | None:
        return self.cluster.cluster.topic_names.get(topic_id)

    def _settle(self, healed_ms: int, until_settled: bool) -> int | None:
        """Continue without faults; returns the time until everything had settled, None: it has not."""
        end_ms = healed_ms + self.scenario.settle_ms
        settled_ms: int | None = None
        while self.schedule.now_ms < end_ms and not (until_settled and settled_ms is not None):
            self._run(min(self.schedule.now_ms + _LOOK_MS, end_ms))
            if settled_ms is None and self._unsettled(with_new=True) is None:
                settled_ms = self.schedule.now_ms - healed_ms
                if self._tell is not None:
                    self._tell(Settled(at_ms=self.schedule.now_ms))
        return settled_ms

    def _unsettled(self, *, with_new: bool) -> _Unsettled | None:
        """The reason things have not settled: the first that Kafka does not have, or else the first.

        `with_new`: also for partitions that came just now.
        """
        known: _Unsettled | None = None
        for group in self.groups:
            members = [
                member for member in self.members.values() if member.spec.group == group and member.is_there
            ]
            for reason in self._reasons(group, members, with_new) if members else ():
                if not reason.is_known:
                    return reason
                known = known or reason
        return known

    def _reasons(self, group: str, members: list[MemberHost], with_new: bool) -> Iterator[_Unsettled]:
        """Reasons a group has not settled."""
        node = self.cluster.coordinator_of(group)
        if node is None:
            yield _Unsettled(group, "it has no coordinator")
            return
        hosted = self.cluster.cluster.coordinator(group, node.node.node_id, self.schedule.now_ms)
        if not isinstance(hosted, HostedCoordinator):
            yield _Unsettled(group, f"its coordinator says {hosted.name}")
            return
        of_consumer = hosted.coordinator.consumer.watched(group)
        described = (
            hosted.coordinator.describe(group).group_state if of_consumer is None else of_consumer.state
        )
        if described != GroupState.STABLE.value:
            yield _Unsettled(group, f"it is {described}")
            return
        readers: dict[tuple[str, int], list[str]] = {}
        for member in members:
            for partition, is_ready in member.reads.items():
                if is_ready:
                    readers.setdefault(partition, []).append(member.name)
        seen_after_ms = max(member.spec.metadata_max_age_ms for member in members) + _TO_SHARE_OUT_MS
        there = self.cluster.topic_names
        for topic in sorted({topic for member in members for topic in member.topics(there)}):
            for partition in self.cluster.partitions_of(topic):
                names = readers.get(partition, [])
                since_ms = self.cluster.new_since_ms.get(partition, -seen_after_ms)
                is_new = self.schedule.now_ms < since_ms + seen_after_ms
                if len(names) != 1 and (names or with_new or not is_new):
                    why = f"{topic}-{partition[1]} is read by {' and '.join(names) or 'nobody'}"
                    is_known = self._is_kafkas(group, hosted, members, partition)
                    yield _Unsettled(group, why, is_known=is_known)

    def _is_kafkas(
        self, group: str, hosted: HostedCoordinator, members: list[MemberHost], partition: TopicPartition
    ) -> bool:
        """Whether Kafka's coordinator and members, too, would leave this partition as it is."""
        holders = [member.holder for member in members if member.reads.get(partition)]
        if holders:
            read_by = [(each.member_id, each.epoch) for each in holders if each is not None]
            stale = self.cluster.watch.stale_heartbeats
            return len(read_by) == len(holders) and stale.explain_readers(group, read_by, partition)
        classic = hosted.coordinator.classic.watched(group)
        if classic is not None:
            ids = [member.machine.member_id for member in members if member.machine is not None]
            return self.cluster.watch.downgrades.explain(hosted, classic, partition, ids)
        of_consumer = hosted.coordinator.consumer.watched(group)
        if of_consumer is None:
            return False
        topic, number = partition
        topic_id = self.cluster.cluster.topics[topic].spec.topic_id
        for member in members:
            holder = member.holder
            owner = None if holder is None else of_consumer.members.get(holder.member_id)
            if owner is not None and number in owner.assigned.get(topic_id, ()):
                is_lost = self.cluster.watch.lost_words.explain(group, owner, topic_id, number)
                return is_lost or member.unheard.explains(owner)
        return False
