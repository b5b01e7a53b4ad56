"""How fast the whole command is: `python -m benchmarks.decode_command [DIR]`.

Runs `kgroup decode` over a log in each format and with filters, in processes of their own, with the output
thrown away. Times are CPU seconds from start to end, Python's own start included. Without DIR a log is made
first, and deleted afterwards.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tabulate import tabulate

from benchmarks.make_log import Options, make_log, parse_size
from kgroup.log.scan import newest, split
from kgroup.log.sources import open_sources

_RUNS = {
    "jsonl": ("-o", "jsonl"),
    "csv": ("-o", "csv"),
    "table": ("-o", "table"),
    "jsonl --group G": ("-o", "jsonl", "--group", "no-such-group"),
    "jsonl --from-offset N": ("-o", "jsonl", "--from-offset", str(2**62)),
}


def bench(paths: list[str], rounds: int) -> str:
    """The table of figures for the segments under the paths."""
    sources = open_sources(paths)
    records = newest(
        [part for segment in sources for part in split(segment.path, segment.partition, 1 << 62)]
    ).records
    size = sum(Path(segment.path).stat().st_size for segment in sources)
    rows = []
    for name, options in _RUNS.items():
        seconds = min(_cpu_seconds(["decode", *options, *paths]) for _ in range(rounds))
        rows.append((f"decode -o {name}", seconds, size / seconds / 1e6, records / seconds / 1e3))
    return tabulate(
        rows, headers=("", "CPU s", "MB/s", "thousand records/s"), floatfmt=("", ".2f", ".1f", ".0f")
    )


def _cpu_seconds(arguments: list[str]) -> float:
    before = os.times()
    subprocess.run([sys.executable, "-m", "kgroup", *arguments], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    spent = after.children_user - before.children_user
    return spent + after.children_system - before.children_system


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decode_command", description=__doc__)
    parser.add_argument(
        "paths", nargs="*", metavar="DIR", help="a log directory, partition folder or segment"
    )
    parser.add_argument(
        "--size", type=parse_size, default=parse_size("100MB"), help="of the log to make without DIR"
    )
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts")
    given = parser.parse_args()
    if given.paths:
        print(bench(given.paths, given.rounds))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_log(Options(out=Path(folder), size=given.size))
        print(bench([folder], given.rounds))


if __name__ == "__main__":
    main()
