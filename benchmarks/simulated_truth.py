"""A simulation's knowledge, by its trace, of why its groups rebalanced: the truth replay is judged by."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from kgroup.group.coordinator.events import GenerationFormed, GroupStable, MemberAdded, MemberRemoved
from kgroup.group.member.step import CallbackKind
from kgroup.history.timeline.model import Cause, CauseKind
from kgroup.sim.watch import trace

K: Final = CauseKind
_EVER_MS: Final = 1 << 62
_NOT_POLLED: Final = "consumer poll timeout has expired."  # in its LeaveGroup, as Java (KIP-800)
_UUID_CHARACTERS: Final = 37  # of a member id, with the hyphen before


_DEPARTURES: Final = (
    K.LEAVE,
    K.SESSION_EXPIRED,
    K.POLL_INTERVAL_EXCEEDED,
    K.REBALANCE_TIMEOUT,
    K.MEMBER_GONE,
)


class Window(NamedTuple):
    """A time of the world, in its own epoch ms, whatever the clocks of brokers show in the log."""

    after_ms: int
    until_ms: int

    def holds(self, at_ms: int) -> bool:
        """Whether a moment lies in it."""
        return self.after_ms < at_ms <= self.until_ms


class Truth:
    """Listens to one run. Members go by the part of their ids that a process keeps: client or instance id."""

    def __init__(self) -> None:
        self._added: defaultdict[str, list[int]] = defaultdict(list)
        self._removed: defaultdict[str, list[tuple[int, CauseKind]]] = defaultdict(list)
        self._formed: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        self._stable: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        self._grown: defaultdict[str, list[int]] = defaultdict(list)
        self._revoked: list[int] = []
        self._moved: list[int] = []

    def tell(self, event: trace.TraceEvent) -> None:
        """Take the next event of the trace."""
        match event:
            case trace.CoordinatorEvent():
                self._decided(event)
            case trace.TopicGrown(topic=topic, at_ms=at_ms):
                self._grown[topic].append(at_ms)
            case trace.PartitionsChanged(kind=CallbackKind.REVOKED, at_ms=at_ms):
                self._revoked.append(at_ms)
            case trace.CoordinatorMoved(node=str(), at_ms=at_ms):
                self._moved.append(at_ms)
            case _:
                pass

    def _decided(self, decision: trace.CoordinatorEvent) -> None:
        match decision.event:
            case MemberAdded(member_id=member_id):
                self._added[_name(member_id)].append(decision.at_ms)
            case MemberRemoved(member_id=member_id, why=why):
                self._removed[member_id].append((decision.at_ms, _kind(why)))
            case GenerationFormed(group_id=group, generation_id=generation):
                self._formed[group, generation].append(decision.at_ms)
            case GroupStable(group_id=group, generation_id=generation):
                self._stable[group, generation].append(decision.at_ms)
            case _:
                pass

    def window(self, group: str, previous: int, generation: int) -> Window:
        """The time from all joining one generation to the storing of the other; `previous` 0: the start."""
        after = self._formed[group, previous]
        until = self._stable[group, generation] or self._formed[group, generation]
        return Window(min(after, default=-1), max(until, default=_EVER_MS))

    def since(self, group: str, generation: int) -> Window:
        """The time since all had joined a generation; 0: from the start."""
        return Window(min(self._formed[group, generation], default=-1), _EVER_MS)

    def departures(self, cause: Cause, window: Window) -> Iterator[CauseKind]:
        """The reasons for which the members of a departure were taken out; none for causes of other kinds."""
        if cause.kind in _DEPARTURES:
            for member_id in cause.member_ids:
                yield from {kind for at_ms, kind in self._removed[member_id] if window.holds(at_ms)}

    def is_true(self, cause: Cause, window: Window) -> bool:
        """Whether something in the window made it so; a kind that these worlds cannot bring about is not."""
        match cause.kind:
            case K.FIRST_JOIN | K.JOIN:
                return all(any(map(window.holds, self._added[_name(m)])) for m in cause.member_ids)
            case K.LEAVE:
                # Who stops polling sends the same LeaveGroup.
                return not {K.LEAVE, K.POLL_INTERVAL_EXCEEDED}.isdisjoint(self.departures(cause, window))
            case K.SESSION_EXPIRED | K.REBALANCE_TIMEOUT | K.POLL_INTERVAL_EXCEEDED:
                return cause.kind in self.departures(cause, window)
            case K.TOPIC_GREW:
                grown = self._grown[cause.evidence.partition(":")[0]]
                return any(at_ms <= window.until_ms for at_ms in grown)
            case K.COOPERATIVE_FOLLOW_UP:
                return any(map(window.holds, self._revoked))
            case K.COORDINATOR_MOVED:
                return bool(self._moved)
            case K.STATIC_RESTART:
                # Whoever came back, nobody had taken the old one out.
                return not any(window.holds(at_ms) for at_ms, _ in self._removed[cause.member_ids[0]])
            case K.REWIND:
                return True
            case _:
                return False


def _name(member_id: str) -> str:
    return member_id[:-_UUID_CHARACTERS]


def _kind(why: str) -> CauseKind:
    if why == f"left: {_NOT_POLLED}":
        return K.POLL_INTERVAL_EXCEEDED
    if why.startswith("left"):
        return K.LEAVE
    if why == "session expired":
        return K.SESSION_EXPIRED
    return K.REBALANCE_TIMEOUT if "rebalance timeout" in why else K.MEMBER_GONE
