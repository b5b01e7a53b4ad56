"""Savings of filters: `kafka-offsets` asked for one group, for the latest hour, and for everything.

    python -m benchmarks.data_sources LOG [--rounds N]

LOG is a log directory of the offsets topic (`python -m benchmarks.make_log` makes one). Queries take turns on
one core after a round that warms up; their CPU is that of all processes, as Linux counts it in /proc. The
partition of the group, loaded by itself and with all of its rows, is what a query for the group is held
against.
"""

import argparse
import os
import statistics
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import kgroup.spark
from benchmarks.process_tree import TICKS_PER_SECOND, processes_below, stat_fields
from kgroup.protocol.group_hash import partition_for
from kgroup.spark.session import open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", metavar="LOG", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with open_session("local[1]") as session:
        kgroup.spark.register(session)
        costs = measure(_queries(session, arguments.log), arguments.rounds)
    everything = costs["everything"]
    for name, cost in costs.items():
        print(f"{name}: {cost:.2f} CPU s, {cost / everything:.3f} of everything")


def measure(queries: dict[str, Callable[[], int]], rounds: int) -> dict[str, float]:
    """The median of each query's CPU seconds."""
    taken: dict[str, list[float]] = {name: [] for name in queries}
    for number in range(rounds + 1):
        for name, query in queries.items():
            before = _cpu_seconds_of_all()
            rows = query()
            if number:
                taken[name].append(_cpu_seconds_of_all() - before)
            else:
                print(f"{name}: {rows:,} rows", flush=True)
    return {name: statistics.median(costs) for name, costs in taken.items()}


def _queries(session: "SparkSession", log: Path) -> dict[str, Callable[[], int]]:
    columns = "group,topic,partition,offset,record_timestamp"

    def load(path: Path, **options: str) -> "DataFrame":
        reader = session.read.format("kafka-offsets").options(columns=columns, **options)
        return reader.load(str(path))

    one = load(next(log.glob("__consumer_offsets-*"))).selectExpr("min(group)").collect()[0][0]
    newest = load(log).selectExpr("max(record_timestamp)").collect()[0][0]
    since = str(int((newest - timedelta(hours=1)).timestamp() * 1000))
    folder = log / f"__consumer_offsets-{partition_for(one)}"
    return {
        "a group that is not there": lambda: load(log, group="of nobody").count(),
        "one group, by option": lambda: load(log, group=one).count(),
        "one group, pushed down": lambda: load(log, pushFilters="true").where(f"group = '{one}'").count(),
        "one group, neither": lambda: load(log).where(f"group = '{one}'").count(),
        "its partition alone, every row": lambda: load(folder).count(),
        "the last hour": lambda: load(log, since=since).count(),
        "everything": lambda: load(log).count(),
    }


def _cpu_seconds_of_all() -> float:
    fields = stat_fields()
    return sum(
        sum(map(int, fields[process][11:15])) / TICKS_PER_SECOND
        for process in processes_below(os.getpid(), fields)
    )


if __name__ == "__main__":
    main()
