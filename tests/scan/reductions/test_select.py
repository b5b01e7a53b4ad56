"""The columnar path for some groups gives what the plain path gives of them."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgroup.log.files.entries import read_entries
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import LoggedEntry, OffsetGap, OffsetsEntry, TransactionMarker
from kgroup.protocol.records.keys import OffsetCommitKey, group_of
from kgroup.scan.reductions.scan import Slice, split
from kgroup.scan.reductions.select import select
from tests.log.offsets_log import batch, commit, write

FIXTURES = Path(__file__).parents[3] / "fixtures"
CAPTURES = sorted(path.parent for path in FIXTURES.glob("*/*/truth.jsonl"))
CAPTURE = FIXTURES / "3.9.1" / "lives"


def selected(
    folder: Path, wanted: set[str] | None, slice_bytes: int = 1 << 40
) -> list[LoggedEntry | OffsetGap]:
    parts = (
        part
        for segment in open_sources([folder])
        for part in split(segment.path, segment.partition, slice_bytes)
    )
    items = select(parts, lambda group: wanted is None or group in wanted)
    return [item for item in items if not isinstance(item, Damage)]


def plain(folder: Path, wanted: set[str] | None) -> Iterator[LoggedEntry]:
    """Entries of the groups, as the plain path reads them."""
    for item in read_entries(open_sources([folder])):
        if isinstance(item, Damage) or not isinstance(item.entry, OffsetsEntry):
            continue
        if wanted is None or group_of(item.entry.key) in wanted:
            yield item


def essence(logged: LoggedEntry) -> tuple[object, ...]:
    assert isinstance(logged.entry, OffsetsEntry)
    return (
        logged.partition,
        logged.offset,
        logged.timestamp_ms,
        logged.leader_epoch,
        logged.producer_id,
        logged.entry.key,
        logged.entry.value,
    )


@pytest.mark.parametrize("folder", CAPTURES, ids=lambda folder: str(folder.relative_to(FIXTURES)))
def test_all_groups_of_a_capture(folder):
    entries = [
        item
        for item in selected(folder, None)
        if isinstance(item, LoggedEntry) and isinstance(item.entry, OffsetsEntry)
    ]
    assert [essence(entry) for entry in entries] == [essence(entry) for entry in plain(folder, None)]


@pytest.mark.parametrize("slice_bytes", [1 << 40, 3000])
def test_one_group_among_many_whatever_the_slices(slice_bytes):
    entries = selected(CAPTURE, {"orders-app"}, slice_bytes)
    of_app = [essence(entry) for entry in entries if isinstance(entry, LoggedEntry)]
    assert len(of_app) > 200
    assert of_app == [essence(entry) for entry in plain(CAPTURE, {"orders-app"})]


def test_markers_come_with_the_transactions_of_the_group_only():
    items = selected(CAPTURE, {"billing-txn"})
    open_producers: set[int | None] = set()
    markers = 0
    for item in items:
        assert isinstance(item, LoggedEntry)
        if isinstance(item.entry, TransactionMarker):
            markers += 1
            assert item.producer_id in open_producers
        elif isinstance(item.entry, OffsetsEntry) and isinstance(item.entry.key, OffsetCommitKey):
            open_producers.add(item.producer_id)
    assert markers > 3
    assert not any(
        isinstance(item, LoggedEntry) and isinstance(item.entry, TransactionMarker)
        for item in selected(CAPTURE, {"orders-app"})
    )


def test_offsets_that_the_cleaner_took_are_told_before_what_stands_behind_them():
    folder = FIXTURES / "3.9.1" / "compacted"
    items = selected(folder, None)
    gaps = [item for item in items if isinstance(item, OffsetGap)]
    assert gaps
    for gap, following in itertools.pairwise(items):
        if isinstance(gap, OffsetGap):
            assert isinstance(following, LoggedEntry)
            assert gap.partition == following.partition
            assert gap.first_offset <= gap.last_offset < following.offset


def test_each_gap_is_told_once_and_of_several_the_last(tmp_path):
    """Offsets 1 to 9 are missing, and 11 to 19 and 21 to 29 between what is wanted."""
    mine, others = commit("mine", "t", 0, 5), commit("other", "t", 0, 5)
    path = write(
        tmp_path, [batch(0, [mine]), batch(10, [mine]), batch(20, [others]), batch(30, [mine, mine])]
    )
    part = Slice(path=path, offsets_partition=7, start=0, end=path.stat().st_size)
    told = [
        (item.first_offset, item.last_offset) if isinstance(item, OffsetGap) else item.offset
        for item in select([part], lambda group: group == "mine")
    ]
    assert told == [0, (1, 9), 10, (21, 29), 30, 31]


def test_a_log_without_gaps_tells_none():
    assert not [item for item in selected(CAPTURE, None) if isinstance(item, OffsetGap)]
