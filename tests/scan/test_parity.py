"""The columnar scan and the plain path say the same of every record of all captures and damaged files."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from kgroup.log.files.entries import read_entries
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.scan.reductions.scan import COMMIT_SCHEMA, ScanBlock, Slice, scan, split

FIXTURES = Path(__file__).parents[2] / "fixtures"
CAPTURES = sorted(
    path.parent for path in FIXTURES.glob("*/*/truth.jsonl") if path.parent.parent.name != "damaged"
)
DAMAGED = sorted(path.parent for path in FIXTURES.glob("damaged/*/truth.jsonl"))


def whole(path: Path, partition: int) -> list[Slice]:
    return split(path, partition, 1 << 40)


def commit_row(logged: LoggedEntry) -> dict[str, object] | None:
    """The row of COMMIT_SCHEMA for an entry of the plain path, None for one that is no commit."""
    entry = logged.entry
    if not isinstance(entry, OffsetsEntry) or not isinstance(entry.key, OffsetCommitKey):
        return None
    value = entry.value
    assert value is None or isinstance(value, OffsetCommitValue)
    topic_id: UUID | None = value.topic_id if value is not None else None
    return {
        "offsets_partition": logged.partition,
        "log_offset": logged.offset,
        "record_timestamp": logged.timestamp_ms,
        "producer_id": -1 if logged.producer_id is None else logged.producer_id,
        "group": entry.key.group,
        "topic": entry.key.topic,
        "partition": entry.key.partition,
        "tombstone": value is None,
        "offset": -1 if value is None else value.offset,
        "leader_epoch": -1 if value is None else value.leader_epoch,
        "metadata": "" if value is None else value.metadata,
        "commit_timestamp": -1 if value is None else value.commit_timestamp,
        "expire_timestamp": -1 if value is None else value.expire_timestamp,
        "topic_id": None if topic_id is None else topic_id.bytes,
        "value_version": -1 if value is None else entry.value_version,
    }


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
