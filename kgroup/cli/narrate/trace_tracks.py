"""A simulated run as tracks of a trace: members and nodes, their states, requests and faults."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kgroup.group.member.step import CallbackKind
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.trace_format import Exchange, Moment, Span, TraceItem
from kgroup.sim.chronicle import Formed
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.watch.trace import (
    CoordinatorMoved,
    FaultBegan,
    FaultEnded,
    MemberMoved,
    MemberStarted,
    MemberStopped,
    NodeStarted,
    NodeStopped,
    PartitionsChanged,
    RequestFailed,
    RequestSent,
    ResponseReceived,
)
from kgroup.sim.zookeeper.trace import ZnodeOperation, ZookeeperEvent

_GROUPS = "groups"
_MEMBERS = "members"
_NODES = "nodes"
_FAULTS = "faults"

_Track = tuple[str, str]
"""Process and track."""


@dataclass(slots=True)
class _Open:
    """A span that has begun."""

    name: str
    begin_ms: int
    args: dict[str, object]


@dataclass(slots=True)
class RunTracks:
    """Hears the events of a run, and has their tracks when it is over. Times are ms since its start."""

    scenario: Scenario
    _items: list[TraceItem] = field(default_factory=list)
    _open: dict[_Track, _Open] = field(default_factory=dict)
    _owned: dict[str, set[TopicPartition]] = field(default_factory=dict)
    _operations: int = 0
    _asked: dict[tuple[str, int], RequestSent] = field(default_factory=dict)

    def hear(self, event: ZookeeperEvent) -> None:
        """Something happened."""
        at_ms = event.at_ms - self.scenario.epoch_ms
        match event:
            case MemberStarted():
                self._begin((_MEMBERS, event.member), "UNJOINED", at_ms, {"process": event.process})
            case MemberStopped():
                self._end((_MEMBERS, event.member), at_ms)
                self._end((_MEMBERS, f"{event.member} reads"), at_ms)
                self._owned.pop(event.member, None)
                self._moment(_MEMBERS, event.member, f"stopped: {event.why}", at_ms)
            case MemberMoved():
                about = {
                    "generation": event.generation,
                    "leads": event.is_leader,
                    "member_id": event.member_id,
                }
                self._begin((_MEMBERS, event.member), event.state.value, at_ms, about)
            case PartitionsChanged():
                self._change_reads(event, at_ms)
            case RequestSent():
                self._asked[event.member, event.request_id] = event
            case ResponseReceived() | RequestFailed():
                self._answered(event, at_ms)
            case ZnodeOperation():
                self._served(event, at_ms)
            case NodeStarted():
                self._begin((_NODES, event.node), "up", at_ms, {})
            case NodeStopped():
                self._end((_NODES, event.node), at_ms)
                self._moment(_NODES, event.node, event.why, at_ms)
            case CoordinatorMoved():
                self._moment(_GROUPS, event.group, f"coordinator: {event.node or 'none'}", at_ms)
            case FaultBegan():
                lasting = {"duration_ms": event.duration_ms, "amount": event.amount, "other": event.other}
                self._moment(_FAULTS, event.target, event.kind.value, at_ms, lasting)
            case FaultEnded():
                self._moment(_FAULTS, event.target, f"{event.kind.value} ends", at_ms)
            case _:
                pass

    def items(self, generations: list[Formed], end_ms: int) -> Iterator[TraceItem]:
        """All tracks: groups first, then members by name, nodes and faults. `end_ms` is epoch ms."""
        last_ms = end_ms - self.scenario.epoch_ms
        for track in list(self._open):
            self._end(track, last_ms)
        yield from _generations(generations, last_ms)
        order = {_GROUPS: 0, _MEMBERS: 1, _NODES: 2, _FAULTS: 3}
        yield from sorted(self._items, key=lambda item: (order[item.process], item.track))

    def _begin(self, track: _Track, name: str, at_ms: int, args: dict[str, object]) -> None:
        """A span begins where another one may end."""
        self._end(track, at_ms)
        self._open[track] = _Open(name, at_ms, args)

    def _end(self, track: _Track, at_ms: int) -> None:
        begun = self._open.pop(track, None)
        if begun is None or begun.begin_ms == at_ms:  # it did not last
            return
        process, name = track
        self._items.append(
            Span(
                process=process,
                track=name,
                name=begun.name,
                begin_ms=begun.begin_ms,
                end_ms=at_ms,
                args=begun.args,
            )
        )

    def _moment(
        self, process: str, track: str, name: str, at_ms: int, args: Mapping[str, object] | None = None
    ) -> None:
        self._items.append(Moment(process=process, track=track, name=name, at_ms=at_ms, args=args or {}))

    def _change_reads(self, event: PartitionsChanged, at_ms: int) -> None:
        owned = self._owned.setdefault(event.member, set())
        if event.kind is CallbackKind.ASSIGNED:
            owned.update(event.partitions)
        else:
            owned.difference_update(event.partitions)
        texts = [f"{topic}-{partition}" for topic, partition in sorted(owned)]
        about = {"generation": event.generation, "partitions": texts}
        track = (_MEMBERS, f"{event.member} reads")
        self._begin(track, ", ".join(texts) or "nothing", at_ms, about)

    def _answered(self, event: ResponseReceived | RequestFailed, at_ms: int) -> None:
        asked = self._asked.pop((event.member, event.request_id), None)
        if asked is None:
            return
        failed = {"failed": event.why} if isinstance(event, RequestFailed) else {}
        self._items.append(
            Exchange(
                process=_MEMBERS,
                track=f"{event.member} requests",
                name=type(asked.body).__name__.removesuffix("Request"),
                begin_ms=asked.at_ms - self.scenario.epoch_ms,
                end_ms=at_ms,
                number=event.request_id,
                args={"node": asked.node, **failed},
            )
        )

    def _served(self, event: ZnodeOperation, at_ms: int) -> None:
        """A request from its arrival at ZooKeeper to its turn: the requests of a herd wait for each other."""
        self._operations += 1
        self._items.append(
            Exchange(
                process=_MEMBERS,
                track=f"{event.member} requests",
                name=event.operation,
                begin_ms=at_ms - event.waited_ms,
                end_ms=at_ms,
                number=self._operations,
                args={"path": event.path, "error": event.error.value if event.error else None},
            )
        )


def _generations(generations: list[Formed], last_ms: int) -> Iterator[TraceItem]:
    of_groups: dict[str, list[Formed]] = {}
    for formed in generations:
        of_groups.setdefault(formed.group, []).append(formed)
    for group, of_group in sorted(of_groups.items()):
        ends = [formed.at_ms for formed in of_group[1:]] + [last_ms]
        for formed, end_ms in zip(of_group, ends, strict=True):
            args = {
                "why": formed.why,
                "members": formed.members,
                "protocol": formed.protocol,
                "moved": formed.moved,
                "shares": {
                    member: [f"{topic}-{partition}" for topic, partition in share]
                    for member, share in formed.shares.items()
                },
            }
            yield Span(
                process=_GROUPS,
                track=group,
                name=f"generation {formed.generation}",
                begin_ms=formed.at_ms,
                end_ms=end_ms,
                args=args,
            )
            why = f"rebalance: {formed.why}"
            yield Moment(process=_GROUPS, track=group, name=why, at_ms=formed.at_ms, args={"why": formed.why})
