"""The log that a benchmark reads: one that is given, or one made for it and deleted afterwards."""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.make_log import Options, make_log, parse_size


def add_log_arguments(parser: argparse.ArgumentParser, *, size: str, rounds: int) -> None:
    """Take DIR..., --size of the log to make without DIR, and --rounds."""
    parser.add_argument(
        "paths", nargs="*", metavar="DIR", help="a log directory, partition folder or segment"
    )
    parser.add_argument(
        "--size", type=parse_size, default=parse_size(size), help="of the log to make without DIR"
    )
    parser.add_argument("--rounds", type=int, default=rounds, help="the best of so many counts")


@contextmanager
def log_of(given: argparse.Namespace) -> Iterator[list[str]]:
    """The paths of the command line, or that of a log of `--size`."""
    if given.paths:
        yield given.paths
        return
    with made_log(given.size) as folder:
        yield [folder]


@contextmanager
def made_log(size: int) -> Iterator[str]:
    """The folder of a log with so many bytes of batches, for as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix="kgroup-") as folder:
        make_log(Options(out=Path(folder), size=size))
        yield folder
