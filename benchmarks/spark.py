"""Spark beside the local scan: CPU, speed on one core and on several, and memory.

    python -m benchmarks.spark LOG... [--rounds N] [--cores N...]

LOG is what commands take (`python -m benchmarks.make_log` makes one); give a small and a large one to see
whose memory grows with the log. The job is the newest record of every key. For each log and number of cores a
new process starts a session and warms it up; then Spark and the local scan take turns, as machines are noisy.
Spark's CPU is that of all processes: this one, the JVM and its Python workers, as Linux counts it in /proc.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from benchmarks.process_tree import TICKS_PER_SECOND, peaks_mb, processes_below, stat_fields
from kgroup.log.files.sources import Sources, open_sources
from kgroup.scan.reductions.scan import Newest, newest, split
from kgroup.spark.jobs import newest as spark_newest
from kgroup.spark.session import open_session


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one log and number of cores: seconds are medians of the rounds, megabytes are peaks.

    `driver_mb` is this process, `jvm_mb` the JVM, in which local executors run, too; `worker_mb` is the
    largest of the Python workers.
    """

    megabytes: int
    records: int
    local_cpu: float
    spark_cpu: float
    spark_elapsed: float
    cpu_ratio: float
    driver_mb: int
    jvm_mb: int
    worker_mb: int


def main() -> None:
    """Measure and print."""
    arguments = _arguments()
    if arguments.inside:
        figures = _measure_here(arguments.logs[0], arguments.cores[0], arguments.rounds)
        print(json.dumps(asdict(figures)))
        return
    for log in arguments.logs:
        elapsed = []
        for cores in arguments.cores:
            figures = measure(log, cores, arguments.rounds)
            elapsed.append(figures.spark_elapsed)
            print(_line(log, cores, figures), flush=True)
        if len(elapsed) > 1:
            cores_told = " and ".join(map(str, arguments.cores[:2]))
            print(f"{log}: {elapsed[0] / elapsed[1]:.2f} times as fast, cores {cores_told}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("logs", metavar="LOG", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(log: str, cores: int, rounds: int) -> Figures:
    """The figures of a log, from a new process with a session of its own."""
    command = [sys.executable, "-m", "benchmarks.spark", log, "--cores", str(cores), "--rounds", str(rounds)]
    answer = subprocess.run([*command, "--inside"], stdout=subprocess.PIPE, text=True, check=True)
    return Figures(**json.loads(answer.stdout))


def _line(log: str, cores: int, figures: Figures) -> str:
    millions = figures.records / 1e6
    return (
        f"{log}: {figures.megabytes} MB, {millions:.1f} M records;"
        f" local {millions / figures.local_cpu:.1f} M records/CPU s;"
        f" Spark on {cores}: {figures.spark_elapsed:.2f} s,"
        f" {millions / figures.spark_elapsed:.1f} M records/s,"
        f" {figures.spark_cpu:.2f} CPU s, {figures.cpu_ratio:.2f} times local's;"
        f" peak MB: driver {figures.driver_mb}, JVM {figures.jvm_mb}, worker {figures.worker_mb}"
    )


def _measure_here(log: str, cores: int, rounds: int) -> Figures:
    sources = open_sources([log])
    local_cpu, spark_cpu, spark_elapsed, ratios = [], [], [], []
    with open_session(f"local[{cores}]") as session:
        newest = spark_newest(session, sources.segments)
        spark_newest(session, sources.segments)  # the JVM compiles more of itself
        memory = peaks_mb(os.getpid())  # before the local scan adds its own
        records = _local(sources).records
        assert newest.records == records
        for _ in range(rounds):
            elapsed, cpu = _cost(lambda: spark_newest(session, sources.segments), _cpu_seconds_of_all)
            _, alone = _cost(lambda: _local(sources), time.process_time)
            spark_elapsed.append(elapsed)
            spark_cpu.append(cpu)
            local_cpu.append(alone)
            ratios.append(cpu / alone)
    return Figures(
        megabytes=round(newest.bytes / 1e6),
        records=records,
        local_cpu=statistics.median(local_cpu),
        spark_cpu=statistics.median(spark_cpu),
        spark_elapsed=statistics.median(spark_elapsed),
        cpu_ratio=statistics.median(ratios),
        driver_mb=memory[0],
        jvm_mb=memory[1],
        worker_mb=memory[2],
    )


def _local(sources: Sources) -> Newest:
    return newest(part for segment in sources for part in split(segment.path, segment.partition, 1 << 40))


def _cost(job: Callable[[], Newest], cpu_seconds: Callable[[], float]) -> tuple[float, float]:
    cpu, elapsed = cpu_seconds(), time.perf_counter()
    job()
    return time.perf_counter() - elapsed, cpu_seconds() - cpu


def _cpu_seconds_of_all() -> float:
    """CPU of this process and all below it, with those that have ended."""
    fields = stat_fields()
    return sum(
        sum(map(int, fields[process][11:15])) / TICKS_PER_SECOND
        for process in processes_below(os.getpid(), fields)
    )


if __name__ == "__main__":
    main()
