"""Growth of a report on Spark: with segments, with groups and with clusters.

    python -m benchmarks.spark_growth [--what segments|groups|clusters]... [--cores N]

Whole commands, `lag-report --status` with and without `--spark`, one after the other: the CPU of all their
processes, and peaks of memory. Of segments the log stays as long as it is, and is cut smaller; groups each
have committed 20 partitions of one topic; clusters are one log under several names. Starting Spark is in each
figure, so what grows is the difference between two of them.
"""

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from benchmarks.make_log import Options, make_log, parse_size
from benchmarks.many_groups import make_groups
from benchmarks.process_tree import Run, run_kgroup

_NUMBERS = {"segments": (50, 500, 5000), "groups": (1000, 10_000, 50_000), "clusters": (1, 2, 4, 8)}
_OF_CLUSTER = 500  # groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """The cost of a report of this size, here and on Spark."""

    what: str
    number: int
    megabytes: float
    local: Run
    spark: Run


def measure(what: str, numbers: tuple[int, ...], size: int, cores: int) -> Iterator[Grown]:
    """Reports with statuses, into a file that nobody reads."""
    for number in numbers:
        with tempfile.TemporaryDirectory(prefix="kgroup-") as folder:
            paths, written = _made(what, number, size, Path(folder, "log"))
            command = ["lag-report", *paths, "--status", "-q", "-o", "parquet", "--output"]
            local = run_kgroup(*command, f"{folder}/here.parquet")
            there = ("--spark", "--master", f"local[{cores}]")
            spark = run_kgroup(*command, f"{folder}/there.parquet", *there)
            yield Grown(what=what, number=number, megabytes=written / 1e6, local=local, spark=spark)


def _made(what: str, number: int, size: int, log: Path) -> tuple[list[str], int]:
    """The arguments that name what is to be read, and how many bytes it has."""
    if what == "groups":
        return [str(log)], make_groups(log, number)
    segment_bytes = max(size // number, 1) if what == "segments" else size
    groups = 2000 if what == "segments" else _OF_CLUSTER
    written = make_log(Options(out=log, size=size, groups=groups, segment_bytes=segment_bytes))
    if what == "segments":
        return [str(log)], written
    named = [text for each in range(number) for text in ("--cluster-path", f"cluster-{each}={log}")]
    return named, written * number


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--what", choices=sorted(_NUMBERS), action="append", help="all by default")
    parser.add_argument("--numbers", type=int, nargs="+", help="how many of what, if it is one")
    parser.add_argument("--size", type=parse_size, default=parse_size("50MB"), help="of a log of a cluster")
    parser.add_argument("--cores", type=int, default=2)
    given = parser.parse_args()
    headers = ("what", "number", "MB", "local CPU s", "Spark CPU s", "s", "driver MB", "JVM MB", "worker MB")
    for what in given.what or _NUMBERS:
        rows = []
        for grown in measure(what, tuple(given.numbers or _NUMBERS[what]), given.size, given.cores):
            spark = grown.spark
            peaks = (spark.driver_mb, spark.jvm_mb, spark.worker_mb)
            rows.append(
                (what, grown.number, grown.megabytes, grown.local.cpu, spark.cpu, spark.elapsed, *peaks)
            )
        print(tabulate(rows, headers=headers, floatfmt=".1f"), flush=True)


if __name__ == "__main__":
    main()
