"""The cost of a micro-batch, early and late in a stream's life, and what the driver holds.

    python -m benchmarks.stream [--batches N] [--groups N] [--new N]

The first micro-batch brings all groups, each with 20 partitions; the others bring commits of some of them,
the same number each time. What is counted is the CPU of all processes for taking in what is new: the stream's
own reading and its report come on top. With --look each state is also put together, as for a report.
"""

import argparse
import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.many_groups import make_groups
from benchmarks.process_tree import TICKS_PER_SECOND, processes_below, stat_fields
from kgroup.api.lag.on_spark import reduction_of
from kgroup.cli.lag.stream_report import PLAN
from kgroup.log.files.sources import open_sources
from kgroup.scan.reductions.scan import split
from kgroup.spark.live_source import LIVE_SCHEMA
from kgroup.spark.reduced_source import packed_row
from kgroup.spark.session import open_session
from kgroup.spark.stream_state import StreamState

_WARM_UP = 10
_WHOLE_FILES = 1 << 40


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of a micro-batch, without and with a look at the whole state, and the driver's MB."""

    taking: float
    looking: float
    driver_mb: int


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--groups", type=int, default=1000, help="of which the state knows")
    parser.add_argument("--new", type=int, default=100, help="groups that commit in each micro-batch")
    parser.add_argument("--look", action="store_true")
    given = parser.parse_args()
    costs = []
    for number, cost in enumerate(measure(given.batches, given.groups, given.new, look=given.look)):
        costs.append(cost)
        if number % 10 == 0:
            print(f"{number}: {cost.taking:.2f} s, {cost.looking:.2f} s, {cost.driver_mb} MB", flush=True)
    share = max(len(costs) // 10, 1)
    for name, of_each in (
        ("taking it in", [cost.taking for cost in costs]),
        ("looking at all", [cost.looking for cost in costs] if given.look else []),
    ):
        if of_each:
            early, late = statistics.median(of_each[:share]), statistics.median(of_each[-share:])
            print(
                f"CPU of {name}: median {early:.2f} s in the first tenth, {late:.2f} s in the last of"
                f" {len(costs)} micro-batches; mean {statistics.mean(of_each):.2f} s, highest"
                f" {max(of_each):.2f} s, where all so far becomes one"
            )
    print(f"driver: {costs[0].driver_mb} MB early, {costs[-1].driver_mb} MB late")


def measure(batches: int, groups: int, new: int, *, look: bool = False) -> Iterator[Cost]:
    """The cost of each micro-batch, those that warm up left out."""
    with TemporaryDirectory() as folder, open_session("local[2]") as session:
        frames = []
        for name, count in (("all", groups), ("new", new)):
            rows = Path(folder, f"{name}-rows")
            # In another process, as this one is the driver, whose memory is looked at.
            made = get_context("spawn").Process(target=_write_rows, args=(rows, Path(folder, name), count))
            made.start()
            made.join()
            frames.append(session.read.schema(LIVE_SCHEMA).parquet(str(rows)))
        state = StreamState(session, str(Path(folder, "checkpoint")), reduction_of(PLAN))
        for number in range(_WARM_UP + batches):
            before = _cpu_seconds()
            advanced = state.advance(frames[min(number, 1)], number)
            taken = _cpu_seconds()
            if look and advanced.is_here:
                advanced.whole()
            elif look:
                with advanced.there() as parts:
                    parts.count()
            looked = _cpu_seconds()
            if number >= _WARM_UP:
                yield Cost(taken - before, looked - taken, _resident_mb())


def _write_rows(into: Path, log: Path, groups: int) -> None:
    """The parts of a log of this many groups, as LIVE_SCHEMA."""
    make_groups(log, groups)
    into.mkdir()
    reduction: Any = reduction_of(PLAN)
    batches = [
        packed_row(
            segment.partition, 0, reduction.reduce(split(segment.path, segment.partition, _WHOLE_FILES))
        )
        for segment in open_sources([str(log)])
    ]
    table = pa.Table.from_batches(batches)
    pq.write_table(table.append_column("anew", pa.nulls(table.num_rows, pa.string())), into / "rows.parquet")


def _resident_mb() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


def _cpu_seconds() -> float:
    fields = stat_fields()
    return sum(
        sum(map(int, fields[process][11:15])) / TICKS_PER_SECOND
        for process in processes_below(os.getpid(), fields)
    )


if __name__ == "__main__":
    main()
