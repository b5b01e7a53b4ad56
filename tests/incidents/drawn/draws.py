"""What a seed draws of a group: settings as people have them, whatever the incident."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from tests.incidents.groups import Group, by_range, sticky
from tests.incidents.members import Member
from tests.incidents.world import World

COMMIT_S = (1.0, 2.0, 5.0, 5.0, 10.0)
SESSION_S = (6.0, 10.0, 10.0, 30.0, 45.0, 45.0)
ASSIGNORS = ("range", "range", "sticky", "cooperative-sticky")


class NoEffectError(Exception):
    """What was drawn has not the effect that makes it an incident: the seed proves nothing."""


@dataclass(frozen=True)
class Draw:
    """A group of a seed, and how its members are started."""

    world: World
    rng: random.Random
    group: Group
    how: dict[str, Any]
    per_s: float
    names: str
    """How processes are called: each by its own name, or all alike on hosts of their own."""

    def member(self, number: int | str, **more: Any) -> Member:
        """A new process, joining at once."""
        name = "app" if self.names == "alike" else f"m-{number}"
        return self.group.start(name, **(self.how | more))

    def members(self, count: int, **more: Any) -> list[Member]:
        started = []
        for number in range(count):
            started.append(self.member(number, **more))
            if self.rng.random() < 0.3:
                self.world.run(self.rng.uniform(0.5, 4))
        return started

    def run(self, least: float, most: float) -> None:
        self.world.run(self.rng.uniform(least, most))

    def need(self, effect: str, is_so: bool) -> None:
        if not is_so:
            raise NoEffectError(f"{self.world.name}: not so: {effect}")
        self.world.proven(effect, is_so)


def draw(world: World, rng: random.Random, **fixed: Any) -> Draw:
    """A topic and a group that reads it; `fixed` are what the incident cannot do otherwise."""
    partitions = fixed.pop("partitions", None) or rng.choice((1, 2, 3, 4, 6, 8, 12))
    per_s = fixed.pop("per_s", None) or rng.choice((0.5, 2, 5, 10)) * rng.uniform(0.7, 1.4)
    rates = fixed.pop("rates", None) or [per_s * rng.uniform(0.8, 1.2) for _ in range(partitions)]
    assignor = fixed.pop("assignor", None) or rng.choice(ASSIGNORS)
    world.topic("t", partitions, rates)
    group = world.group("g", "t", assignor=assignor, assign=by_range if assignor == "range" else sticky)
    session_s = rng.choice(SESSION_S)
    how: dict[str, Any] = {
        "library": rng.choice(("java", "librdkafka")),
        "commit_s": rng.choice(COMMIT_S),
        "session_s": session_s,
        "heartbeat_s": min(3.0, session_s / 3),
        "poll_interval_s": rng.choice((60.0, 300.0, 300.0)),
    }
    return Draw(world, rng, group, how | fixed, per_s, rng.choice(("own", "alike")))
