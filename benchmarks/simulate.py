"""A simulated day of a large group with a fault every minute, and how many seeds of the swarm a second plays.

`python benchmarks/simulate.py [--hours 24] [--members 100] [--seeds 100] [--seed 1]`: CPU seconds of a core,
and the peak memory of the whole process.
"""

import argparse
import gc
import resource
import time
from dataclasses import replace

from kgroup.sim.scenario import Scenario
from kgroup.sim.scenario_file import load_shipped
from kgroup.sim.swarm import run_seed
from kgroup.sim.world import run

HOUR_MS = 3_600_000


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


def main() -> None:
    """Print both figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    gc.set_threshold(50_000, 10, 10)  # as `kgroup simulate` does
    before_s = time.process_time()
    played = run(day(arguments.hours, arguments.members), arguments.seed, codec=False)
    took_s = time.process_time() - before_s
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    tally = played.tally
    print(
        f"{arguments.hours:g} h of {arguments.members} members: {took_s:.1f} s CPU, peak {peak_mb:.0f} MB,"
        f" {tally.requests} requests, {tally.rebalances} rebalances, {len(played.violations)} violations"
    )

    before_s = time.process_time()
    broken = [seed for seed in range(arguments.seeds) if run_seed(seed).violations]
    took_s = time.process_time() - before_s
    print(f"{arguments.seeds} seeds of the swarm: {arguments.seeds / took_s:.1f} a second, broken: {broken}")


if __name__ == "__main__":
    main()
