"""Which findings are open, in the checkpoint: told once whatever happens, and damaged, one line."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kgroup.errors import InputError
from kgroup.spark.open_findings import OpenFindings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def deciding(opened: str, seen: list[Any]) -> Any:
    """Opens one more; what was open is put into `seen`."""

    def decide(were_open: Any) -> Any:
        seen.append([row["group"] for row in were_open])
        row = {"group": opened, "numbers": {"lag": 1.5, "who": "\udcff"}}
        return [{"event": "opened", **row}], [*were_open, row]

    return decide


def nothing_happens(were_open: Any) -> Any:
    return [], were_open


def never(were_open: Any) -> Any:
    raise AssertionError("it was decided before")


def folders(checkpoint: Path) -> set[str]:
    return {path.name for path in (checkpoint / "kgroup-findings-1").iterdir()}


def test_what_was_open_is_known_to_the_next_and_what_was_decided_stays(
    spark: "SparkSession", tmp_path: Path
) -> None:
    seen: list[Any] = []
    findings = OpenFindings(spark, str(tmp_path))
    assert findings.events(0, nothing_happens) == []
    first = findings.events(1, deciding("a", seen))
    assert [row["event"] for row in first] == ["opened"]
    assert findings.events(2, nothing_happens) == []
    # The query died, and begins with micro-batch 3.
    second = OpenFindings(spark, str(tmp_path)).events(3, deciding("b", seen))
    assert seen == [[], ["a"]]
    # It died in it: what had been decided is told again.
    again = OpenFindings(spark, str(tmp_path))
    assert again.events(3, never) == second
    again.events(4, deciding("c", seen))
    assert seen == [[], ["a"], ["a", "b"]]
    assert folders(tmp_path) == {"4"}


def lost_mark(folder: Path) -> None:
    (folder / "_SUCCESS").unlink()


def cut_off(folder: Path) -> None:
    (path,) = folder.glob("*.parquet")
    path.write_bytes(path.read_bytes()[:-100])


def of_later(folder: Path) -> None:
    shutil.copytree(folder, folder.parent / "9")


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lost_mark, "the findings of micro-batch 1 are not whole"),
        (cut_off, ""),
        (of_later, "it has findings of micro-batch 9, and Spark's notes go to 2"),
    ],
)
def test_a_damaged_one_is_one_line(
    spark: "SparkSession", tmp_path: Path, damage: Callable[[Path], None], why: str
) -> None:
    OpenFindings(spark, str(tmp_path)).events(1, deciding("a", []))
    damage(tmp_path / "kgroup-findings-1" / "1")
    with pytest.raises(InputError) as raised:
        OpenFindings(spark, str(tmp_path)).events(2, deciding("b", []))
    line = str(raised.value)
    assert line.startswith(f"--checkpoint {tmp_path}: damaged: {why}")
    assert line.endswith("; give a new folder, and the log is read from its beginning")
    assert "\n" not in line


def test_what_was_not_written_to_its_end_is_decided_again(spark: "SparkSession", tmp_path: Path) -> None:
    OpenFindings(spark, str(tmp_path)).events(1, deciding("a", []))
    lost_mark(tmp_path / "kgroup-findings-1" / "1")
    seen: list[Any] = []
    OpenFindings(spark, str(tmp_path)).events(1, deciding("b", seen))
    assert seen == [[]]


def test_those_of_another_version_and_a_note_that_is_none_are_one_line(
    spark: "SparkSession", tmp_path: Path
) -> None:
    (tmp_path / "kgroup-findings-7" / "1").mkdir(parents=True)
    with pytest.raises(InputError, match=f"^--checkpoint {tmp_path}: made by another version of kgroup"):
        OpenFindings(spark, str(tmp_path)).check_version()
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text("v1\n{}\nnothing\n")
    for number in (0, 1):
        with pytest.raises(InputError, match=f"^--checkpoint {tmp_path}: damaged: .*new folder"):
            OpenFindings(spark, str(tmp_path)).is_whole(number)
