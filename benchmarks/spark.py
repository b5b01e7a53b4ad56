"""CPU seconds of Spark and of the local scan for the newest commits of the same log.

    python -m benchmarks.spark LOG [--rounds N] [--cores N]

LOG is what commands take (`python -m benchmarks.make_log` makes one). The session is started and warmed up on
the log before anything is measured; then Spark and local take turns, and each round's ratio is one figure.
Spark's CPU is that of all processes: this one, the JVM and its Python workers, as Linux counts it in /proc.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from kgroup.log.scan import Newest, Slice, newest, split
from kgroup.log.sources import open_sources
from kgroup.spark.jobs import newest as spark_newest
from kgroup.spark.session import open_session

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print."""
    arguments = _arguments()
    segments = open_sources([arguments.log]).segments
    slices = [
        part
        for segment in segments
        for part in split(Path(segment.path), segment.partition, Path(segment.path).stat().st_size or 1)
    ]
    log_bytes = sum(part.end - part.start for part in slices)
    print(f"{log_bytes / 1e6:.0f} MB in {len(segments)} segments, {arguments.cores} cores for Spark")
    local_job = _local(slices)
    records = local_job().records
    ratios = []
    with open_session(f"local[{arguments.cores}]") as session:

        def spark_job() -> Newest:
            return spark_newest(session, segments)

        first = spark_job()
        assert (first.records, first.commits.num_rows) == (records, local_job().commits.num_rows)
        spark_job()  # the JVM compiles more of itself
        for _ in range(arguments.rounds):
            spark = _measure(spark_job, _cpu_seconds_of_all)
            local = _measure(local_job, time.process_time)
            ratios.append(spark.cpu / local.cpu)
            print(f"spark {_line(spark, records)}; local {_line(local, records)}; CPU {ratios[-1]:.2f} to 1")
    print(f"CPU of Spark over local: median {statistics.median(ratios):.2f}, lowest {min(ratios):.2f}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", metavar="LOG")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    return parser.parse_args()


class Cost:
    """Seconds of wall clock and of CPU."""

    def __init__(self, elapsed: float, cpu: float) -> None:
        self.elapsed = elapsed
        self.cpu = cpu


def _line(cost: Cost, records: int) -> str:
    return f"{cost.cpu:.2f} CPU s in {cost.elapsed:.2f} s, {records / cost.cpu / 1e6:.1f} M records/CPU s"


def _local(slices: list[Slice]) -> Callable[[], Newest]:
    return lambda: newest(slices)


def _measure(job: Callable[[], Newest], cpu_seconds: Callable[[], float]) -> Cost:
    cpu, elapsed = cpu_seconds(), time.perf_counter()
    job()
    return Cost(time.perf_counter() - elapsed, cpu_seconds() - cpu)


def _cpu_seconds_of_all() -> float:
    """CPU of this process and all below it, with those that have ended."""
    spent: dict[int, float] = {}
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
        # Behind the name in parentheses: state, parent; user and system time, also of ended children.
        fields = line.rpartition(")")[2].split()
        parents[int(folder.name)] = int(fields[1])
        spent[int(folder.name)] = sum(map(int, fields[11:15])) / TICKS_PER_SECOND
    return sum(seconds for process, seconds in spent.items() if _is_ours(process, parents))


def _is_ours(process: int, parents: dict[int, int]) -> bool:
    while process in parents:
        if process == os.getpid():
            return True
        process = parents[process]
    return False


if __name__ == "__main__":
    main()
