"""Speed of the whole command: `python -m benchmarks.decode_command [DIR]`.

Runs `kgroup decode` over a log in each format and with filters, in processes of their own, with the output
thrown away. Times are CPU seconds from start to end, Python's own start included. Without DIR a log is made
first, and deleted afterwards. Where Java is and KAFKA_HOME has Kafka's jars in `libs`, Kafka's dump tool
reads the same files beside it.

What bounds them, of 46 MB with 384,572 records: half of the CPU of text was Python's start and numba's, which
is now imported only where code has to be made; of the rest the scan takes a third, the kernel that writes
text a quarter, and the few records that are no commits, which the plain path reads, as much. Parquet has 180
leaf columns. 113 of them are null in nearly every row group, and Arrow encodes the levels of each value by
value: they take as long as the 67 others, and both together six times as long as the scan. No option changes
that: without statistics, without compression, without dictionaries, in pages of version 2, in larger batches,
or as one row group the time is the same.
"""

import argparse
import os
import shutil
from enum import StrEnum
from pathlib import Path

from tabulate import tabulate

from benchmarks.log_argument import add_log_arguments, log_of
from benchmarks.measure import Speed
from benchmarks.process import cost, cost_of_kgroup
from kgroup.log.files.sources import open_sources
from kgroup.scan.reductions.scan import newest, split


class Call(StrEnum):
    """The options of `kgroup decode`."""

    JSONL = "-o jsonl"
    CSV = "-o csv"
    TABLE = "-o table"
    PARQUET = "-o parquet"
    OF_NO_COMMIT = "-o jsonl --type streams-group-topology"
    FROM_THE_END = f"-o jsonl --from-offset {2**62}"
    DUMP_LOG = "kafka-dump-log --offsets-decoder"


def dump_log(files: list[str]) -> list[str] | None:
    """The call of Kafka's own tool for these segments; None where it is not."""
    home, java = os.environ.get("KAFKA_HOME"), shutil.which("java")
    if home is None or java is None:
        return None
    tool = "org.apache.kafka.tools.DumpLogSegments"
    return [
        java,
        "-cp",
        str(Path(home) / "libs" / "*"),
        tool,
        "--offsets-decoder",
        "--files",
        ",".join(files),
    ]


def measure(paths: list[str], rounds: int, calls: tuple[Call, ...] = tuple(Call)) -> dict[Call, Speed]:
    """The speed of each call over the segments under the paths."""
    sources = open_sources(paths)
    slices = [part for segment in sources for part in split(segment.path, segment.partition, 1 << 62)]
    records = newest(slices).records
    size = sum(Path(segment.path).stat().st_size for segment in sources)
    dumping = dump_log([segment.path for segment in sources])

    def seconds(call: Call) -> float:
        if call is Call.DUMP_LOG:
            assert dumping is not None
            return cost(dumping).cpu_seconds
        return cost_of_kgroup("decode", "-q", *call.split(), *paths).cpu_seconds

    return {
        call: Speed(seconds=min(seconds(call) for _ in range(rounds)), size=size, records=records)
        for call in calls
        if call is not Call.DUMP_LOG or dumping is not None
    }


def table(speeds: dict[Call, Speed]) -> str:
    """A line for each call."""
    rows = [
        (
            call if call is Call.DUMP_LOG else f"decode {call}",
            speed.seconds,
            speed.megabytes_per_second,
            speed.records_per_second / 1e3,
        )
        for call, speed in speeds.items()
    ]
    return tabulate(
        rows, headers=("", "CPU s", "MB/s", "thousand records/s"), floatfmt=("", ".2f", ".1f", ".0f")
    )


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decode_command", description=__doc__)
    add_log_arguments(parser, size="100MB", rounds=3)
    given = parser.parse_args()
    with log_of(given) as paths:
        print(table(measure(paths, given.rounds)))


if __name__ == "__main__":
    main()
