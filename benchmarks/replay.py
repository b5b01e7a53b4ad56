"""How fast one group is replayed out of a large log: `python -m benchmarks.replay [DIR]`.

Beside the columnar scan of the same segments (rows, and to Arrow), in one run, in CPU seconds of one core.
Without DIR a log is made first, and deleted afterwards. `one partition` reads only where the hash of the
group's name points.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tabulate import tabulate

from benchmarks.make_log import Options, make_log, parse_size
from benchmarks.measure import alternate, peak_rss_mb
from kgroup.cli.replay_source import GroupReader
from kgroup.log.scan import Slice, scan, split
from kgroup.log.scan_reader import RowBlock, RowReader
from kgroup.log.sources import Sources, open_sources


def bench(paths: list[str], rounds: int) -> str:
    """The table of figures for the segments under the paths."""
    sources = open_sources(paths)
    slices = [part for segment in sources for part in split(segment.path, segment.partition, 1 << 62)]
    size = sum(part.end - part.start for part in slices)
    group, commits = _busiest(slices)
    # A pattern matches the one group only, and has to look everywhere.
    everywhere, hashed = f"{group[:-1]}[{group[-1]}]", group
    functions: dict[str, Callable[[], int]] = {
        "scan, CRC checked": lambda: _rows(slices),
        "scan to Arrow": lambda: sum(block.commits.num_rows for block in scan(slices)),
        "replay, all partitions": lambda: _replay(sources, everywhere),
        "replay, one partition": lambda: _replay(sources, hashed),
    }
    measured = alternate(functions, rounds)
    base = measured["scan, CRC checked"].seconds
    table = tabulate(
        [
            (name, result.seconds, size / result.seconds / 1e6, base / result.seconds)
            for name, result in measured.items()
        ],
        headers=(f"{size / 1e6:.0f} MB", "CPU s", "MB/s", "times the scan"),
        floatfmt=("", ".3f", ".0f", ".2f"),
    )
    return f"{table}\n\ngroup {group}: {commits} commits; peak RSS {peak_rss_mb()} MB"


def _busiest(slices: list[Slice]) -> tuple[str, int]:
    counts: Counter[str] = Counter()
    for block in scan(slices[:1], columns=("group",), others=False):
        counts.update(str(group) for group in block.commits["group"].to_pylist())
    return counts.most_common(1)[0]


def _rows(slices: list[Slice]) -> int:
    reader = RowReader()
    return sum(item.count for part in slices for item in reader.read(part) if isinstance(item, RowBlock))


def _replay(sources: Sources, pattern: str) -> int:
    read = GroupReader(sources, [pattern]).read(lambda done: None)
    return sum(timeline.commits for timeline in read.timelines.values())


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=__doc__)
    parser.add_argument(
        "paths", nargs="*", metavar="DIR", help="a log directory, partition folder or segment"
    )
    parser.add_argument(
        "--size", type=parse_size, default=parse_size("1GB"), help="of the log to make without DIR"
    )
    parser.add_argument("--rounds", type=int, default=2, help="the best of so many counts")
    given = parser.parse_args()
    if given.paths:
        print(bench(given.paths, given.rounds))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_log(Options(out=Path(folder), size=given.size))
        print(bench([folder], given.rounds))


if __name__ == "__main__":
    main()
