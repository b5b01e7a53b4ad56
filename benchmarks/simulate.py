"""A simulated day of a large group with a fault every minute, and how many seeds of the swarm a second plays.

`python -m benchmarks.simulate [--hours 24] [--members 100] [--seeds 100] [--seed 1]`: CPU seconds of a core,
and the peak memory of the whole process.
"""

import argparse
import gc
import time
from dataclasses import dataclass, replace

from benchmarks.measure import peak_rss_mb
from kgroup.sim.scenario.file import load_shipped
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.swarm import run_seed
from kgroup.sim.world.world import run

HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """The cost of a world of this many hours and members, in CPU seconds."""

    hours: float
    members: int
    seconds: float
    requests: int
    rebalances: int
    violations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Swarm:
    """The cost of this many small worlds, in CPU seconds, and the seeds in which a checker objected."""

    seeds: int
    seconds: float
    broken: tuple[int, ...]

    @property
    def seeds_per_second(self) -> float:
        """The seeds per second of one core."""
        return self.seeds / self.seconds


def day(hours: float, members: int) -> Scenario:
    """The first hours and members of `busy-day`, and as many partitions and records for each."""
    whole = load_shipped("busy-day")
    [topic] = whole.topics
    rate = topic.records_per_s * members / len(whole.members)
    return replace(
        whole,
        duration_ms=int(hours * HOUR_MS),
        members=whole.members[:members],
        topics=(replace(topic, partitions=members, records_per_s=rate),),
        properties={"offsets.topic.num.partitions": "3"},
    )


def play_day(hours: float, members: int, seed: int) -> Day:
    """Play it."""
    gc.set_threshold(50_000, 10, 10)  # as `kgroup simulate` does
    before_s = time.process_time()
    played = run(day(hours, members), seed, codec=False)
    return Day(
        hours=hours,
        members=members,
        seconds=time.process_time() - before_s,
        requests=played.tally.requests,
        rebalances=played.tally.rebalances,
        violations=len(played.violations),
    )


def play_seeds(seeds: int) -> Swarm:
    """Play the swarm's first seeds."""
    gc.set_threshold(50_000, 10, 10)
    before_s = time.process_time()
    broken = tuple(seed for seed in range(seeds) if run_seed(seed).violations)
    return Swarm(seeds=seeds, seconds=time.process_time() - before_s, broken=broken)


def main() -> None:
    """Print both figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulate", description=__doc__)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    played = play_day(arguments.hours, arguments.members, arguments.seed)
    print(
        f"{played.hours:g} h of {played.members} members: {played.seconds:.1f} s CPU,"
        f" peak {peak_rss_mb()} MB, {played.requests} requests, {played.rebalances} rebalances,"
        f" {played.violations} violations"
    )
    swarm = play_seeds(arguments.seeds)
    print(
        f"{swarm.seeds} seeds of the swarm: {swarm.seeds_per_second:.1f} a second,"
        f" broken: {list(swarm.broken)}"
    )


if __name__ == "__main__":
    main()
