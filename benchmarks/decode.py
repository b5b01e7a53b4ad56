"""Speed of reading the offsets topic: `python -m benchmarks.decode [DIR]`.

The columnar scan (with and without CRC, to Arrow, reduced by `newest`) and the plain path beside `read()`
of the same files, in one run, in CPU seconds of one core. Without DIR a log is made first, and deleted
afterwards.
"""

import argparse
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from tabulate import tabulate

from benchmarks.log_argument import add_log_arguments, log_of
from benchmarks.make_log import parse_size
from benchmarks.measure import Speed, alternate, peak_rss_mb
from kgroup.log.files.entries import read_entries
from kgroup.log.files.sources import Sources, open_sources
from kgroup.log.format.batch import Damage
from kgroup.scan.reading.reader import CHUNK_BYTES, RowBlock, RowReader
from kgroup.scan.reductions.scan import Slice, newest, scan, split


class Way(StrEnum):
    """A way to read a log."""

    READ = "read() in chunks"
    SCAN = "scan, CRC checked"
    SCAN_UNCHECKED = "scan, CRC not checked"
    ARROW = "scan to Arrow"
    ARROW_COMMITS = "scan to Arrow, 4 columns, commits only"
    NEWEST = "newest()"
    PLAIN = "plain path"


def measure(paths: list[str], plain_bytes: int, rounds: int) -> dict[Way, Speed]:
    """The speed of each way; the plain path reads `plain_bytes` or a little more, in whole segments."""
    sources = open_sources(paths)
    slices = [part for segment in sources for part in split(segment.path, segment.partition, 1 << 62)]
    size = sum(part.end - part.start for part in slices)
    some, some_bytes = _first(sources, plain_bytes)
    functions: dict[Way, Callable[[], int]] = {
        Way.READ: lambda: _read(slices),
        Way.SCAN: lambda: _rows(slices, check_crc=True),
        Way.SCAN_UNCHECKED: lambda: _rows(slices, check_crc=False),
        Way.ARROW: lambda: _arrow(slices, None, others=True),
        Way.ARROW_COMMITS: lambda: _arrow(slices, ("group", "topic", "partition", "offset"), others=False),
        Way.NEWEST: lambda: newest(slices).records,
    }
    measured = alternate(functions, rounds)
    measured |= alternate({Way.PLAIN: lambda: _plain(some)}, 1)
    return {
        way: Speed(seconds=one.seconds, size=some_bytes if way is Way.PLAIN else size, records=one.result)
        for way, one in measured.items()
    }


def table(speeds: dict[Way, Speed]) -> str:
    """A line for each way."""
    read = speeds[Way.READ]
    return tabulate(
        [
            (
                way,
                speed.size / 1e6,
                speed.seconds,
                speed.megabytes_per_second,
                None if way is Way.READ else speed.records_per_second / 1e6,
                speed.times(read),
            )
            for way, speed in speeds.items()
        ],
        headers=("", "MB", "CPU s", "MB/s", "M records/s", "times read()"),
        floatfmt=("", ".0f", ".3f", ".0f", ".2f", ".3f"),
    )


def _read(slices: list[Slice]) -> int:
    buffer = bytearray(CHUNK_BYTES)
    size = 0
    for part in slices:
        with part.path.open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                size += count
    return size


def _rows(slices: list[Slice], *, check_crc: bool) -> int:
    count = 0
    for part in slices:
        for item in RowReader(check_crc=check_crc).read(part):
            if isinstance(item, RowBlock):
                count += item.count
    return count


def _arrow(slices: list[Slice], columns: tuple[str, ...] | None, *, others: bool) -> int:
    return sum(
        block.commits.num_rows + len(block.others) for block in scan(slices, columns=columns, others=others)
    )


def _first(sources: Sources, wanted_bytes: int) -> tuple[Sources, int]:
    """The first segments, of `wanted_bytes` together or a little more."""
    chosen, size = [], 0
    for segment in sources:
        chosen.append(segment)
        size += Path(segment.path).stat().st_size
        if size >= wanted_bytes:
            break
    return Sources(segments=tuple(chosen)), size


def _plain(sources: Sources) -> int:
    return sum(1 for item in read_entries(sources) if not isinstance(item, Damage))


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decode", description=__doc__)
    add_log_arguments(parser, size="1GiB", rounds=3)
    parser.add_argument(
        "--plain-size", type=parse_size, default=parse_size("20MB"), help="of it for the plain path"
    )
    given = parser.parse_args()
    with log_of(given) as paths:
        print(table(measure(paths, given.plain_size, given.rounds)))
    print(f"\npeak RSS {peak_rss_mb()} MB")


if __name__ == "__main__":
    main()
