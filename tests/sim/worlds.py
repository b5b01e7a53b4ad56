"""Small worlds for tests, and what was seen in them."""

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from kgroup.broker.storage import Storage
from kgroup.sim.scenario.actions import parse_fault
from kgroup.sim.scenario.scenario import Scenario, SimMember, SimTopic
from kgroup.sim.watch.result import Run
from kgroup.sim.watch.trace import TraceEvent
from kgroup.sim.world.world import run

E = TypeVar("E", bound=TraceEvent)


def members(count: int, **settings: Any) -> tuple[SimMember, ...]:
    """`c1` to `cN` on the topic `orders`, who commit after each batch and hear of a dead member in 10 s."""
    given = {
        "topics": ("orders",),
        "assignors": ("range",),
        "session_timeout_ms": 10_000,
        "metadata_max_age_ms": 10_000,
    } | settings
    return tuple(SimMember(name=f"c{number}", **given) for number in range(1, count + 1))


def world(*faults: tuple[str, str], **given: Any) -> Scenario:
    """Two members on four partitions for a minute, and `faults` as they are said: `("20s", "kill c1")`."""
    return replace(
        Scenario(
            name="test",
            duration_ms=60_000,
            settle_ms=60_000,
            topics=(SimTopic(name="orders", partitions=4, records_per_s=4),),
            members=members(2),
            faults=tuple(parse_fault(at, action) for at, action in faults),
            properties={"offsets.topic.num.partitions": "3", "group.initial.rebalance.delay.ms": "1000"},
        ),
        **given,
    )


@dataclass
class Seen:
    """A run with its trace."""

    run: Run
    events: list[TraceEvent] = field(default_factory=list)

    @property
    def broken(self) -> set[str]:
        """Names of the checkers that reported something."""
        return {violation.checker for violation in self.run.violations}

    def of(self, event: type[E], /, **fields: Any) -> list[E]:
        """Events of a kind whose fields have these values, in order."""
        return [
            each
            for each in self.events
            if isinstance(each, event) and all(getattr(each, name) == value for name, value in fields.items())
        ]

    def s(self, event: TraceEvent) -> float:
        """When it happened, in seconds after the start."""
        return (event.at_ms - self.run.scenario.epoch_ms) / 1000


def play(scenario: Scenario, seed: int = 1, *, storage: Storage | None = None, codec: bool = False) -> Seen:
    events: list[TraceEvent] = []
    return Seen(run(scenario, seed, storage=storage, on_event=events.append, codec=codec), events)
