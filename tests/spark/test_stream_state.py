"""The state beside Spark's checkpoint: what was new, put together; damaged, it is one line."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgroup.errors import InputError
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch
from kgroup.scan.reductions.cut_groups import cut_by_hash
from kgroup.scan.reductions.scan import Newest, Slice, newest
from kgroup.spark import state_pieces, stream_state
from kgroup.spark.live_source import LIVE_SCHEMA
from kgroup.spark.parts.kinds import unpack
from kgroup.spark.reduced_source import packed_row
from kgroup.spark.reductions import NewestRecords
from kgroup.spark.stream_state import Advanced, StreamState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIXTURES = Path(__file__).parents[2] / "fixtures"
PATH = min((FIXTURES / "1.1.1/lives/__consumer_offsets-48").glob("*.log"))
BATCHES = [item for item in read_segment(PATH) if isinstance(item, Batch)]

pytestmark = pytest.mark.spark


def piece(number: int, partition: int) -> Slice:
    """A tenth of a log with transactions, as if it were that of this partition."""
    share = len(BATCHES) // 10
    first, last = BATCHES[number * share], BATCHES[(number + 1) * share - 1]
    return Slice(path=PATH, offsets_partition=partition, start=first.position, end=last.position + last.size)


def rows(spark: "SparkSession", number: int, anew: Mapping[int, str] | None = None) -> "DataFrame":
    """What micro-batch `number` reads: of partition 1 a tenth, of partition 2 only each third time."""
    made = [
        {**row, "anew": (anew or {}).get(partition)}
        for partition in (1, 2)
        if partition == 1 or number % 3 == 0
        for row in packed_row(partition, number, newest([piece(number, partition)])).to_pylist()
    ]
    return spark.createDataFrame(made, LIVE_SCHEMA)


def assert_is_all_up_to(
    advanced: Advanced[Newest], number: int, first: Mapping[int, int] | None = None
) -> int:
    """As one reading of it, of partitions from these pieces on. Returns in how many pieces one is at most."""
    begins = {1: 0, 2: 0, **(first or {})}
    slices = {
        1: [piece(each, 1) for each in range(begins[1], number + 1)],
        2: [piece(each, 2) for each in range(begins[2], number + 1) if each % 3 == 0],
    }
    if advanced.is_here:
        assert advanced.whole() == newest(part for of_one in slices.values() for part in of_one)
        return 1
    with advanced.there() as parts:
        kept = {(row.offsets_partition, row.piece): row for row in parts.collect()}
    most = max(row.pieces for row in kept.values())
    for partition, of_one in slices.items():
        pieces = kept[partition, 0].pieces
        for place, part in enumerate(cut_by_hash(newest(of_one), pieces)):
            assert unpack(bytes(kept.pop((partition, place)).part)) == part
    assert not kept
    return int(most)


@pytest.fixture(params=["here", "there", "there in pieces"], autouse=True)
def where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A state may be small or large, also that of one offsets partition alone."""
    if request.param != "here":
        monkeypatch.setattr(stream_state, "_HERE_BYTES", 0)
    if request.param == "there in pieces":
        monkeypatch.setattr(state_pieces, "_PIECE_BYTES", 6000)
    return str(request.param)


def opened(spark: "SparkSession", folder: Path) -> StreamState[Newest]:
    return StreamState(spark, str(folder), NewestRecords())


def states(folder: Path) -> set[str]:
    return {path.name for path in (folder / "kgroup-state-5").iterdir()}


def test_each_state_is_all_so_far_whether_gone_on_with_or_opened_again(
    spark: "SparkSession", tmp_path: Path
) -> None:
    state = opened(spark, tmp_path)
    for number in range(4):
        assert_is_all_up_to(state.advance(rows(spark, number), number), number)
    # A query that died in micro-batch 3 makes it again, one that died after it goes on.
    assert_is_all_up_to(opened(spark, tmp_path).advance(rows(spark, 3), 3), 3)
    assert_is_all_up_to(opened(spark, tmp_path).advance(rows(spark, 4), 4), 4)
    assert states(tmp_path) == {"0", "1", "2", "3", "4"}


def test_a_partition_begun_anew_forgets_what_was_and_the_others_do_not(
    spark: "SparkSession", tmp_path: Path
) -> None:
    state = opened(spark, tmp_path)
    for number in range(2):
        state.advance(rows(spark, number), number)
    advanced = state.advance(rows(spark, 2, {1: "made again"}), 2)
    assert_is_all_up_to(advanced, 2, {1: 2})
    assert advanced.anew == {1: "made again"}
    assert_is_all_up_to(opened(spark, tmp_path).advance(rows(spark, 3), 3), 3, {1: 2})


def test_many_micro_batches_become_one_and_say_the_same(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(stream_state, "_FEW", 2)
    monkeypatch.setattr(stream_state, "_LARGE", 2)
    monkeypatch.setattr(stream_state, "_MANY", 3)
    state, pieces = opened(spark, tmp_path), list[int]()
    for number in range(5):
        anew = {1: "made again"} if number == 1 else None
        advanced = state.advance(rows(spark, number, anew), number)
        pieces.append(assert_is_all_up_to(advanced, number, {1: min(number, 1)}))
    assert (pieces[0] < pieces[2] < pieces[4]) == (where == "there in pieces")
    assert states(tmp_path) <= {"base-3", "base-1", "2", "3", "4"}
    assert len([name for name in states(tmp_path) if name.startswith("base-")]) == 1
    # Made again, the last one comes of the base and what is behind it.
    assert_is_all_up_to(opened(spark, tmp_path).advance(rows(spark, 4), 4), 4, {1: 1})


def test_the_first_micro_batch_takes_nothing_from_what_is_there(
    spark: "SparkSession", tmp_path: Path
) -> None:
    for _ in range(2):
        state = opened(spark, tmp_path)
        assert_is_all_up_to(state.advance(rows(spark, 0), 0), 0)
        assert_is_all_up_to(state.advance(rows(spark, 1), 1), 1)
    assert states(tmp_path) == {"0", "1"}


def lost(folder: Path) -> None:
    shutil.rmtree(folder / "1")


def all_lost(folder: Path) -> None:
    shutil.rmtree(folder)


def file_lost(folder: Path) -> None:
    (path,) = (folder / "1").glob("*.parquet")
    path.unlink()


def cut_off(folder: Path) -> None:
    (path,) = (folder / "1").glob("*.parquet")
    path.write_bytes(path.read_bytes()[:-100])


def changed(folder: Path) -> None:
    """In a way that the file system does not notice."""
    (path,) = (folder / "1").glob("*.parquet")
    path.with_name(f".{path.name}.crc").unlink()
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 3] ^= 1
    path.write_bytes(raw)


def not_finished(folder: Path) -> None:
    (folder / "1" / "_SUCCESS").unlink()


def of_later(folder: Path) -> None:
    shutil.copytree(folder / "1", folder / "base-9")


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lost, "what micro-batch 1 came to is not in it"),
        (all_lost, "what micro-batch 0 came to is not in it"),
        (file_lost, "what micro-batch 1 came to is not in it"),
        (not_finished, "what micro-batch 1 came to is not in it"),
        (of_later, "it has the state of micro-batch 9, and Spark's notes go to 1"),
        (cut_off, ""),
        (changed, ""),
    ],
)
def test_a_damaged_one_is_one_line_that_says_what_to_do(
    spark: "SparkSession", tmp_path: Path, damage: Callable[[Path], None], why: str
) -> None:
    state = opened(spark, tmp_path)
    for number in range(2):
        state.advance(rows(spark, number), number)
    damage(tmp_path / "kgroup-state-5")
    with pytest.raises(InputError) as raised:
        assert_is_all_up_to(opened(spark, tmp_path).advance(rows(spark, 2), 2), 2)
    line = str(raised.value)
    assert line.startswith(f"--checkpoint {tmp_path}: damaged: {why}")
    assert line.endswith("; give a new folder, and the log is read from its beginning")
    assert "\n" not in line
