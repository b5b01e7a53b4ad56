import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

FIXTURES = Path(__file__).parents[3] / "fixtures"
LIVES = str(FIXTURES / "3.9.1" / "lives")
RESET = (LIVES, "--group", "reports-reset")


def rows_of(ended):
    assert ended.status == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


@pytest.mark.parametrize("version", ["2.4.1", "3.9.1", "4.3.1"])
def test_what_an_admin_set_back_is_read_again_as_the_diary_tells(kgroup, version):
    """The driver set all partitions to 0, from an offset that it wrote down."""
    lives = FIXTURES / version / "lives"
    story = json.loads((lives / "story.json").read_text(encoding="utf-8"))
    (rewind,) = (
        truth
        for truth in story["truth"]
        if (truth["group"], truth["condition"]) == ("reports-reset", "rewind-by-admin")
    )
    before = dict(each.split("=") for each in rewind["before"].split())
    certain = rows_of(
        kgroup("ledger", str(lives), "--group", "reports-reset", "--certain", "-q", "-o", "jsonl")
    )
    assert {f"{row['topic']}-{row['partition']}": str(row["to_offset"]) for row in certain} == before
    assert {row["cause"] for row in certain} == {"admin-reset"}


def test_only_groups_that_were_set_back_are_said_to_have_read_twice_for_certain(kgroup):
    rows = rows_of(kgroup("ledger", LIVES, "--group", "*", "--certain", "-q", "-o", "jsonl"))
    assert {row["group"] for row in rows} == {"reports-reset"}


def test_the_sum_is_said_and_can_be_left_out(kgroup):
    ended = kgroup("ledger", *RESET, "--certain")
    assert ended.err == "kgroup: group reports-reset: skipped 0, doubled 372 offsets, in 4 ranges\n"
    assert kgroup("ledger", *RESET, "--certain", "-q").err == ""


def test_sums_by_minute_and_by_owner_are_those_of_the_rows(kgroup):
    rows = rows_of(kgroup("ledger", *RESET, "-q", "-o", "jsonl"))
    for by in ("minute", "owner"):
        sums = rows_of(kgroup("ledger", *RESET, "-q", "-o", "jsonl", "--by", by))
        assert sum(each["doubled_at_least"] for each in sums) == sum(row["at_least"] for row in rows)
        assert sum(each["doubled_at_most"] for each in sums) == sum(row["at_most"] for row in rows)
        assert sum(each["ranges"] for each in sums) == len(rows)
        assert all(each[by] is not None for each in sums)


def test_topic_and_time_narrow_it(kgroup):
    options = ("-q", "-o", "jsonl")
    everything = rows_of(kgroup("ledger", LIVES, "--group", "orders-app", *options))
    of_topic = rows_of(kgroup("ledger", LIVES, "--group", "orders-app", "--topic", "pay*", *options))
    assert of_topic == [row for row in everything if row["topic"] == "payments"] != []
    from_time, to_time = "2026-11-20T12:43Z", "2026-11-20T12:43:30Z"
    timed = rows_of(
        kgroup("ledger", LIVES, "--group", "orders-app", "--from", from_time, "--to", to_time, *options)
    )
    assert timed == [row for row in everything if 1_795_178_580_000 <= row["time"] < 1_795_178_610_000] != []


def test_every_format_has_the_same_rows(kgroup, tmp_path):
    rows = rows_of(kgroup("ledger", *RESET, "-q", "-o", "jsonl"))
    assert json.loads(kgroup("ledger", *RESET, "-q", "-o", "json").out) == rows
    in_csv = list(csv.DictReader(io.StringIO(kgroup("ledger", *RESET, "-q", "-o", "csv").out)))
    assert [row["from_offset"] for row in in_csv] == [str(row["from_offset"]) for row in rows]
    path = tmp_path / "ledger.parquet"
    assert kgroup("ledger", *RESET, "-q", "-o", "parquet", "--output", str(path)).status == 0
    table = pq.read_table(path)
    assert table["at_most"].to_pylist() == [row["at_most"] for row in rows]
    assert table["evidence"].to_pylist() == [row["evidence"] for row in rows]


def test_each_row_names_the_records_that_show_it(kgroup):
    (row, *_) = rows_of(kgroup("ledger", *RESET, "--certain", "-q", "-o", "jsonl"))
    partition = str(row["offsets_partition"])
    decoded = rows_of(kgroup("decode", LIVES, "--partition", partition, "-q", "-o", "jsonl"))
    types = [each["type"] for each in decoded if each["offset"] in row["records"]]
    assert types == ["OFFSET_COMMIT", "GROUP_METADATA", "OFFSET_COMMIT"]


def test_damage_is_said_and_strict_makes_a_status_of_it(kgroup):
    damaged = str(FIXTURES / "damaged")
    assert kgroup("ledger", damaged, "--group", "*", "-q").status == 0
    ended = kgroup("ledger", damaged, "--group", "*", "-q", "--strict")
    assert ended.status == 3
    assert "kgroup: " in ended.err
