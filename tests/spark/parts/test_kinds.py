"""What executors hand on comes out of its bytes as it went in, or not at all."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest

from kgroup.log.files.segment import read_segment
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import Batch, Damage
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker, Undecodable
from kgroup.scan.reductions.history import read_history
from kgroup.scan.reductions.keyed_rows import CommitKey, KeyedCommits, KeyedRows
from kgroup.scan.reductions.last_commits import Keep
from kgroup.scan.reductions.packed import PackedRecord
from kgroup.scan.reductions.scan import Slice, newest, split
from kgroup.spark.parts.entries import entries_table, packed_of
from kgroup.spark.parts.kinds import Note, pack, unpack
from kgroup.spark.parts.packing import DamagedPartError, packed_contents
from kgroup.spark.reductions import Both, LastCommitsOfEach, NewestRecords, ReachAndRounds

FIXTURES = Path(__file__).parents[3] / "fixtures"
EVERYTHING = Both(Both(NewestRecords(), LastCommitsOfEach(Keep(slots=10))), ReachAndRounds())


def slices_of(capture: Path) -> list[Slice]:
    return [
        part
        for segment in open_sources([str(capture)])
        for part in split(segment.path, segment.partition, 1 << 40)
    ]


def captures() -> list[Path]:
    """All but the one whose batch unpacks to very much."""
    found = [path.parent for path in sorted(FIXTURES.glob("*/*/truth.jsonl"))]
    return [path for path in found if path.name != "gzip-bomb"]


@cache
def pieces() -> tuple[Slice, ...]:
    """Batches of real transactions, three at a time: some leave one open, others have the marker."""
    path = min((FIXTURES / "1.1.1/lives/__consumer_offsets-48").glob("*.log"))
    starts = [item.position for item in read_segment(path) if isinstance(item, Batch)][::3]
    ends = [*starts[1:], path.stat().st_size]
    return tuple(
        Slice(path=path, offsets_partition=48, start=start, end=end)
        for start, end in zip(starts, ends, strict=True)
    )


def test_what_is_left_of_every_real_log_is_the_same_from_its_bytes() -> None:
    kinds: set[type] = set()
    for capture in captures():
        left = EVERYTHING.reduce(slices_of(capture))
        assert unpack(pack(left)) == left
        kinds.update(type(logged.entry) for logged in left[0][0].others)
        kinds.update(type(damage) for damage in left[0][0].damage)
    assert kinds == {OffsetsEntry, Undecodable, Damage}


def test_pieces_of_a_log_merge_from_their_bytes_as_they_do_themselves() -> None:
    left = [EVERYTHING.reduce([part]) for part in pieces()]
    assert any(newest.pending.num_rows and last.waiting.num_rows for (newest, last), _ in left)
    assert any(newest.first_markers and last.first_markers for (newest, last), _ in left)
    again = [unpack(pack(part)) for part in left]
    assert again == left
    assert EVERYTHING.merge(again) == EVERYTHING.merge(left)


def test_a_file_name_that_is_no_text_and_a_marker_stay_what_they_are() -> None:
    marker = TransactionMarker(producer_id=7, producer_epoch=3, committed=True, coordinator_epoch=9)
    logged = LoggedEntry(
        partition=1, offset=2, timestamp_ms=-1, leader_epoch=None, producer_id=7, entry=marker
    )
    aborted = replace(logged, entry=replace(marker, committed=False))
    odd = replace(
        newest([]),
        damage=(Damage(segment="\udcff.log", position=1, size=2, why="\udcff: cut off"),),
        others=(logged, aborted),
    )
    assert unpack(pack(odd)) == odd


def keyed_rows() -> KeyedRows:
    keys = [CommitKey("a", "t", 0, 3), CommitKey("b", "ü", 1, 3)]
    return KeyedRows(keys, np.array([2, 1]), pa.table({"n": [1, 2, None], "s": ["x", None, "y"]}))


def test_keyed_rows_and_commits_keep_keys_counts_rows_and_changes() -> None:
    rows = keyed_rows()
    again = unpack(pack(rows))
    assert (again.keys, again.counts.tolist(), again.rows) == (rows.keys, rows.counts.tolist(), rows.rows)
    commits = unpack(pack(KeyedCommits(rows, {(3, "a"): (5, 6), (3, "b"): ()})))
    assert commits.membership_changes == {(3, "a"): (5, 6), (3, "b"): ()}
    assert commits.commits.keys == rows.keys
    nothing = unpack(pack(KeyedRows([], np.array([], np.int64), rows.rows.slice(0, 0))))
    assert (nothing.keys, nothing.counts.tolist(), nothing.rows.num_rows) == ([], [], 0)


@pytest.mark.parametrize("value", [None, 3, "ü \udcff", [1, {"a": [None]}], (1, "a"), (), Note([1, "a"])])
def test_plain_values_and_notes_are_themselves(value: Any) -> None:
    assert unpack(pack(value)) == value


def test_bytes_that_are_damaged_anywhere_or_cut_off_are_refused() -> None:
    packed = pack(newest(pieces()[:2]))
    for place in range(0, len(packed), 7):
        damaged = bytearray(packed)
        damaged[place] ^= 0x10
        with pytest.raises(DamagedPartError, match=r"a part of a log is damaged|not part of a log"):
            unpack(bytes(damaged))
    for size in (0, 3, 8, 100, len(packed) - 1):
        with pytest.raises(DamagedPartError):
            unpack(packed[:size])


def test_another_version_another_kind_and_other_columns_are_refused_by_name() -> None:
    with pytest.raises(DamagedPartError, match=r"that this kgroup does not know: newest 99$"):
        unpack(packed_contents("newest", 99, {}))
    with pytest.raises(DamagedPartError, match=r"that this kgroup does not know: oldest 1$"):
        unpack(packed_contents("oldest", 1, {}))
    with pytest.raises(DamagedPartError, match=r"has other tables than newest 1$"):
        unpack(packed_contents("newest", 1, {}))
    other = replace(newest([]), pending=pa.table({"n": [1]}))
    with pytest.raises(DamagedPartError, match=r"has other columns in pending than newest 1$"):
        unpack(pack(other))


def test_a_history_has_records_of_groups_and_nothing_else() -> None:
    record = PackedRecord(7, 1, 2, None, None, b"\0\2\0\1g", None)
    history = read_history([])
    assert unpack(pack(replace(history, rounds={(7, "g"): (record,)}))).rounds == {(7, "g"): (record,)}
    for key in (b"", b"\0\x63"):
        with pytest.raises(DamagedPartError, match=r"has rounds of no group$"):
            unpack(pack(replace(history, rounds={(7, "g"): (replace(record, key=key),)})))
    undecodable = Undecodable(key=record.key, value=b"", key_version=2, value_version=None, why="cut")
    marker = TransactionMarker(producer_id=7, producer_epoch=3, committed=True, coordinator_epoch=9)
    for entry in (undecodable, marker):
        with pytest.raises(DamagedPartError, match=r"has rounds of no group$"):
            list(packed_of(entries_table([replace(record.logged(), entry=entry)])))


def test_a_pickle_is_no_part() -> None:
    code = b"\x80\x04cposix\nsystem\n"
    with pytest.raises(DamagedPartError, match=r"^the bytes are not part of a log$"):
        unpack(code)
    framed = b"KGP1" + crc32(b"").to_bytes(4, "little") + code
    with pytest.raises(DamagedPartError, match="checksum"):
        unpack(framed)
