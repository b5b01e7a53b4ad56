"""Speed of replaying one group out of a large log: `python -m benchmarks.replay [DIR]`.

Beside the columnar scan of the same segments (rows, and to Arrow), in one run, in CPU seconds of one core.
Without DIR a log is made first, and deleted afterwards. `one partition` reads only where the hash of the
group's name points.
"""

import argparse
from collections import Counter
from collections.abc import Callable
from enum import StrEnum

from tabulate import tabulate

from benchmarks.log_argument import add_log_arguments, log_of
from benchmarks.measure import Speed, alternate, peak_rss_mb
from kgroup.api.replay import GroupReader
from kgroup.history.timeline.replay import replay
from kgroup.log.files.sources import Sources, open_sources
from kgroup.scan.reading.reader import RowBlock, RowReader
from kgroup.scan.reductions.scan import Slice, scan, split


class Way(StrEnum):
    """The work done with the log."""

    SCAN = "scan, CRC checked"
    ARROW = "scan to Arrow"
    REPLAY = "replay, all partitions"
    REPLAY_HASHED = "replay, one partition"


def measure(paths: list[str], rounds: int) -> dict[Way, Speed]:
    """The speed of each way; as records count those read, of a replay the commits of the group."""
    sources = open_sources(paths)
    slices = [part for segment in sources for part in split(segment.path, segment.partition, 1 << 62)]
    size = sum(part.end - part.start for part in slices)
    group = _busiest(slices)
    # A pattern matches the one group only, and has to look everywhere.
    everywhere, hashed = f"{group[:-1]}[{group[-1]}]", group
    functions: dict[Way, Callable[[], int]] = {
        Way.SCAN: lambda: _rows(slices),
        Way.ARROW: lambda: sum(block.commits.num_rows for block in scan(slices)),
        Way.REPLAY: lambda: _replay(sources, everywhere),
        Way.REPLAY_HASHED: lambda: _replay(sources, hashed),
    }
    measured = alternate(functions, rounds)
    return {way: Speed(seconds=one.seconds, size=size, records=one.result) for way, one in measured.items()}


def table(speeds: dict[Way, Speed]) -> str:
    """A line for each way."""
    scan_speed = speeds[Way.SCAN]
    return tabulate(
        [
            (way, speed.seconds, speed.megabytes_per_second, speed.times(scan_speed))
            for way, speed in speeds.items()
        ],
        headers=(f"{scan_speed.size / 1e6:.0f} MB", "CPU s", "MB/s", "times the scan"),
        floatfmt=("", ".3f", ".0f", ".2f"),
    )


def _busiest(slices: list[Slice]) -> str:
    counts: Counter[str] = Counter()
    for block in scan(slices[:1], columns=("group",), others=False):
        counts.update(str(group) for group in block.commits["group"].to_pylist())
    return counts.most_common(1)[0][0]


def _rows(slices: list[Slice]) -> int:
    reader = RowReader()
    return sum(item.count for part in slices for item in reader.read(part) if isinstance(item, RowBlock))


def _replay(sources: Sources, pattern: str) -> int:
    read = GroupReader(sources, [pattern]).read_as(replay, lambda done: None)
    return sum(timeline.commits for timeline in read.groups.values())


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=__doc__)
    add_log_arguments(parser, size="1GB", rounds=2)
    given = parser.parse_args()
    with log_of(given) as paths:
        speeds = measure(paths, given.rounds)
    print(table(speeds))
    print(f"\nthe group has {speeds[Way.REPLAY].records} commits; peak RSS {peak_rss_mb()} MB")


if __name__ == "__main__":
    main()
