"""A log that is scanned as it grows, against one scan of the same bytes."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.log.files.segment import read_segment
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import Batch
from kgroup.scan.reductions.growing import GrowingScan
from kgroup.scan.reductions.history import read_history
from kgroup.scan.reductions.last_commits import last_commits
from kgroup.scan.reductions.scan import newest, split
from kgroup.scan.reductions.scanned import ScanPlan
from tests.log.offsets_log import batch, commit, group_metadata, marker, tombstone, write
from tests.log.truth import CAPTURES, FIXTURES, name_of

SLOTS = 3


def grown(capture: Path, folder: Path, steps: int) -> Iterator[None]:
    """Copies the capture's offsets topic, of each segment some batches in a step."""
    cuts = {}
    for segment in sorted(capture.glob("__consumer_offsets-*/*.log")):
        positions = [item.position for item in read_segment(segment) if isinstance(item, Batch)]
        size = segment.stat().st_size
        cuts[segment] = [positions[len(positions) * step // steps] for step in range(1, steps)] + [size]
    for step in range(steps):
        for segment, ends in cuts.items():
            copy = folder / segment.parent.name / segment.name
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(segment.read_bytes()[: ends[step]])
            copy.with_suffix(".index").touch()
        yield


def check(scan: GrowingScan, folder: Path) -> None:
    segments = open_sources([folder]).segments
    scanned = scan.scan(segments)
    kept, last = scanned.newest, scanned.last
    slices = [part for segment in segments for part in split(segment.path, segment.partition, 1 << 30)]
    once, once_last = newest(slices), last_commits(slices, SLOTS)
    assert kept.commits.to_pylist() == once.commits.to_pylist()
    assert kept.pending.to_pylist() == once.pending.to_pylist()
    assert kept.others == once.others
    assert (kept.records, kept.bytes) == (once.records, once.bytes)
    assert last is not None
    assert last.commits.to_pylist() == once_last.commits.to_pylist()
    assert last.membership_changes == once_last.membership_changes
    once_history = read_history(slices)
    assert scanned.history is not None
    assert scanned.history.reach.to_pylist() == once_history.reach.to_pylist()
    assert scanned.history.rounds == once_history.rounds


@pytest.mark.parametrize("capture", [path for path in CAPTURES if path.name != "compacted"], ids=name_of)
def test_a_brokers_log_in_steps(capture: Path, tmp_path: Path) -> None:
    scan = GrowingScan(ScanPlan(slots=SLOTS, history=True))
    for _ in grown(capture, tmp_path, 3):
        check(scan, tmp_path)


def test_transactions_that_end_later_and_deletions(tmp_path: Path) -> None:
    batches = [
        batch(0, [commit("g", "t", 0, 5), commit("g", "t", 1, 6)]),
        batch(2, [commit("g", "t", 0, 7)], producer_id=9),
        batch(3, [tombstone("g", "t", 1)]),
        marker(4, 9, committed=True),
        batch(5, [commit("g", "t", 0, 8)], producer_id=9),
        marker(6, 9, committed=False),
    ]
    scan = GrowingScan(ScanPlan(slots=SLOTS, history=True))
    for count in range(1, len(batches) + 1):
        write(tmp_path, batches[:count])
        check(scan, tmp_path)
    kept = scan.scan(open_sources([tmp_path]).segments).newest
    first = kept.commits.to_pylist()[0]
    assert (first["partition"], first["offset"]) == (0, 7)


def test_without_findings_no_records_of_groups_in_a_row(tmp_path: Path) -> None:
    write(tmp_path, [batch(0, [group_metadata("g", generation) for generation in range(3)])])
    segments = open_sources([tmp_path]).segments
    for findings in (True, False):
        scanned = GrowingScan(ScanPlan(slots=SLOTS, history=True, findings=findings)).scan(segments)
        assert scanned.history is not None and bool(scanned.history.rounds) is findings


def test_nothing_new_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path, [batch(0, [commit("g", "t", 0, 5)])])
    scan = GrowingScan(ScanPlan())
    segments = open_sources([tmp_path]).segments
    first, second = scan.scan(segments), scan.scan(segments)
    assert first.newest.commits.to_pylist() == second.newest.commits.to_pylist()
    assert (first.last, second.last, second.history) == (None, None, None)


def test_what_was_read_is_not_read_again(tmp_path: Path) -> None:
    """The bytes of before are noise now, and nobody sees it."""
    path = write(tmp_path, [batch(0, [commit("g", "t", 0, 5)])])
    scan = GrowingScan(ScanPlan())
    scan.scan(open_sources([tmp_path]).segments)
    size = path.stat().st_size
    path.write_bytes(b"\xee" * size + batch(1, [commit("g", "t", 0, 6)]))
    kept = scan.scan(open_sources([tmp_path]).segments).newest
    assert [row["offset"] for row in kept.commits.to_pylist()] == [6]
    assert kept.damage == ()


def test_a_file_that_became_shorter_is_another_one(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "3.9.1/codec-gzip/__consumer_offsets-26", tmp_path / "__consumer_offsets-26")
    scan = GrowingScan(ScanPlan())
    segments = open_sources([tmp_path]).segments
    scan.scan(segments)
    path = Path(segments[0].path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SourceError, match="bytes long, and was"):
        scan.scan(segments)
