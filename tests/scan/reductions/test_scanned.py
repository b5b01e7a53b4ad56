"""One reading of a log for all that a report asks of its past."""

import pytest

from kgroup.log.files.sources import one_replica_each, open_sources
from kgroup.scan.reductions.history import read_history
from kgroup.scan.reductions.last_commits import last_commits
from kgroup.scan.reductions.scan import newest, split
from kgroup.scan.reductions.scanned import Scanned, ScanPlan, read_slices
from tests.compat.captures import FIXTURES


def test_reading_once_leaves_what_reading_for_each_does():
    sources = one_replica_each(open_sources([FIXTURES / "4.3.1/lives"]))
    slices = [part for segment in sources for part in split(segment.path, segment.partition, 1 << 16)]
    read: list[int] = []
    scanned = read_slices(slices, ScanPlan(slots=3, history=True), advance=read.append)
    assert scanned == Scanned(newest(slices), last_commits(slices, 3), read_history(slices))
    chunks = {name: scanned.last.commits[name].num_chunks for name in ("offset", "commit_timestamp", "group")}
    assert chunks["offset"] == chunks["commit_timestamp"] == 1 < chunks["group"]
    assert scanned.newest.others and scanned.last.commits.num_rows and scanned.history.reach.num_rows
    assert sum(read) == sum(part.end - part.start for part in slices)


def test_without_findings_nothing_is_kept_for_them():
    sources = one_replica_each(open_sources([FIXTURES / "4.3.1/lives"]))
    slices = [part for segment in sources for part in split(segment.path, segment.partition, 1 << 62)]
    whole = read_slices(slices, ScanPlan(slots=3, history=True))
    scanned = read_slices(slices, ScanPlan(slots=3, history=True, findings=False))
    assert whole.history.rounds and whole.last.longest.num_rows
    assert not scanned.history.rounds and not scanned.last.longest.num_rows
    assert scanned.history.reach == whole.history.reach == read_history(slices, rounds=False).reach
    assert scanned.last.moves == whole.last.moves and scanned.newest == whole.newest
    assert not read_history(slices, rounds=False).rounds


def test_what_was_before_only_where_it_is_asked_for():
    assert read_slices([], ScanPlan(slots=3)).history is None


def test_a_plan_without_slots_reads_the_newest_records_alone():
    slices = [
        part
        for segment in one_replica_each(open_sources([FIXTURES / "4.3.1/lives"]))
        for part in split(segment.path, segment.partition, 1 << 16)
    ]
    read: list[int] = []
    assert read_slices(slices, ScanPlan(), read.append) == Scanned(newest(slices))
    assert sum(read) == sum(part.end - part.start for part in slices)


@pytest.mark.parametrize("at_once", [1, 30_000, 1 << 30])
def test_the_portions_that_are_read_at_once_make_no_difference(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgroup.scan.reductions.scanned._AT_ONCE_BYTES", at_once)
    slices = [
        part
        for segment in one_replica_each(open_sources([FIXTURES / "4.3.1/lives"]))
        for part in split(segment.path, segment.partition, 1 << 12)
    ]
    read: list[int] = []
    assert read_slices(slices, ScanPlan(), read.append) == Scanned(newest(slices))
    assert sum(read) == sum(part.end - part.start for part in slices)
