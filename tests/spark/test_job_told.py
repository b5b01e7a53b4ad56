"""The signs of a job at work: its name, Spark's own log of it, and the numbers behind the bar."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgroup.spark.jobs import tasks_done

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
LIVES = "fixtures/4.3.1/lives"


@pytest.mark.spark
def test_spark_keeps_its_log_on_request_and_the_application_is_named_after_the_command(
    tmp_path: Path,
) -> None:
    settings = {"enabled": "true", "dir": tmp_path.as_uri(), "compress": "false"}
    conf = [
        text for key, value in settings.items() for text in ("--spark-conf", f"spark.eventLog.{key}={value}")
    ]
    command = [sys.executable, "-m", "kgroup", "lag-report", "--spark", LIVES, "--stuck", "-q", *conf]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    logs = [path for path in tmp_path.rglob("*") if path.is_file() and path.name.startswith("events_")]
    events = [json.loads(line) for path in sorted(logs) for line in path.read_text().splitlines()]
    (start,) = (event for event in events if event["Event"] == "SparkListenerApplicationStart")
    assert start["App Name"] == f"kgroup lag-report --stuck {LIVES}"
    assert any(event["Event"] == "SparkListenerTaskEnd" for event in events)


@pytest.mark.spark
def test_the_bar_has_the_tasks_of_jobs_that_run_and_of_no_others(
    spark: "SparkSession", tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    def waiting(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        gate.read_bytes()
        yield from batches

    assert tasks_done(spark) == (0, 0)
    with ThreadPoolExecutor(1) as thread:
        job = thread.submit(spark.range(0, 2, 1, 1).mapInArrow(waiting, "id long").count)
        while (done := tasks_done(spark)) == (0, 0):
            assert not job.done()
        assert done[0] == 0
        gate.write_bytes(b"")
        assert job.result() == 2
    assert tasks_done(spark) == (0, 0)
