"""Whatever breaks in the middle of a job: complete rows, or one line and the rows of all the rest.

A task whose Python worker was killed is tried again, also locally. Lost executors are in `test_cluster.py`,
killed drivers in `sources/test_stream.py`, damaged checkpoints in `test_stream_state.py`.
"""

import os
import re
import shutil
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.make_log import Options, make_log
from kgroup.cli.shell.app import main
from kgroup.errors import KgroupError
from kgroup.log.files.sources import open_sources
from kgroup.scan.reductions.scan import Newest, Slice, merge, newest, split
from kgroup.spark import jobs
from kgroup.spark.explore import Found, side_by_side

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


def report(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", *arguments, "-o", "jsonl", "-q"])
    written = capsys.readouterr()
    assert ended.value.code == code, written.err
    return written.out, written.err


@pytest.mark.usefixtures("shared_session")
def test_of_a_thousand_segments_one_is_corrupt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its place is named, all others count, and --strict ends in 3, as without Spark."""
    make_log(Options(out=tmp_path, size=19_000_000, groups=30, partitions=3, segment_bytes=18_000, seed=7))
    segments = sorted(tmp_path.glob("__consumer_offsets-*/*.log"))
    assert len(segments) > 1000
    healthy = report(capsys, str(tmp_path))[0]
    hit = max(segments[len(segments) // 2 :], key=lambda path: path.stat().st_size)
    raw = bytearray(hit.read_bytes())
    raw[len(raw) // 2] ^= 4
    hit.write_bytes(raw)
    local = report(capsys, str(tmp_path), "--strict", code=3)
    assert report(capsys, str(tmp_path), "--strict", "--spark", code=3) == local
    assert re.search(rf"^kgroup: {hit}: byte \d+: .*CRC", local[1], re.MULTILINE)
    assert local[0].count("\n") == healthy.count("\n") > 100


@pytest.mark.usefixtures("shared_session")
def test_a_folder_that_may_not_be_listed_is_named_and_the_rest_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one of a bucket that has rules of its own."""
    for broker in ("broker-1", "broker-2"):
        shutil.copytree(LIVES, tmp_path / broker)
    closed = f"{tmp_path.as_uri()}/broker-2"

    def asked_there(session: object, function: Callable[[Any], str], asked: Sequence[Any]) -> list[str]:
        refused = Found(sizes={}, contents={}, error=f"{closed}: Access denied").as_json()
        return side_by_side(lambda one: refused if one[0] == closed else function(one), asked)

    monkeypatch.setattr(jobs, "asked_there", asked_there)
    alone = report(capsys, f"{tmp_path.as_uri()}/broker-1", "--spark")
    told = report(capsys, tmp_path.as_uri(), "--strict", "--spark", code=3)
    assert told[0] == alone[0]
    assert alone[0].count("\n") > 100
    assert f"kgroup: {closed}: not read: Access denied\n" in told[1]


def test_a_segment_that_is_deleted_while_others_are_scanned_is_one_line(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Without it the rows would lack what it held, and nobody would know."""
    copied = tmp_path / "logs"
    shutil.copytree(LIVES, copied)
    slices = [
        part for segment in open_sources([copied]) for part in split(segment.path, segment.partition, 1 << 40)
    ]
    gone = str(slices[-1].path)
    with pytest.raises(KgroupError) as raised:
        jobs.reduced_slices(spark, slices, 1, DeletesOnTheWay(gone))
    assert str(raised.value) == f"the Spark job failed: {gone}: No such file or directory"


@dataclass(frozen=True)
class DeletesOnTheWay:
    """The newest records. Whoever has found some of another segment deletes this one."""

    path: str

    def reduce(self, slices: Iterable[Slice]) -> Newest:
        slices = list(slices)
        Path(self.path).unlink(missing_ok=True)
        return newest(slices)

    def merge(self, parts: Iterable[Newest]) -> Newest:
        return merge(parts)
