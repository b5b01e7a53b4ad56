"""The merging of a state: what nothing new has come to is passed on, what is long gone is forgotten."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from kgroup.scan.reductions.cut_groups import cut_by_hash
from kgroup.scan.reductions.gone import GONE_MS
from kgroup.scan.reductions.scan import Slice
from kgroup.spark.parts.kinds import pack, unpack
from kgroup.spark.reductions import NewestRecords
from kgroup.spark.state_pieces import cut_rows, merge_following, pieces_for
from tests.log.offsets_log import batch, commit, marker, tombstone, write


def row(path: Path, number: int, **fields: Any) -> dict[str, Any]:
    whole = Slice(path=path, offsets_partition=7, start=0, end=path.stat().st_size)
    return {
        "offsets_partition": 7,
        "run": number,
        "part": pack(NewestRecords().reduce([whole])),
        "anew": None,
        "number": number,
        "piece": 0,
        "pieces": 1,
        **fields,
    }


def merged(rows: list[dict[str, Any]], *, forgets: bool) -> list[dict[str, Any]]:
    batches = merge_following(iter([pa.RecordBatch.from_pylist(rows)]), NewestRecords(), forgets=forgets)
    return [each for one in batches for each in one.to_pylist()]


def groups(merged_row: dict[str, Any]) -> set[str]:
    return {each["group"] for each in unpack(merged_row["part"]).commits.to_pylist()}


def test_only_what_something_has_come_to_is_merged_and_without_what_is_gone(tmp_path: Path) -> None:
    before = write(tmp_path / "0", [batch(0, [commit("gone", "t", 0, 1), tombstone("gone", "t", 0)])])
    later = write(tmp_path / "1", [batch(GONE_MS + 9, [commit("here", "t", 0, 1)])])
    both = [row(before, 0), row(later, 1)]
    (kept,) = merged(both, forgets=False)
    (forgetful,) = merged(both, forgets=True)
    assert (groups(kept), groups(forgetful), forgetful["number"]) == ({"gone", "here"}, {"here"}, 1)
    alone = row(before, 0, piece=1, pieces=2)
    assert merged([alone], forgets=True) == [alone]


def test_a_piece_that_is_cut_again_leaves_nothing_to_the_pieces_of_others(tmp_path: Path) -> None:
    """A transaction that ended would else settle a later one of its producer, which is still open."""
    ended = [batch(0, [commit("a", "t", 0, 1)], producer_id=4), marker(1, 4, committed=True)]
    goes_on = batch(2, [commit(group, "t", 0, 2) for group in "abcdefgh"], producer_id=4)
    whole = row(write(tmp_path, [*ended, goes_on]), 0)
    halves = cut([whole], 2)
    assert [each["piece"] for each in halves] == [0, 1]
    quarters = cut(halves, 4)
    assert sorted(each["piece"] for each in quarters) == [0, 1, 2, 3]
    for each in quarters:
        assert unpack(each["part"]) == cut_by_hash(unpack(whole["part"]), 4)[each["piece"]]
    assert cut(quarters, 4) == quarters


def cut(rows: list[dict[str, Any]], into: int) -> list[dict[str, Any]]:
    return [
        each
        for one in cut_rows(iter([pa.RecordBatch.from_pylist(rows)]), {7: into})
        for each in one.to_pylist()
    ]


def test_what_was_before_a_log_that_was_made_again_is_not_even_unpacked(tmp_path: Path) -> None:
    later = row(write(tmp_path, [batch(0, [commit("here", "t", 0, 1)])]), 1, anew="made again")
    (only,) = merged([{**later, "part": b"damaged", "anew": None, "number": 0}, later], forgets=False)
    assert only == {**later, "anew": None}


def test_pieces_double_as_a_part_grows_and_never_become_fewer() -> None:
    assert [pieces_for(size << 20, 1) for size in (0, 8, 9, 17, 100)] == [1, 1, 2, 4, 16]
    assert pieces_for(0, 4) == 4
