"""Run by `test_cluster.py` in a process of its own, as a process has one Spark: `MASTER CAPTURE FOLDER`.

Writes to FOLDER what a lag report of CAPTURE says on the cluster, then loses an executor in the middle of
another job and says what that one found.
"""

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgroup.cli.app import main
from kgroup.log.scan import Newest, Slice, newest
from kgroup.log.sources import open_sources
from kgroup.spark import jobs
from kgroup.spark import session as session_module
from kgroup.spark.reductions import NewestRecords
from kgroup.spark.session import open_session
from kgroup.spark.tasks import split_segments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONF = {
    "spark.executor.memory": "480m",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


@dataclass(frozen=True)
class LosesItsExecutorOnce:
    """The newest records; the first time somebody merges them, that executor is killed."""

    marker: str

    def reduce(self, slices: Iterable[Slice]) -> Newest:
        return NewestRecords().reduce(slices)

    def merge(self, parts: Iterable[Newest]) -> Newest:
        if not Path(self.marker).exists():  # executors merge before the driver does
            Path(self.marker).touch()
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
            os.kill(int(daemon.rpartition(")")[2].split()[1]), signal.SIGKILL)
        return NewestRecords().merge(parts)


def run(master: str, capture: str, folder: Path) -> None:
    with open_session(master, CONF, ship=True) as session:
        report(session, [capture, "--status", "--now", "2026-11-20T13:00Z"], folder / "report.jsonl")
        segments = open_sources([capture]).segments
        # Runs of a partition in several tasks, so that parts go through a shuffle and are merged there.
        slices = split_segments(segments, 4096)
        marker = folder / "killed"
        found = jobs.reduced_slices(session, slices, 8192, LosesItsExecutorOnce(str(marker)))
        assert marker.exists()
        print("equal" if found == newest(slices) else "different")


def report(session: "SparkSession", arguments: list[str], path: Path) -> None:
    @contextmanager
    def opened(*_: Any, **__: Any) -> "Iterator[SparkSession]":
        yield session

    session_module.open_session = opened
    try:
        main(["lag-report", *arguments, "--spark", "-o", "jsonl", "-q", "--output", str(path)])
    except SystemExit as ended:
        assert ended.code == 0


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
