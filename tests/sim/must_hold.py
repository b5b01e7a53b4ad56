"""Runs in which every promise held, and questions to ask of them: for the tests behind docs/must_hold.md."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.watch.trace import CoordinatorEvent, RequestSent
from tests.sim.worlds import Seen, members, play

T = TypeVar("T")


def played(scenario: Scenario, seed: int = 1) -> Seen:
    """A run that no checker found anything in."""
    seen = play(scenario, seed)
    assert seen.run.violations == ()
    return seen


def with_late(scenario: Scenario, **settings: Any) -> Scenario:
    """The scenario with a member `late`, which is there when a fault starts it."""
    (late,) = members(1, start_ms=None, **settings)
    return replace(scenario, members=(*scenario.members, replace(late, name="late")))


def since(seen: Seen, kind: type[T], after_s: float) -> list[T]:
    """Events of this kind, from so many seconds after the start on."""
    return [each for each in seen.events if isinstance(each, kind) and seen.s(each) >= after_s]


def decided(seen: Seen, kind: type[T], after_s: float = 0) -> list[T]:
    """What coordinators decided of this kind."""
    events = [each.event for each in since(seen, CoordinatorEvent, after_s)]
    return [each for each in events if isinstance(each, kind)]


def requests(seen: Seen, kind: Any, after_s: float = 0) -> list[Any]:
    """Requests of this kind that members sent; the events, with who sent them and when."""
    return [each for each in since(seen, RequestSent, after_s) if isinstance(each.body, kind)]


def bodies(events: Iterable[Any], kind: type[T]) -> list[T]:
    """What requests or responses say, of one kind."""
    return [each.body for each in events if isinstance(each.body, kind)]
