"""Many seeds of a scenario, played one after the other or by several processes."""

import gc
import signal
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from kgroup.errors import KgroupError
from kgroup.sim.designs import own_design, play
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.watch.result import Run

ScenarioOf = Callable[[int], Scenario]

# A seed takes a tenth of a second or more: few enough at a time that progress is seen and an end comes soon.
_AT_A_TIME: Final = 4
# Handed out at once, so that what waits stays small however many are asked for.
_BLOCK: Final = 4096


def simulate_seeds(scenario_of: ScenarioOf, seeds: range, jobs: int = 1) -> Iterator[tuple[str, Run]]:
    """Play each seed for the checkers alone; yields the design of each run with it, in order.

    With several `jobs` as many processes play, and `scenario_of` has to be picklable. Raises KgroupError if
    one of them is killed, and what `scenario_of` raises.
    """
    if jobs == 1:
        for seed in seeds:
            yield _played(scenario_of, seed)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # Spawned, not forked: the screen's threads may hold locks.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_begin)
    try:
        for first in range(0, len(seeds), _BLOCK):
            block = seeds[first : first + _BLOCK]
            yield from pool.map(partial(_played, scenario_of), block, chunksize=_AT_A_TIME)
    except BrokenProcessPool:
        raise KgroupError(
            "a process that played seeds was killed, perhaps for its memory; --jobs 1 plays them in one"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    # The process that handed out the seeds is interrupted, and tells the others to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(50_000, 10, 10)  # as `kgroup simulate` has it


def _played(scenario_of: ScenarioOf, seed: int) -> tuple[str, Run]:
    scenario = scenario_of(seed)
    design = own_design(scenario)
    return design, play(scenario, design, seed, until_settled=True)
