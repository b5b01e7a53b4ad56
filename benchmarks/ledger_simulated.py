"""The ledger of simulated groups against what each of their members really processed.

    python -m benchmarks.ledger_simulated [--seeds N] [--first SEED] [--wrong]

Each seed is a small world full of trouble, in which half of the groups begin at the log's end, all members
stop for a while, and somebody sets offsets meanwhile. The ledger is made of the logs alone, as `kgroup
ledger` makes it. Three things must hold: what it calls certain has happened to every record of the range;
what has happened to a record lies in some range; and no range of more records than its bound. What a member
read on after its coordinator had given it up is in no log and in no bound: it is counted by itself.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from tabulate import tabulate

from kgroup.api.ledger import ledger
from kgroup.api.opened import OpenedLogs, open_logs
from kgroup.api.replay import replay
from kgroup.broker.apis.coordination import ask_coordinator
from kgroup.broker.storage import MemoryStorage, TopicSpec
from kgroup.group.member.settings import OffsetReset
from kgroup.history.ledger.model import Ledger, LedgerEntry, LedgerKind
from kgroup.history.timeline.model import Partition
from kgroup.log.store.record_log import MemoryLog, RecordLog
from kgroup.protocol.requests.coordinator import CommitPartition, CommitTopic, OffsetCommit
from kgroup.sim.scenario.scenario import Fault, FaultKind, Scenario
from kgroup.sim.swarm import draw_scenario
from kgroup.sim.watch import trace
from kgroup.sim.world.world import FAULTS_OF_MEMORY, World
from kgroup.wire.frames import Call

GROUP: Final = "g"
# What a log cannot be right about: clocks that jump, requests that arrive a second time much later, and a
# topic that a member of a cooperative group lets go and takes back between two generations.
_LEFT_OUT: Final = FAULTS_OF_MEMORY | {FaultKind.SKEW, FaultKind.DUPLICATE, FaultKind.NARROW}
_STOP_MS: Final = 35_000
_START_MS: Final = 55_000
_SET_MS: Final = (46_000, 54_000)
_ADMIN: Final = Call(
    token=-1,
    api_key=-1,
    version=-1,
    correlation_id=-1,
    client_id="admin",
    client_host="/10.2.0.1",
    body=None,
)


@dataclass(slots=True)
class Truth:
    """The processing of each offset, by partition: who and when; and the committed offsets."""

    processed: dict[Partition, defaultdict[int, list[tuple[int, str]]]] = field(default_factory=dict)
    committed: dict[Partition, int] = field(default_factory=dict)

    def tell(self, event: trace.TraceEvent) -> None:
        """Take the next event of the trace."""
        if isinstance(event, trace.RecordsProcessed) and event.group == GROUP:
            of_partition = self.processed.setdefault(Partition(*event.partition), defaultdict(list))
            for offset in range(event.first, event.last + 1):
                of_partition[offset].append((event.at_ms, event.member))
        elif isinstance(event, trace.CommitEnded) and event.group == GROUP and not event.error_code:
            for topic_partition, offset in event.offsets:
                partition = Partition(*topic_partition)
                self.committed[partition] = max(offset, self.committed.get(partition, 0))

    def skipped(self, partition: Partition) -> set[int]:
        """Offsets that members have committed beyond, and that nobody processed."""
        return set(range(self.committed.get(partition, 0))) - set(self.processed.get(partition, {}))

    def doubled(self, partition: Partition) -> set[int]:
        """Offsets that were processed more than once."""
        return {offset for offset, times in self.processed.get(partition, {}).items() if len(times) > 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedLedger:
    """A seed's ledger against the truth, in records.

    `wrong` are certain and did not happen, `missed` happened and lie in no range, `beyond` are those of them
    that somebody processed who had lost the partition.
    """

    seed: int
    certain: Counter[str]
    happened: Counter[str]
    covered: Counter[str]
    wrong: tuple[str, ...]
    missed: tuple[str, ...]
    beyond: int


class _KeptLogs(MemoryStorage):
    """Logs in memory, which can be read when the world has ended."""

    def __init__(self) -> None:
        self.logs: dict[tuple[str, int], MemoryLog] = {}

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        """An empty log."""
        log = self.logs[topic.name, partition] = MemoryLog()
        return log

    def write(self, folder: Path) -> None:
        """As a broker's log directory."""
        for (topic, partition), log in self.logs.items():
            log_dir = folder / f"{topic}-{partition}"
            log_dir.mkdir()
            (log_dir / f"{0:020}.log").write_bytes(b"".join(log.batches(0)))


def judge_seed(seed: int) -> JudgedLedger:
    """Play a seed's world, and hold the ledger of its logs against it."""
    storage, truth = _KeptLogs(), Truth()
    world = World(_with_a_stop(draw_scenario(seed), seed), seed, storage, truth.tell, codec=False)
    _Admin(world, seed).start()
    world.play(until_settled=True)
    with TemporaryDirectory(prefix="kgroup-") as folder:
        storage.write(Path(folder))
        with open_logs(folder) as logs:
            return _judged(seed, truth, ledger(logs, GROUP), _Owners(logs))


def _with_a_stop(scenario: Scenario, seed: int) -> Scenario:
    """The same world, but everybody stops and comes back, and some members begin at the end."""
    chance = Random(f"{seed}/ledger")
    reset = OffsetReset.LATEST if chance.random() < 0.5 else OffsetReset.EARLIEST
    members = tuple(replace(member, auto_offset_reset=reset) for member in scenario.members)
    how = chance.choice((FaultKind.KILL, FaultKind.LEAVE))
    there = [member.name for member in members if (member.start_ms or 0) < _STOP_MS]
    faults = [Fault(at_ms=_STOP_MS, kind=how, target=name) for name in there]
    faults += [Fault(at_ms=_START_MS, kind=FaultKind.START, target=name) for name in there]
    chaos = scenario.chaos
    if chaos is not None:
        chaos = replace(chaos, kinds=tuple(kind for kind in chaos.kinds if kind not in _LEFT_OUT))
    return replace(scenario, members=members, faults=tuple(faults), chaos=chaos, producers=0)


class _Admin:
    """Sets offsets, forward or back, if the group lets it."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._chance = Random(f"{seed}/admin")

    def start(self) -> None:
        at_ms = self._chance.randint(*_SET_MS)
        self._world.schedule.at(self._world.schedule.now_ms + at_ms, self._set)

    def _set(self) -> None:
        host = self._world.cluster
        node = host.coordinator_of(GROUP)
        if node is None or not node.is_running or not node.is_free:
            return
        topics = host.cluster.topics
        name = self._world.scenario.topics[0].name
        chosen = tuple(
            CommitPartition(
                partition_index=index,
                committed_offset=self._chance.randint(0, partition.log.end_offset),
                committed_leader_epoch=-1,
                committed_metadata="",
            )
            for index, partition in enumerate(topics[name].partitions)
            if self._chance.random() < 0.5
        )
        request = OffsetCommit(
            group_id=GROUP,
            generation_id=-1,
            member_id="",
            group_instance_id=None,
            retention_time_ms=-1,
            topics=(CommitTopic(name=name, topic_id=None, partitions=chosen),),
            knows_group_not_found=True,
        )
        ask_coordinator(node.node, _ADMIN, GROUP, request, node.now_ms(), lambda reply: None)
        host.schedule_flush(node)


class _Owners:
    """A partition's owners at a time, by the generations in the log: clients by the names of members."""

    def __init__(self, logs: OpenedLogs) -> None:
        self._rosters = [generation.roster for generation in replay(logs, GROUP).generations]

    def has_lost(self, member: str, partition: Partition, at_ms: int) -> bool:
        """Whether the last generation before then gives it to somebody else."""
        before = [roster for roster in self._rosters if (roster.at_ms or 0) <= at_ms]
        owner = before[-1].owner_of(partition) if before else None
        return owner is None or owner.client_id != member


def _judged(seed: int, truth: Truth, made: Ledger, owners: _Owners) -> JudgedLedger:
    said: defaultdict[tuple[LedgerKind, Partition], list[LedgerEntry]] = defaultdict(list)
    for entry in made.entries:
        said[entry.kind, entry.partition].append(entry)
    certain, happened, covered = Counter[str](), Counter[str](), Counter[str]()
    wrong, missed, beyond = list[str](), list[str](), 0
    for kind, really in ((LedgerKind.SKIPPED, truth.skipped), (LedgerKind.DOUBLED, truth.doubled)):
        for partition in sorted(truth.processed.keys() | {each for _, each in said}):
            true = really(partition)
            processed: Mapping[int, list[tuple[int, str]]] = truth.processed.get(partition, {})
            is_so = partial(_is_so, kind, processed)
            ranges, sure = set[int](), set[int]()
            for entry in said[kind, partition]:
                offsets = range(entry.from_offset, entry.to_offset or 0)
                ranges.update(offsets)
                if entry.is_certain:
                    sure.update(offsets)
                    not_so = [each for each in offsets if not is_so(each)]
                    if not_so:
                        wrong.append(f"{kind} {partition} {not_so[0]} to {not_so[-1]}: {entry}")
            unsaid = sorted(true - ranges)
            late = {
                each
                for each in unsaid
                if kind is LedgerKind.DOUBLED
                and any(owners.has_lost(who, partition, at_ms) for at_ms, who in processed[each])
            }
            beyond += len(late)
            missed += [
                f"{kind} {partition} {each}: {processed.get(each)}" for each in unsaid if each not in late
            ]
            certain[kind] += len(sure & true)
            happened[kind] += len(true)
            covered[kind] += len(true & ranges)
    return JudgedLedger(
        seed=seed,
        certain=certain,
        happened=happened,
        covered=covered,
        wrong=tuple(wrong),
        missed=tuple(missed),
        beyond=beyond,
    )


def _is_so(kind: LedgerKind, processed: Mapping[int, list[tuple[int, str]]], offset: int) -> bool:
    times = len(processed.get(offset, ()))
    return times > 1 if kind is LedgerKind.DOUBLED else times == 0


def table(judged: list[JudgedLedger]) -> str:
    """A line for each kind, and what was wrong."""
    rows = []
    for kind in LedgerKind:
        happened = sum(one.happened[kind] for one in judged)
        certain = sum(one.certain[kind] for one in judged)
        covered = sum(one.covered[kind] for one in judged)
        rows.append((kind, happened, covered, certain, certain / max(happened, 1)))
    headers = ("kind", "happened", "in a range", "certain", "of all")
    lines = tabulate(rows, headers=headers, floatfmt=("", "", "", "", ".2f"))
    wrong, missed = (sum(len(getattr(one, name)) for one in judged) for name in ("wrong", "missed"))
    beyond = sum(one.beyond for one in judged)
    return (
        f"{lines}\n\n{len(judged)} seeds: {wrong} certain ranges wrong, {missed} records in no range,"
        f" {beyond} read by a member that had lost the partition"
    )


def main() -> None:
    """Read the command line, play, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--wrong", action="store_true")
    given = parser.parse_args()
    judged = [judge_seed(seed) for seed in range(given.first, given.first + given.seeds)]
    if given.wrong:
        for one in judged:
            for line in (*one.wrong, *one.missed):
                print(f"seed {one.seed}: {line}")
    print(table(judged))


if __name__ == "__main__":
    main()
