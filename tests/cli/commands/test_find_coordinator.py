import csv
import json
from pathlib import Path

import pytest

from kgroup.api.coordinators import LiveCoordinator, by_broker, by_partition

DAMAGED = Path(__file__).parents[3] / "fixtures/damaged"


def json_of(ended):
    assert ended.status == 0, ended.err
    return json.loads(ended.out)


def test_the_worked_example_test_group_lives_on_partition_12_of_50(kgroup):
    assert json_of(kgroup("find-coordinator", "test-group", "-o", "json")) == [
        {"group": "test-group", "partition": 12, "partitions": 50, "hash": 627841412}
    ]


def test_the_table(kgroup):
    assert kgroup("find-coordinator", "test-group", "a").out == (
        "GROUP       PARTITION  PARTITIONS       HASH\n"
        "test-group         12          50  627841412\n"
        "a                  47          50         97\n"
    )


def test_groups_are_listed_once_in_the_order_given(kgroup):
    rows = json_of(kgroup("find-coordinator", "b", "a", "-", "b", "-o", "json", stdin=b"c\na\n"))
    assert [row["group"] for row in rows] == ["b", "a", "c"]


def test_standard_input_holds_one_group_a_line_with_any_line_ends_and_blanks_that_belong_to_it(kgroup):
    ended = kgroup("find-coordinator", "-", "-o", "json", stdin=b" padded \r\n\nplain\nlast")
    assert [row["group"] for row in json_of(ended)] == [" padded ", "plain", "last"]


def test_bytes_that_are_no_utf_8_are_refused_with_their_place(kgroup):
    ended = kgroup("find-coordinator", "-", stdin=b"good\nb\xffd\n")
    assert ended.status == 2
    assert ended.err == "kgroup: standard input, line 2: a group id is UTF-8, and byte 1 of this one is not\n"


def test_reverse_lists_those_of_the_groups_that_live_on_a_partition(kgroup):
    rows = json_of(kgroup("find-coordinator", "--reverse", "12", "my-group", "a", "test-group", "-o", "json"))
    assert [row["group"] for row in rows] == ["my-group", "test-group"]


def test_reverse_of_a_partition_that_holds_none_is_an_empty_answer(kgroup):
    ended = kgroup("find-coordinator", "--reverse", "3", "test-group", "-o", "json")
    assert json_of(ended) == []
    assert ended.err == "kgroup: none of these groups lives on partition 3\n"
    assert kgroup("find-coordinator", "--reverse", "3", "test-group", "-q").err == ""


def test_reverse_of_a_partition_that_is_not_there_is_refused(kgroup):
    ended = kgroup("find-coordinator", "--reverse", "50", "test-group")
    assert ended.status == 2
    assert "partitions 0 to 49" in ended.err


def test_no_group_at_all_is_a_usage_error(kgroup):
    assert kgroup("find-coordinator").status == 2


@pytest.mark.parametrize("count", ["0", "-1", "many"])
def test_a_partition_count_that_makes_no_sense_is_refused(kgroup, count):
    ended = kgroup("find-coordinator", "g", "--partitions", count)
    assert ended.status == 2
    assert "--partitions" in ended.err


def test_redpanda_has_a_rule_and_a_default_of_its_own(kgroup):
    (row,) = json_of(kgroup("find-coordinator", "test-group", "--rule", "redpanda", "-o", "json"))
    assert row == {"group": "test-group", "partition": 8, "partitions": 16, "hash": None}


def test_csv_quotes_what_needs_it(kgroup):
    ended = kgroup("find-coordinator", 'odd, "group"', "-o", "csv")
    assert next(csv.DictReader(ended.out.splitlines()))["group"] == 'odd, "group"'


@pytest.mark.parametrize("version", ["0.10.1.1", "1.1.1", "2.4.1", "3.9.1", "4.3.1"])
def test_every_group_of_a_real_broker_stands_where_the_rule_says(kgroup, version):
    rows = json_of(kgroup("find-coordinator", "--from", f"fixtures/{version}/lives", "-o", "json"))
    assert len(rows) >= 10
    assert [row for row in rows if row["found_in"] != row["partition"]] == []


def test_groups_from_logs_are_sorted_behind_those_named_and_say_where_they_were_found(kgroup):
    rows = json_of(kgroup("find-coordinator", "nobody", "--from", "fixtures/4.3.1/lives", "-o", "json"))
    assert (rows[0]["group"], rows[0]["found_in"]) == ("nobody", None)
    assert [row["group"] for row in rows[1:]] == sorted(row["group"] for row in rows[1:])


def test_a_path_without_an_offsets_topic_is_named(kgroup, tmp_path):
    ended = kgroup("find-coordinator", "--from", str(tmp_path))
    assert ended.status == 1
    assert str(tmp_path) in ended.err


def test_damage_in_a_log_is_told_and_the_rest_is_read(kgroup):
    case = json.loads((DAMAGED / "cases.json").read_text())["bit-flip-in-records"]
    ended = kgroup("find-coordinator", "--from", str(DAMAGED / case["file"]), "-o", "json")
    assert json_of(ended)
    assert f": byte {case['damage_at']}: " in ended.err
    strict = kgroup("find-coordinator", "--from", str(DAMAGED / case["file"]), "-q", "--strict", "-o", "json")
    assert (strict.status, strict.out) == (3, ended.out)
    assert strict.err == f"{ended.err}kgroup: damaged or undecodable places: 1\n"


def test_groups_are_put_together_by_partition(kgroup):
    groups = [f"group-{number}" for number in range(40)]
    rows = [json.loads(line) for line in kgroup("find-coordinator", *groups, "-o", "jsonl").out.splitlines()]
    ended = kgroup("find-coordinator", *groups, "--partitions", "50", "--by", "partition", "-o", "jsonl")
    grouped = [json.loads(line) for line in ended.out.splitlines()]
    assert {(row["partition"], name) for row in grouped for name in row["groups"]} == {
        (row["partition"], row["group"]) for row in rows
    }
    assert [row["partition"] for row in grouped] == sorted({row["partition"] for row in rows})
    assert all(row["count"] == len(row["groups"]) for row in grouped)


def test_groups_are_put_together_by_broker():
    def coordinated(group, partition, broker, leader):
        return LiveCoordinator(
            group=group,
            partition=partition,
            partitions=50,
            broker=broker,
            host=None if broker is None else f"kafka-{broker}",
            port=None if broker is None else 9092,
            rack=None,
            leader=leader,
            rule_agrees=None if broker is None else broker == leader,
            error=None if broker is not None else "COORDINATOR_NOT_AVAILABLE",
        )

    asked = [
        coordinated("c", 7, 2, 2),
        coordinated("a", 9, 1, 1),
        coordinated("b", 9, 1, 1),
        coordinated("d", 3, None, None),
    ]
    assert [(each.broker, each.partitions, each.groups) for each in by_broker(asked)] == [
        (None, (3,), ("d",)),
        (1, (9,), ("a", "b")),
        (2, (7,), ("c",)),
    ]
    assert [(each.partition, each.broker, each.groups) for each in by_partition(asked)] == [
        (3, None, ("d",)),
        (7, 2, ("c",)),
        (9, 1, ("a", "b")),
    ]
