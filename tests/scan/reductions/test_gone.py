"""A group of which only tombstones are left is forgotten a day later, and nothing of any other group is."""

from pathlib import Path
from typing import Any

import pytest

from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.scan.reductions.gone import GONE_MS, gone_groups, without_gone
from kgroup.scan.reductions.history import merge_histories, read_history
from kgroup.scan.reductions.last_commits import Keep, last_part, merge_last
from kgroup.scan.reductions.newest import merge, newest
from kgroup.scan.reductions.scan import Slice
from tests.log.offsets_log import batch, commit, group_metadata, marker, tombstone, write

KEEP = Keep(slots=3)
DELETED = (group_metadata("deleted", 0)[0], None)
LONG_AGO = [
    batch(0, [group_metadata("deleted", 3), commit("deleted", "t", 0, 5), commit("other", "t", 0, 7)]),
    batch(3, [commit("member", "t", 1, 5), group_metadata("member", 1), commit("open", "t", 2, 1)]),
    batch(6, [DELETED, tombstone("deleted", "t", 0), tombstone("member", "t", 1), tombstone("open", "t", 2)]),
    batch(10, [commit("open", "t", 2, 9)], producer_id=4),
]
LAST_MS_OF_DELETED = 1007  # as `batch` counts: the tombstone of its commit


def part_of(path: Path) -> Any:
    one = Slice(path=path, offsets_partition=7, start=0, end=path.stat().st_size)
    return (newest([one]), last_part([one], KEEP)), read_history([one])


def merged(*parts: Any) -> Any:
    return (
        (merge(part[0][0] for part in parts), merge_last((part[0][1] for part in parts), KEEP)),
        merge_histories(part[1] for part in parts),
    )


@pytest.mark.parametrize(("age", "gone"), [(GONE_MS - 1, set()), (GONE_MS, {"deleted"})])
def test_groups_are_gone_that_left_tombstones_alone_a_day_ago(
    tmp_path: Path, age: int, gone: set[str]
) -> None:
    now = LAST_MS_OF_DELETED + age - 1000  # the offset whose record has that time
    path = write(tmp_path, [*LONG_AGO, batch(now, [commit("other", "t", 0, 8)])])
    (records, last), history = part_of(path)
    assert gone_groups(records) == gone
    (kept, kept_last), kept_history = without_gone(((records, last), history))
    assert {row["group"] for row in records.commits.to_pylist()} == {"deleted", "other", "member", "open"}
    for whole, left in ((records.commits, kept.commits), (records.pending, kept.pending)):
        assert left.to_pylist() == [row for row in whole.to_pylist() if row["group"] not in gone]
    for whole, left in ((last.settled, kept_last.settled), (last.waiting, kept_last.waiting)):
        assert left.to_pylist() == [row for row in whole.to_pylist() if row["group"] not in gone]
    assert len(kept.others) == len(records.others) - len(gone)
    assert {group for _, group in history.rounds} - {group for _, group in kept_history.rounds} == gone
    assert kept_history.reach.equals(history.reach)
    assert (kept.records, kept.batches, kept.bytes) == (records.records, records.batches, records.bytes)
    assert kept.first_markers == records.first_markers


def test_what_comes_later_is_as_if_the_group_had_never_been(tmp_path: Path) -> None:
    first = write(tmp_path / "first", [*LONG_AGO, batch(2 * GONE_MS, [commit("other", "t", 0, 8)])])
    again = [
        marker(2 * GONE_MS + 1, 4, committed=True),
        batch(2 * GONE_MS + 2, [commit("deleted", "t", 0, 1)]),
    ]
    later = part_of(write(tmp_path / "later", again))
    whole, left = (merged(part, later)[0][0] for part in (part_of(first), without_gone(part_of(first))))
    assert left.commits.to_pylist() == whole.commits.to_pylist()
    assert [row["offset"] for row in left.commits.to_pylist() if row["group"] == "open"] == [9]


def test_a_group_stays_whose_tombstones_do_not_say_when(tmp_path: Path) -> None:
    """As records of message format 0 have no time, -1."""
    record = LogRecord(offset=0, timestamp_ms=-1, key=DELETED[0], value=None)
    old = encode_batch([record], base_offset=0)
    (records, _), _ = part_of(write(tmp_path, [old, batch(2 * GONE_MS, [commit("other", "t", 0, 8)])]))
    assert gone_groups(records) == set()


def test_what_is_not_of_groups_stays_as_it_is() -> None:
    assert without_gone(7) == 7
