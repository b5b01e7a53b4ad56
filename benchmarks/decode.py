"""How fast the offsets topic is read: `python -m benchmarks.decode [DIR]`.

The columnar scan (with and without CRC, to Arrow, reduced by `newest`) and the plain path beside `read()`
of the same files, in one run, in CPU seconds of one core. Without DIR a log is made first, and deleted
afterwards.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from tabulate import tabulate

from benchmarks.make_log import Options, make_log, parse_size
from benchmarks.measure import Measured, alternate, peak_rss_mb
from kgroup.log.batch import Damage
from kgroup.log.entries import read_entries
from kgroup.log.scan import Slice, newest, scan, split
from kgroup.log.scan_reader import CHUNK_BYTES, RowBlock, RowReader
from kgroup.log.sources import Sources, open_sources

_READ = "read() in chunks"
_PLAIN = "plain path"


def bench(paths: list[str], plain_bytes: int, rounds: int) -> str:
    """The table of figures for the segments under the paths."""
    sources = open_sources(paths)
    slices = [part for segment in sources for part in split(segment.path, segment.partition, 1 << 62)]
    size = sum(part.end - part.start for part in slices)
    functions: dict[str, Callable[[], int]] = {
        _READ: lambda: _read(slices),
        "scan, CRC checked": lambda: _rows(slices, check_crc=True),
        "scan, CRC not checked": lambda: _rows(slices, check_crc=False),
        "scan to Arrow": lambda: _arrow(slices, None, others=True),
        "scan to Arrow, 4 columns, commits only": lambda: _arrow(
            slices, ("group", "topic", "partition", "offset"), others=False
        ),
        "newest()": lambda: newest(slices).records,
    }
    measured = alternate(functions, rounds)
    some, some_bytes = _first(sources, plain_bytes)
    measured |= alternate({_PLAIN: lambda: _plain(some)}, 1)
    sizes = {name: some_bytes if name == _PLAIN else size for name in measured}
    read_speed = size / measured[_READ].seconds
    table = tabulate(
        [_row(name, sizes[name], result, read_speed) for name, result in measured.items()],
        headers=("", "MB", "CPU s", "MB/s", "M records/s", "times read()"),
        floatfmt=("", ".0f", ".3f", ".0f", ".2f", ".3f"),
    )
    return f"{table}\n\npeak RSS {peak_rss_mb()} MB"


def _row(name: str, size: int, measured: Measured, read_speed: float) -> tuple[str | float | None, ...]:
    speed = size / measured.seconds
    records = None if name == _READ else measured.result / measured.seconds / 1e6
    return name, size / 1e6, measured.seconds, speed / 1e6, records, speed / read_speed


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
    parser.add_argument(
        "paths", nargs="*", metavar="DIR", help="a log directory, partition folder or segment"
    )
    parser.add_argument(
        "--size", type=parse_size, default=parse_size("1GiB"), help="of the log to make without DIR"
    )
    parser.add_argument(
        "--plain-size", type=parse_size, default=parse_size("20MB"), help="of it for the plain path"
    )
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts")
    given = parser.parse_args()
    if given.paths:
        print(bench(given.paths, given.plain_size, given.rounds))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_log(Options(out=Path(folder), size=given.size))
        print(bench([folder], given.plain_size, given.rounds))


if __name__ == "__main__":
    main()
