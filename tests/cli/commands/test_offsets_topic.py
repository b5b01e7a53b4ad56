"""`kgroup offsets-topic`, as it is called: rows in every form, whose bytes are those of the files."""

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

FIXTURES = Path(__file__).parents[3] / "fixtures"
LIVES = FIXTURES / "4.3.1" / "lives"
COMPACTED = FIXTURES / "3.9.1" / "compacted"
WAYS = ("group", "client", "kind", "partition", "segment")


def rows_of(ended):
    assert ended.status == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def stored(folder):
    return sum(path.stat().st_size for path in folder.glob("__consumer_offsets-*/*.log"))


@pytest.mark.parametrize("folder", [LIVES, COMPACTED], ids=["lives", "compacted"])
@pytest.mark.parametrize("by", WAYS)
def test_bytes_of_all_rows_are_those_of_the_files_whatever_they_are_put_together_by(kgroup, folder, by):
    rows = rows_of(kgroup("offsets-topic", str(folder), "--by", by, "-o", "jsonl", "-q"))
    assert sum(row["bytes"] for row in rows) == stored(folder)
    assert sum(row["share"] for row in rows) == pytest.approx(1)


def test_records_by_kind_are_those_of_decode(kgroup):
    items = rows_of(kgroup("decode", str(COMPACTED), "-o", "jsonl", "-q"))
    decoded = [each for each in items if each["kind"] != "empty-batch"]
    rows = rows_of(kgroup("offsets-topic", str(COMPACTED), "--by", "kind", "-o", "jsonl", "-q"))
    assert sum(row["records"] for row in rows) == len(decoded)
    tombstones = sum(row["records"] for row in rows if row["kind"] == "tombstone")
    assert tombstones == sum("key" in each and each.get("value", 0) is None for each in decoded)


def test_segments_are_named_and_have_their_sizes_and_times(kgroup):
    rows = rows_of(kgroup("offsets-topic", str(COMPACTED), "--by", "segment", "-o", "jsonl", "-q"))
    there = {
        (int(path.parent.name.rpartition("-")[2]), path.name): path.stat().st_size
        for path in COMPACTED.glob("__consumer_offsets-*/*.log")
    }
    assert {(row["offsets_partition"], row["segment"]): row["bytes"] for row in rows} == there
    assert all(row["first_time"] <= row["last_time"] for row in rows if row["first_time"] is not None)


def test_groups_are_sorted_by_size_with_their_clients(kgroup):
    rows = rows_of(kgroup("offsets-topic", str(LIVES), "-o", "jsonl", "-q"))
    sizes = [row["bytes"] for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    clients = {row["group"]: row["clients"] for row in rows}
    assert clients["trades-848"] == ["kip-1", "kip-2", "kip-3", "kip-victim"]
    assert clients["kafka-python-app"]


def test_a_group_can_be_asked_for_alone_and_its_share_is_that_of_all(kgroup):
    (row,) = rows_of(kgroup("offsets-topic", str(LIVES), "--group", "orders-app", "-o", "jsonl", "-q"))
    assert row["share"] == pytest.approx(row["bytes"] / stored(LIVES))


def test_what_stays_is_said_with_the_group_that_writes_most(kgroup):
    ended = kgroup("offsets-topic", str(COMPACTED), "--now", "2026-11-20T12:00Z")
    assert ended.err.startswith("kgroup: 37.1 kB in 7 segments of 3 partitions, 377 records: a cleaning now")
    # busy-a writes most there, and for less than a minute.
    assert "writes" not in ended.err
    most = kgroup("offsets-topic", str(FIXTURES / "2.4.1" / "ibp-2.1"))
    assert "\nkgroup: brief writes 81% of the bytes" in most.err
    assert kgroup("offsets-topic", str(COMPACTED), "-q").err == ""


def test_damage_is_a_row_and_a_line_and_strict_fails_for_it(kgroup):
    path = FIXTURES / "damaged" / "noise-inside"
    ended = kgroup("offsets-topic", str(path), "--strict", "-o", "jsonl", "-q")
    assert ended.status == 3
    assert "137 bytes left out" in ended.err
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert {row["kind"]: row["bytes"] for row in rows if row["kind"]} == {"damage": 137}


def test_the_other_formats_have_the_same_rows(kgroup, tmp_path):
    rows = rows_of(kgroup("offsets-topic", str(LIVES), "-o", "jsonl", "-q"))
    table = list(csv.DictReader(io.StringIO(kgroup("offsets-topic", str(LIVES), "-o", "csv", "-q").out)))
    assert [int(row["bytes"]) for row in table] == [row["bytes"] for row in rows]
    file = tmp_path / "filled.parquet"
    assert kgroup("offsets-topic", str(LIVES), "-o", "parquet", "--output", str(file), "-q").status == 0
    assert pq.read_table(file).column("bytes").to_pylist() == [row["bytes"] for row in rows]
