"""One plan of comings and goings, played twice in the simulator: by the classic protocol, and by the other.

The classic run leaves a log, as any broker's, for a what-if to play; of the other run the members' own
callbacks tell who took which partition over. What nobody could know from the log of the first are the ids
that members and topics draw in the second: `renamed` gives them to its timeline.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple
from uuid import UUID

from kgroup.api.opened import open_logs
from kgroup.api.replay import replay
from kgroup.broker.storage import MemoryStorage, TopicSpec
from kgroup.group.member.step import CallbackKind
from kgroup.history.timeline.model import Timeline, TimelineMember
from kgroup.history.what_if.outcome import Outcome
from kgroup.log.store.record_log import MemoryLog, RecordLog
from kgroup.protocol.group_hash import OFFSETS_TOPIC
from kgroup.protocol.topic_id import topic_id_text
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.scenario.scenario import Fault, FaultKind, NetworkSettings, Scenario, SimMember, SimTopic
from kgroup.sim.watch.trace import MemberMoved, MemberStarted, MemberStopped, PartitionsChanged, TraceEvent
from kgroup.sim.world.world import World

STEP_MS = 30_000
"""Between two events: the longest of a session, what follows from its end, and all the heartbeats of that."""


class Takeover(NamedTuple):
    """Who had a partition last and who has it now, in a step of the plan: `c1/2` is c1's second process."""

    step: int
    before: str
    after: str


Takeovers = dict[TopicPartition, list[Takeover]]
"""Of each partition that changed hands, in order."""


def drawn_plan(seed: int) -> Scenario:
    """Two to four members and up to six events, far enough apart for each to be over before the next.

    Several may start at once, in the order of their names, as nothing else is known of those who come to a
    group with members. Who founds one leads it, and so may be any.
    """
    random = Random(seed)
    names = ("orders", "parcels")[: random.choice((1, 1, 2))]
    sizes = {name: random.randint(1, 6) for name in names}
    members = tuple(
        SimMember(
            name=f"c{number}",
            topics=names,
            start_ms=None,
            assignors=("range",),
            session_timeout_ms=10_000,
            metadata_max_age_ms=5_000,
            instance_id=f"c{number}" if random.random() < 0.2 else None,
        )
        for number in range(1, random.randint(2, 4) + 1)
    )
    faults: list[Fault] = []
    waiting, running = [member.name for member in members], []
    topics = tuple(SimTopic(name=name, partitions=count, records_per_s=1) for name, count in sizes.items())
    events = random.randint(3, 6)
    for number in range(events):
        at_ms = number * STEP_MS
        kinds = [FaultKind.LEAVE, FaultKind.KILL, FaultKind.GROW, FaultKind.NARROW] if running else []
        kind = random.choice([*kinds, *([FaultKind.START] * 3 if waiting else [])])
        if kind is FaultKind.GROW:
            topic = random.choice(names)
            sizes[topic] += random.randint(1, 3)
            faults.append(Fault(at_ms=at_ms, kind=kind, target=topic, amount=sizes[topic]))
        elif kind is FaultKind.NARROW:
            faults.append(Fault(at_ms=at_ms, kind=kind, target=random.choice(running)))
        elif kind is FaultKind.START:
            waiting.sort()
            if not running:
                waiting.insert(0, waiting.pop(random.randrange(len(waiting))))
            for delay in range(random.randint(1, len(waiting))):
                running.append(waiting.pop(0))
                faults.append(Fault(at_ms=at_ms + delay * 10, kind=kind, target=running[-1]))
        else:
            waiting.append(running.pop(random.randrange(len(running))))
            faults.append(Fault(at_ms=at_ms, kind=kind, target=waiting[-1]))
    return Scenario(
        name=f"plan {seed}",
        duration_ms=events * STEP_MS,
        settle_ms=0,
        nodes=1,
        topics=topics,
        members=members,
        faults=tuple(faults),
        network=NetworkSettings(latency_min_ms=1, latency_max_ms=1),
        properties={"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "1000"},
    )


@dataclass
class Played:
    """What was seen in one run: the takeovers in order, and the id of each process."""

    epoch_ms: int
    moves: Takeovers = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    topic_ids: dict[str, UUID] = field(default_factory=dict)
    _processes: dict[str, str] = field(default_factory=dict)
    _running: set[str] = field(default_factory=set)
    _readers: dict[TopicPartition, str] = field(default_factory=dict)

    def tell(self, event: TraceEvent) -> None:
        """The next event of the run."""
        match event:
            case MemberStarted():
                self._processes[event.member] = f"{event.member}/{event.process}"
                self._running.add(self._processes[event.member])
            case MemberStopped():
                self._running.discard(self._processes[event.member])
                if not self._running:
                    self._readers.clear()
            case MemberMoved() if event.member_id:
                self.ids[self._processes[event.member]] = event.member_id
            case PartitionsChanged(kind=CallbackKind.ASSIGNED):
                after = self._processes[event.member]
                for partition in event.partitions:
                    before = self._readers.get(partition, after)
                    if before != after:
                        step = (event.at_ms - self.epoch_ms) // STEP_MS
                        self.moves.setdefault(partition, []).append(Takeover(step, before, after))
                    self._readers[partition] = after


class _KeptLogs(MemoryStorage):
    def __init__(self) -> None:
        self.logs: list[MemoryLog] = []

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        log = MemoryLog()
        if topic.name == OFFSETS_TOPIC:
            self.logs.append(log)
        return log


def play(plan: Scenario, seed: int) -> tuple[Timeline, Played]:
    """The plan, and the replay of its log."""
    played, storage = Played(plan.epoch_ms), _KeptLogs()
    world = World(plan, seed, storage, played.tell, codec=False)
    world.play(until_settled=False)
    played.topic_ids = {name: topic.spec.topic_id for name, topic in world.cluster.cluster.topics.items()}
    (log,) = storage.logs
    with TemporaryDirectory(prefix="kgroup-") as folder:
        log_dir = Path(folder) / f"{OFFSETS_TOPIC}-0"
        log_dir.mkdir()
        (log_dir / f"{0:020}.log").write_bytes(b"".join(log.batches(0)))
        for name, topic_id in played.topic_ids.items():
            partition_dir = Path(folder) / f"{name}-0"
            partition_dir.mkdir(exist_ok=True)
            (partition_dir / "partition.metadata").write_text(
                f"version: 0\ntopic_id: {topic_id_text(topic_id)}\n"
            )
        return replay(open_logs(folder), ["g"])["g"], played


def renamed(timeline: Timeline, played: Played, other: Played) -> Timeline:
    """The timeline of one run with the ids that members and topics have in the other."""
    ids = {played.ids[name]: other.ids[name] for name in played.ids}
    generations = [
        replace(
            generation,
            roster=replace(
                generation.roster,
                leader=ids.get(generation.roster.leader or ""),
                members=tuple(_members(generation.roster.members, ids)),
            ),
            joined=tuple(_members(generation.joined, ids)),
            left=tuple(_members(generation.left, ids)),
            causes=tuple(
                replace(cause, member_ids=tuple(ids.get(each, each) for each in cause.member_ids))
                for cause in generation.causes
            ),
        )
        for generation in timeline.generations
    ]
    return replace(timeline, generations=generations, topic_ids=other.topic_ids)


def _members(members: tuple[TimelineMember, ...], ids: dict[str, str]) -> Iterator[TimelineMember]:
    return (replace(member, member_id=ids[member.member_id]) for member in members)


def supposed_moves(outcome: Outcome, other: Played) -> Takeovers:
    """What a what-if of the renamed timeline says, in the same words."""
    names = {member_id: name for name, member_id in other.ids.items()}
    moves: Takeovers = {}
    for played in outcome.rounds:
        for partition, before, after in played.moves:
            assert played.at_ms is not None
            step = (played.at_ms - other.epoch_ms) // STEP_MS
            moves.setdefault(partition, []).append(Takeover(step, names[before], names[after]))
    return moves
