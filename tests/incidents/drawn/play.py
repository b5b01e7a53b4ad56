"""A seed of a family, played and judged."""

import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.incidents.drawn.draws import NoEffectError
from tests.incidents.drawn.families import FAMILIES
from tests.incidents.drawn.well import WELL
from tests.incidents.judging import CAUSES, judge_world
from tests.incidents.world import World


def played(family: str, seed: int) -> World:
    """The world after a seed of a family, always the same. Raises NoEffectError if it proves nothing."""
    name = f"{family}-{seed}"
    world = World(name)
    (FAMILIES | WELL)[family](world, random.Random(name))
    return world


def judged(family: str, seed: int) -> Iterator[tuple[str, str]]:
    """What came of each thing that is judged of a seed, and what was said."""
    try:
        world = played(family, seed)
    except NoEffectError as reason:
        yield "no effect", str(reason)
        return
    with TemporaryDirectory() as scratch:
        verdicts = judge_world(world, Path(scratch) / "logs", world.name)
    for verdict in verdicts:
        if verdict.condition == CAUSES:
            yield from (("right cause", "") for _ in range(verdict.right_causes))
            yield from (("wrong cause", said) for said in verdict.against)
        elif verdict.is_healthy:
            yield ("accused" if verdict.against else "in peace"), "; ".join(verdict.against)
        elif verdict.judged is not None:
            yield verdict.judged.outcome, verdict.judged.said
        else:
            yield "no effect", verdict.held or ""
