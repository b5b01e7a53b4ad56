"""The cost of a micro-batch, early and late in a stream's life: what is new in each is the same.

    python -m benchmarks.stream [--batches N] [--size BYTES]

Each micro-batch brings commits of the same groups, so that the state stays as large as it is. What is counted
is the CPU of all processes for taking in its parts: the stream's own reading and its report come on top.
"""

import argparse
import os
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.log_argument import made_log
from benchmarks.process_tree import TICKS_PER_SECOND, processes_below, stat_fields
from kgroup.log.files.sources import open_sources
from kgroup.scan.reductions.scan import newest, split
from kgroup.spark.live_source import LIVE_SCHEMA
from kgroup.spark.reduced_source import packed_row
from kgroup.spark.reductions import NewestRecords
from kgroup.spark.session import open_session
from kgroup.spark.stream_state import StreamState

_WARM_UP = 10
_TENTHS = 10


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--size", type=int, default=2_000_000, help="bytes of log that a micro-batch brings")
    arguments = parser.parse_args()
    costs = measure(arguments.batches, arguments.size)
    share = max(len(costs) // _TENTHS, 1)
    early, late = statistics.median(costs[:share]), statistics.median(costs[-share:])
    print(f"CPU of a micro-batch: {early:.2f} s in the first tenth, {late:.2f} s in the last of {len(costs)}")
    print(f"highest {max(costs):.2f} s, where all so far is made one; mean {statistics.mean(costs):.2f} s")


def measure(batches: int, size: int) -> list[float]:
    """CPU seconds of each micro-batch, those that warm up left out."""
    costs = []
    with made_log(size) as log, TemporaryDirectory() as folder, open_session("local[2]") as session:
        parts = [
            newest(split(segment.path, segment.partition, 1 << 40)) for segment in open_sources([str(log)])
        ]
        rows = [
            {**row, "anew": None}
            for number, part in enumerate(parts)
            for row in packed_row(number, 0, part).to_pylist()
        ]
        state = StreamState(session, str(Path(folder, "checkpoint")), NewestRecords())
        for number in range(_WARM_UP + batches):
            before = _cpu_seconds()
            state.advance(session.createDataFrame(rows, LIVE_SCHEMA), number)
            costs.append(_cpu_seconds() - before)
    return costs[_WARM_UP:]


def _cpu_seconds() -> float:
    fields = stat_fields()
    return sum(
        sum(map(int, fields[process][11:15])) / TICKS_PER_SECOND
        for process in processes_below(os.getpid(), fields)
    )


if __name__ == "__main__":
    main()
