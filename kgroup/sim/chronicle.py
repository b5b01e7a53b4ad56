"""The chronicle of a run: generations with their shares, states of members, the times of faults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kgroup.group.coordinator.events import (
    GenerationFormed,
    GroupStable,
    MemberAdded,
    MemberRemoved,
    RebalanceStarted,
)
from kgroup.group.member.consumer.identity import ConsumerState
from kgroup.group.member.identity import MemberState
from kgroup.group.member.step import CallbackKind
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import SyncGroupResponse
from kgroup.protocol.subscription import assigned_partitions
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.names import MemberNames
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.watch.trace import (
    CoordinatorEvent,
    FaultBegan,
    MemberMoved,
    MemberStarted,
    MemberStopped,
    PartitionsChanged,
    ResponseReceived,
)
from kgroup.sim.zookeeper.trace import ZookeeperEvent

NOT_RUNNING: Final = " "
_ORDINARY_ENDS: Final = ("closed", "killed")
LETTERS: Final[Mapping[MemberState | ConsumerState, str]] = {
    MemberState.UNJOINED: "u",
    MemberState.PREPARING_REBALANCE: "p",
    MemberState.COMPLETING_REBALANCE: "c",
    MemberState.STABLE: "-",
    ConsumerState.UNSUBSCRIBED: "o",
    ConsumerState.JOINING: "j",
    ConsumerState.RECONCILING: "r",
    ConsumerState.ACKNOWLEDGING: "a",
    ConsumerState.STABLE: "-",
    ConsumerState.FENCED: "f",
    ConsumerState.STALE: "s",
}


@dataclass(slots=True, kw_only=True)
class Formed:
    """A generation. `shares`: what its leader gave to each member, by the member's name."""

    group: str
    generation: int
    at_ms: int
    protocol: str
    members: int
    why: str
    shares: dict[str, tuple[TopicPartition, ...]] = field(default_factory=dict)
    moved: int = 0


@dataclass(slots=True)
class _Group:
    added: list[str] = field(default_factory=list)
    removed: list[tuple[str, str]] = field(default_factory=list)
    whys: list[str] = field(default_factory=list)
    generations: list[Formed] = field(default_factory=list)
    owners: dict[TopicPartition, str] = field(default_factory=dict)


class Chronicle:
    """Listens to a run of either design. Times are ms since the start."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.states: dict[str, list[tuple[int, str]]] = {
            member.name: [(0, NOT_RUNNING)] for member in scenario.members
        }
        self.fault_times: list[int] = []
        self.failures: list[tuple[int, str, str]] = []
        """When a member's process ended by an error, whose, and which."""
        self._reads: dict[str, set[TopicPartition]] = {member.name: set() for member in scenario.members}
        self._generation_of: dict[str, int] = {}
        self._names = MemberNames(scenario)
        self._groups: dict[str, _Group] = {}
        self._group_of = {member.name: member.group for member in scenario.members}

    def hear(self, event: ZookeeperEvent) -> None:
        """Something happened."""
        at_ms = event.at_ms - self.scenario.epoch_ms
        match event:
            case FaultBegan():
                self.fault_times.append(at_ms)
            case MemberStarted():
                self._state(at_ms, event.member, LETTERS[MemberState.UNJOINED])
            case MemberStopped():
                if event.why not in _ORDINARY_ENDS:
                    self.failures.append((at_ms, event.member, event.why))
                self._state(at_ms, event.member, NOT_RUNNING)
                self._reads[event.member].clear()
            case MemberMoved():
                self._state(at_ms, event.member, LETTERS[event.state])
                self._generation_of[event.member] = event.generation
            case PartitionsChanged():
                self._change_reads(event)
            case ResponseReceived(body=SyncGroupResponse(error_code=ErrorCode.NONE) as body):
                self._synced(event.member, body)
            case CoordinatorEvent():
                self._decided(at_ms, event)
            case _:
                pass

    def generations(self) -> list[Formed]:
        """The generations in the order in which they were formed."""
        formed = [each for group in self._groups.values() for each in group.generations]
        return sorted(formed, key=lambda each: (each.at_ms, each.group))

    def last_reads(self) -> dict[str, tuple[TopicPartition, ...]]:
        """The partitions that each member reads now."""
        return {member: tuple(sorted(partitions)) for member, partitions in self._reads.items()}

    def _state(self, at_ms: int, member: str, letter: str) -> None:
        changes = self.states[member]
        if changes[-1][0] == at_ms:
            changes.pop()  # it did not last
        if not changes or changes[-1][1] != letter:
            changes.append((at_ms, letter))

    def _change_reads(self, event: PartitionsChanged) -> None:
        if event.kind is CallbackKind.ASSIGNED:
            self._reads[event.member].update(event.partitions)
        else:
            self._reads[event.member].difference_update(event.partitions)

    def _decided(self, at_ms: int, decided: CoordinatorEvent) -> None:
        group = self._groups.setdefault(decided.event.group_id, _Group())
        match decided.event:
            case MemberAdded(member_id=member_id, group_instance_id=instance_id):
                group.added.append(instance_id or member_id)
            case MemberRemoved(member_id=member_id, why=why):
                group.removed.append((member_id, why))
            case RebalanceStarted(why=why):
                group.whys.append(why)
            case GenerationFormed() as formed:
                group.generations.append(
                    Formed(
                        group=formed.group_id,
                        generation=formed.generation_id,
                        at_ms=at_ms,
                        protocol=formed.protocol or "",
                        members=formed.members,
                        why=self._cause(group),
                    )
                )
                group.added, group.removed, group.whys = [], [], []
            case GroupStable() | _:
                pass

    def _cause(self, group: _Group) -> str:
        """The members that came and went since the last generation, or else the reason why it was started."""
        parts = []
        if group.added:
            parts.append(
                "joined " + ", ".join(sorted(map(self._names.of, group.added), key=self._start_order))
            )
        for why in dict.fromkeys(why for _, why in group.removed):
            gone = [self._names.of(member_id) for member_id, each in group.removed if each == why]
            parts.append(f"gone {', '.join(sorted(gone, key=self._start_order))} ({why})")
        if not parts:
            parts = [self._names.in_text(why) for why in group.whys[:1]]
        return "; ".join(parts) or "-"

    def _start_order(self, name: str) -> tuple[int, str]:
        names = list(self.states)
        return names.index(name) if name in names else len(names), name

    def _synced(self, member: str, body: SyncGroupResponse) -> None:
        group = self._groups.get(self._group_of[member])
        if group is None or not group.generations:
            return
        generation = group.generations[-1]
        if generation.generation != self._generation_of.get(member) or member in generation.shares:
            return
        share = tuple(sorted(assigned_partitions(body.assignment)))
        generation.shares[member] = share
        for partition in share:
            generation.moved += group.owners.get(partition, member) != member
            group.owners[partition] = member
