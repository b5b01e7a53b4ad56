"""Values shared by all parts of a world: its clock, its network, its randomness and its observers."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from kgroup.sim.watch.checkers import Checkers
from kgroup.sim.watch.tallies import Measures
from kgroup.sim.watch.trace import TraceEvent
from kgroup.sim.world.network import Network
from kgroup.sim.world.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """`random(subject)`: chance of its own for each subject. `tell` is None if nobody listens."""

    schedule: Schedule
    network: Network
    random: Callable[[str], Random]
    checkers: Checkers
    measures: Measures
    tell: Callable[[TraceEvent], None] | None
