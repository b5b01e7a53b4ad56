"""Breadth first through all orders of events: each state is looked at once, and at the end of each path all
must settle.

A state is reached by playing its events from the start: machines cannot be copied. So the cost of a step
grows with the depth, and nothing but paths and hashes is kept.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b

from tests.sim.exhaustive.small_world import BrokenPromiseError, Event, SmallWorld

Path = tuple[Event, ...]


@dataclass(slots=True)
class Found:
    """`states[d]` new ones after d events, of `steps` that were tried; `settled` were played to their end."""

    states: list[int] = field(default_factory=lambda: [1])
    steps: int = 0
    settled: int = 0
    violation: tuple[Path, str] | None = None

    @property
    def total(self) -> int:
        """States in all."""
        return sum(self.states)


def search(
    new_world: Callable[[], SmallWorld],
    depth: int,
    on_level: Callable[[Found], None] = lambda found: None,
) -> Found:
    """Every order of `depth` events; ends with the first broken promise."""
    found = Found()
    seen = {_digest(new_world())}
    frontier: list[Path] = [()]
    for level in range(depth):
        following: list[Path] = []
        for path in frontier:
            for event in _played(new_world, path).events():
                found.steps += 1
                longer = (*path, event)
                try:
                    world = _played(new_world, path)
                    world.happen(event)
                    digest = _digest(world)
                    if digest in seen:
                        continue
                    seen.add(digest)
                    following.append(longer)
                    if level == depth - 1:
                        found.settled += 1
                        world.settle()
                except BrokenPromiseError as error:
                    found.violation = (longer, str(error))
                    return found
        found.states.append(len(following))
        frontier = following
        on_level(found)
    return found


def _played(new_world: Callable[[], SmallWorld], path: Path) -> SmallWorld:
    world = new_world()
    for event in path:
        world.happen(event)
    return world


def _digest(world: SmallWorld) -> bytes:
    return blake2b(world.state().encode(), digest_size=12).digest()
