"""Run by `test_storage.py` in a process of its own, as a process has one Spark: `MASTER CONF FOLDER URI...`.

Writes to FOLDER what lag reports of each URI say; CONF is a JSON object of Spark's settings. Of the logs in
THERE executors make the rows, as they do of large ones.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgroup.cli.shell.app import main
from kgroup.spark import session as session_module
from kgroup.spark.session import open_session
from tests.spark.made_there import made_there

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VIEWS = {
    "rows": (),
    "status": ("--status", "--now", "2026-11-20T13:00Z"),
    "stuck": ("--stuck", "--now", "2026-11-20T12:42:11Z"),
    "windows": ("--windows", "10s"),
}

THERE = ("lives",)


def reports(uri: str, folder: Path) -> None:
    """Write all views of what Spark says of a URI."""
    name = uri.rpartition("/")[2]
    with made_there() if name in THERE else nullcontext() as ranges:
        for view in VIEWS:
            report(uri, view, folder / f"{name}-{view}.jsonl", "--spark")
    # A history has its own way, always through executors.
    assert ranges is None or (len(ranges) == len(VIEWS) - 1 and min(ranges) > 2), ranges


def report(path: str, view: str, written: Path, *options: str) -> None:
    """Write one view of a lag report to a file."""
    try:
        main(["lag-report", path, *VIEWS[view], *options, "-o", "jsonl", "-q", "--output", str(written)])
    except SystemExit as ended:
        assert ended.code == 0, (path, view)


def run(master: str, conf: Mapping[str, str], folder: Path, uris: list[str]) -> None:
    with open_session(master, conf, ship=True) as session:

        @contextmanager
        def opened(*_: Any, **__: Any) -> "Iterator[SparkSession]":
            yield session

        session_module.open_session = opened
        for uri in uris:
            reports(uri, folder)


if __name__ == "__main__":
    run(sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
