"""Records of groups, kept packed, are what was decoded when they were read."""

from pathlib import Path

import pytest

from kgroup.log.files.sources import open_sources
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.scan.reading.reader import RowReader
from kgroup.scan.reductions.history import read_history
from kgroup.scan.reductions.rows_read import rows_in_order, rows_read
from kgroup.scan.reductions.scan import Slice, split
from tests.log.offsets_log import batch, group_metadata, write

FIXTURES = Path(__file__).parents[3] / "fixtures"
CAPTURES = sorted(path.parent for path in FIXTURES.glob("*/*/truth.jsonl") if path.parent.name != "gzip-bomb")


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_packed_record_is_the_one_that_was_read(capture: Path) -> None:
    slices = [
        part
        for segment in open_sources([str(capture)])
        for part in split(segment.path, segment.partition, 1 << 40)
    ]
    for read in rows_in_order(slices):
        of_groups = [logged for logged in read.others if isinstance(logged.entry, OffsetsEntry)]
        assert [record.logged() for _, record in read.packed()] == of_groups


def test_trailing_bytes_and_deletions_stay(tmp_path: Path) -> None:
    key, value = group_metadata("g", 4)
    assert value is not None
    path = write(tmp_path, [batch(0, [(key + b"!", value + b"!"), (key, None)])])
    (read,) = rows_read(Slice(path=path, offsets_partition=7, start=0, end=path.stat().st_size), RowReader())
    (group, odd), (_, deleted) = read.packed()
    assert (group, odd.key, odd.value) == ("g", key + b"!", value + b"!")
    assert (odd.logged(), deleted.logged()) == read.others
    assert (deleted.value, deleted.offset) == (None, 1)


def test_a_commit_whose_names_are_no_text_is_no_record_of_a_group(tmp_path: Path) -> None:
    """What stands in for its bytes is longer than a key's string can be, so that it is dropped."""
    name = bytes([0xFF]) * 20_000
    named = len(name).to_bytes(2, "big") + name
    key = (1).to_bytes(2, "big") + named + named + (0).to_bytes(4, "big")
    value = b"\0\3" + (5).to_bytes(8, "big") + b"\xff\xff\xff\xff" + b"\0\0" + (1000).to_bytes(8, "big")
    path = write(tmp_path, [batch(0, [(key, value), group_metadata("g", 1)])])
    part = Slice(path=path, offsets_partition=7, start=0, end=path.stat().st_size)
    (read,) = rows_read(part, RowReader())
    dropped, _ = read.others
    assert isinstance(dropped.entry, OffsetsEntry) and isinstance(dropped.entry.key, OffsetCommitKey)
    assert [group for group, _ in read.packed()] == ["g"]
    assert list(read_history([part]).rounds) == [(7, "g")]
