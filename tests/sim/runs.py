"""Small runs of the new design, and questions to ask of what happened in them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from kgroup.sim.result import Run
from kgroup.sim.scenario import Fault, FaultKind, Scenario, SimMember, SimTopic
from kgroup.sim.trace import CoordinatorEvent, TraceEvent
from kgroup.sim.world import run

T = TypeVar("T")


def scenario(members: int = 3, partitions: int = 6, rate: float = 12.0, **fields: Any) -> Scenario:
    """Members c1, c2, ... of group g on topic t; `member` are settings of all of them."""
    settings = {"session_timeout_ms": 10_000} | fields.pop("member", {})
    made = tuple(SimMember(name=f"c{n}", topics=("t",), **settings) for n in range(1, members + 1))
    given = {
        "name": "test",
        "duration_ms": 60_000,
        "settle_ms": 30_000,
        "topics": (SimTopic(name="t", partitions=partitions, records_per_s=rate),),
        "members": made,
        "properties": {"group.initial.rebalance.delay.ms": "1000"},
    }
    return Scenario(**(given | fields))


def with_member(what: Scenario, name: str, **settings: Any) -> Scenario:
    """The scenario with one member more; by default it waits to be started."""
    given = {"start_ms": None, "session_timeout_ms": 10_000} | settings
    member = SimMember(name=name, topics=("t",), **given)
    return replace(what, members=(*what.members, member))


def fault(at_s: float, kind: FaultKind, target: str = "", **fields: Any) -> Fault:
    return Fault(at_ms=int(at_s * 1000), kind=kind, target=target, **fields)


class Played:
    """A run and its events."""

    def __init__(self, what: Scenario, seed: int = 1) -> None:
        self.scenario = what
        self.events: list[TraceEvent] = []
        self.run: Run = run(what, seed, on_event=self.events.append, codec=False)
        assert self.run.violations == ()

    def of(self, *kinds: type[T], after_s: float = 0) -> list[T]:
        """Events of these kinds, in order."""
        start_ms = self.scenario.epoch_ms + after_s * 1000
        return [each for each in self.events if isinstance(each, kinds) and each.at_ms >= start_ms]  # type: ignore[misc]

    def decided(self, kind: type[T], after_s: float = 0) -> list[T]:
        """What coordinators decided of this kind."""
        told = [each.event for each in self.of(CoordinatorEvent, after_s=after_s)]
        return [each for each in told if isinstance(each, kind)]

    def at_s(self, event: TraceEvent) -> float:
        """When it happened, in seconds after the start."""
        return (event.at_ms - self.scenario.epoch_ms) / 1000


def bodies(events: Iterable[Any], kind: type[T]) -> list[T]:
    """What requests or responses say, of one kind."""
    return [each.body for each in events if isinstance(each.body, kind)]
