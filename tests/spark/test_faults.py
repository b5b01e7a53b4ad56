"""A task whose Python worker was killed is tried again, also locally: the rows are as if nothing had been."""

import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgroup.log.files.sources import open_sources
from kgroup.scan.reductions.scan import Newest, Slice, merge, newest, split
from kgroup.spark import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIVES = Path(__file__).parents[2] / "fixtures" / "4.3.1" / "lives"

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class LosesItsWorkerOnce:
    """The newest records. The first worker that has found some is killed before it can pass them on."""

    marker: str

    def reduce(self, slices: Iterable[Slice]) -> Newest:
        records = newest(slices)
        if not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return records

    def merge(self, parts: Iterable[Newest]) -> Newest:
        return merge(parts)


def test_a_killed_worker_changes_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    slices = [
        part for segment in open_sources([LIVES]) for part in split(segment.path, segment.partition, 1 << 40)
    ]
    marker = tmp_path / "killed"
    assert jobs.reduced_slices(spark, slices, 1 << 14, LosesItsWorkerOnce(str(marker))) == newest(slices)
    assert marker.exists()


def test_a_worker_that_is_killed_while_it_asks_a_storage_is_asked_again(
    spark: "SparkSession", tmp_path: Path
) -> None:
    marker = tmp_path / "killed"

    def answer(asked: int) -> str:
        if asked == 3 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return str(asked)

    assert jobs.asked_there(spark, answer, range(20)) == [str(asked) for asked in range(20)]
    assert marker.exists()
