"""The columnar scan and the plain path say the same of every record of all captures and damaged files."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from kgroup.log.files.entries import read_entries
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import LoggedEntry
from kgroup.scan.reductions.scan import COMMIT_SCHEMA, ScanBlock, Slice, scan, split
from tests.fuzz.segments import commit_row

pytestmark = pytest.mark.usefixtures("each_tier")

FIXTURES = Path(__file__).parents[2] / "fixtures"
CAPTURES = sorted(
    path.parent for path in FIXTURES.glob("*/*/truth.jsonl") if path.parent.parent.name != "damaged"
)
DAMAGED = sorted(path.parent for path in FIXTURES.glob("damaged/*/truth.jsonl"))


def whole(path: Path, partition: int) -> list[Slice]:
    return split(path, partition, 1 << 40)


def plain(path: Path) -> tuple[list[dict[str, object]], list[LoggedEntry], list[Damage]]:
    """Commit rows, other entries and damage of a segment, by the plain path."""
    rows, others, damage = [], [], []
    for item in read_entries(open_sources([path])):
        if isinstance(item, Damage):
            damage.append(item)
        elif (row := commit_row(item)) is not None:
            rows.append(row)
        else:
            others.append(item)
    return rows, others, damage


def columnar(blocks: Iterable[ScanBlock]) -> tuple[list[dict[str, object]], list[LoggedEntry], list[Damage]]:
    """The same by the scan."""
    rows, others, damage = [], [], []
    for block in blocks:
        assert block.commits.schema.equals(COMMIT_SCHEMA)
        block.commits.validate(full=True)
        rows += block.commits.to_pylist()
        others += block.others
        damage += block.damage
    return rows, others, damage


def segments(capture: Path) -> Iterator[tuple[Path, int]]:
    for segment in open_sources([capture]):
        yield Path(segment.path), segment.partition


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_scan_equals_the_plain_path_on_every_capture(capture: Path) -> None:
    for path, partition in segments(capture):
        assert columnar(scan(whole(path, partition))) == plain(path)


@pytest.mark.parametrize("case", DAMAGED, ids=lambda path: path.name)
def test_scan_equals_the_plain_path_on_every_damaged_segment(case: Path) -> None:
    for path, partition in segments(case):
        assert columnar(scan(whole(path, partition))) == plain(path)
