"""Run by `test_cluster.py` in a process of its own, as a process has one Spark: `MASTER CAPTURE FOLDER`.

Writes to FOLDER what a lag report of CAPTURE says on the cluster, which loses an executor meanwhile, and
what a history says when all executors that made and kept its rows are lost before these are fetched.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, partialmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgroup.cli.shell.app import main
from kgroup.scan.reductions.scan import Newest, Slice, merge, newest
from kgroup.spark import reductions
from kgroup.spark import session as session_module
from kgroup.spark.exchange import KeptBatches
from kgroup.spark.session import open_session
from tests.spark.standalone import JAVA_OF_TESTS

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import SparkSession

CONF = {
    "spark.executor.memory": "480m",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": JAVA_OF_TESTS,
    "spark.executor.extraJavaOptions": JAVA_OF_TESTS,
}


def executor(*_: Any) -> int:
    """The process that this worker, a child of PySpark's daemon, works for: the daemon is a child of it."""
    daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
    return int(daemon.rpartition(")")[2].split()[1])


@dataclass(frozen=True)
class LosesItsExecutorOnce:
    """The newest records. The first executor that has found some is killed before it can pass them on."""

    marker: str

    def reduce(self, slices: Iterable[Slice]) -> Newest:
        records = newest(slices)
        if not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(executor(), signal.SIGKILL)
        return records

    def merge(self, parts: Iterable[Newest]) -> Newest:
        return merge(parts)


def run(master: str, capture: str, folder: Path) -> None:
    marker = folder / "killed"
    reductions.NewestRecords = partial(LosesItsExecutorOnce, str(marker))
    with open_session(master, CONF, ship=True) as session:
        report(session, [capture, "--status", "--now", "2026-11-20T13:00Z"], folder / "report.jsonl")
        assert marker.exists()
        KeptBatches.fetched = partialmethod(fetched_after_a_loss, KeptBatches.fetched)
        report(session, [capture, "--windows", "10s"], folder / "history.jsonl")


def fetched_after_a_loss(
    kept: KeptBatches, fetched: "Callable[[KeptBatches], Iterator[RecordBatch]]"
) -> "Iterator[RecordBatch]":
    context = kept.frame.sparkSession.sparkContext
    for process in set(context.parallelize(range(40), 40).map(executor).collect()):
        os.kill(process, signal.SIGKILL)
    return fetched(kept)


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
