"""`kgroup assign`, as a user calls it."""

import csv
import io
import json
from pathlib import Path

import pytest

from kgroup.report.assignments import runs

FIXTURES = Path(__file__).parents[3] / "fixtures"

GROUP = """
topics:
  orders: 6
  payments: {partitions: 2, id: J1XDR5yUTZCgO1FYr6iBSw, racks: [[a, b], [b, c]]}
members:
  c1: [orders, payments]
  c2: {topics: [orders], owned: {orders: [0, 1]}, instance: i2, rack: a, generation: 6}
generation: 7
"""


def rows(ended):
    assert ended.status == 0, ended.err
    return json.loads(ended.out)


def by_member(ended):
    return {row["member_id"]: row["partitions"] for row in rows(ended)}


def ask(kgroup, *arguments, **options):
    return kgroup("assign", *arguments, "-o", "json", **options)


def test_range_is_what_kafka_does_unless_told_otherwise(kgroup):
    ended = ask(kgroup, "--members", "C0,C1", "--topic", "t0:3", "--topic", "t1:3")
    assert by_member(ended) == {"C0": {"t0": [0, 1], "t1": [0, 1]}, "C1": {"t0": [2], "t1": [2]}}


def test_the_table_of_members_and_runs(kgroup):
    assert kgroup("assign", "--members", "c1,c2", "--topic", "orders:5", "--assignor", "sticky").out == (
        "round 1, sticky, start: each 2-3\n"
        "MEMBER  COUNT  CHANGE  PARTITIONS\n"
        "c1          3  -       orders:0,2,4\n"
        "c2          2  -       orders:1,3\n"
    )


def test_rounds_follow_one_another_and_a_cooperative_one_has_two_phases(kgroup):
    played = rows(
        ask(
            kgroup,
            *("--members", "c1,c2", "--topic", "orders:4", "--assignor", "cooperative-sticky"),
            *("--then", "join c3", "--then", "leave c1"),
        )
    )
    seen = {row["round"]: (row["what"], row["follow_up"]) for row in played}
    assert seen == {1: ("start", False), 2: ("join c3", False), 3: ("join c3", True), 4: ("leave c1", False)}
    newcomer = [(row["round"], row["count"]) for row in played if row["member_id"] == "c3"]
    assert newcomer == [(2, 0), (3, 1), (4, 2)]


def test_a_topic_that_grows(kgroup):
    played = rows(ask(kgroup, "--members", "c1", "--topic", "orders:2", "--then", "grow orders:4"))
    assert [row["partitions"] for row in played] == [{"orders": [0, 1]}, {"orders": [0, 1, 2, 3]}]


def test_the_answers_of_an_older_kafka_beside_those_of_today(kgroup):
    call = ["--input", "-", "--assignor", "sticky", "--assignor", "sticky@2.4"]
    group = b"{topics: {t0: 3}, members: {A: [], B: [t0]}}"
    today, older = rows(ask(kgroup, *call, stdin=group))
    assert today["assignment"] == {"A": {"t0": [0, 2]}, "B": {"t0": [1]}}
    assert today["flaws"] == ["not-subscribed"]
    assert older["assignment"] == {"A": {}, "B": {"t0": [0, 1, 2]}}
    alone = ask(kgroup, "--input", "-", "--assignor", "sticky", "--kafka-version", "2.4", stdin=group)
    assert by_member(alone) == older["assignment"]


def test_many_members_by_their_number(kgroup):
    members = by_member(ask(kgroup, "--members", "12", "--topic", "t:12"))
    assert members.keys() == {f"c{number}" for number in range(1, 13)}


def test_compare_has_every_assignor_with_its_scores(kgroup):
    compared = rows(
        ask(kgroup, "--members", "c1,c2,c3", "--topic", "orders:6", "--compare", "--then", "leave c1")
    )
    assert {row["assignor"] for row in compared} == {
        "range",
        "roundrobin",
        "sticky",
        "cooperative-sticky",
        "uniform",
        "server-range",
        "simple",
    }
    after = {row["assignor"]: row for row in compared if row["what"] == "leave c1"}
    assert (after["range"]["moved"], after["sticky"]["moved"]) == (3, 2)
    assert (after["sticky"]["paused"], after["cooperative-sticky"]["paused"]) == (4, 0)
    assert after["roundrobin"]["assignment"] == {"c2": {"orders": [0, 2, 4]}, "c3": {"orders": [1, 3, 5]}}


def test_compare_as_a_table_shows_partitions_side_by_side(kgroup):
    out = kgroup(
        "assign", "--members", "a,b", "--topic", "t:4", "--assignor", "range", "--assignor", "sticky"
    ).out
    assert out == (
        "start:\n"
        "ASSIGNOR  EACH  KEPT  MOVED  PAUSED  UNASSIGNED  NEAR  NOTES\n"
        "range     2        -      -       -           0  -     -\n"
        "sticky    2        -      -       -           0  -     -\n"
        "\n"
        "MEMBER  RANGE  STICKY\n"
        "a       0-1    0,2\n"
        "b       2-3    1,3\n"
    )


def test_a_group_from_yaml_with_owned_partitions_racks_and_an_instance_id(kgroup):
    ended = ask(kgroup, "--input", "-", "--assignor", "sticky", stdin=GROUP.encode())
    c1, c2 = rows(ended)
    assert c1["partitions"] == {"orders": [4, 5], "payments": [0, 1]}
    assert (c2["partitions"], c2["group_instance_id"], c2["gained"]) == ({"orders": [0, 1, 2, 3]}, "i2", 2)


def test_the_same_group_from_a_json_file(kgroup, tmp_path):
    import yaml

    file = tmp_path / "group.json"
    file.write_text(json.dumps(yaml.safe_load(GROUP)), encoding="utf-8")
    from_json = ask(kgroup, "--input", str(file), "--assignor", "uniform")
    assert from_json == ask(kgroup, "--input", "-", "--assignor", "uniform", stdin=GROUP.encode())


@pytest.mark.parametrize("version", ["2.4.1", "3.9.1", "4.3.1"])
@pytest.mark.parametrize("group", ["assign-range", "assign-roundrobin", "assign-sticky"])
def test_an_unchanged_group_of_a_real_log_would_get_what_its_brokers_say_it_has(kgroup, version, group):
    capture = FIXTURES / version / "lives"
    described = json.loads((capture / "groups.json").read_text(encoding="utf-8"))
    ended = ask(kgroup, str(capture), "--group", group)
    assert {row["assignor"] for row in rows(ended)} == {group.removeprefix("assign-")}
    recorded = {
        member["consumerId"]: {assigned["topic"]: assigned["partitions"] for assigned in member["assignment"]}
        for member in described["groups"][group]["described"]["members"]
    }
    answered = {
        member_id: {topic: sorted(numbers) for topic, numbers in partitions.items()}
        for member_id, partitions in by_member(ended).items()
    }
    assert answered == recorded != {}


@pytest.mark.parametrize(
    ("group", "assignor"), [("trades-848", "uniform"), ("regex-848", "uniform"), ("share-queue", "simple")]
)
def test_groups_whose_coordinator_assigns_are_found_with_their_targets(kgroup, group, assignor):
    members = rows(ask(kgroup, str(FIXTURES / "4.3.1" / "lives"), "--group", group))
    assert {row["assignor"] for row in members} == {assignor}
    assert [(row["gained"], row["lost"]) for row in members] == [(0, 0)] * len(members)


def test_a_recorded_group_comes_from_paths_and_standard_input_as_in_the_other_commands(kgroup):
    folder = FIXTURES / "4.3.1" / "lives" / "__consumer_offsets-5"
    log = (folder / "00000000000000000000.log").read_bytes()
    counts = ("--topic", "orders:4", "--topic", "payments:3")
    from_path = ask(kgroup, str(folder), "--group", "orders-app", *counts)
    assert len(rows(from_path)) == 2
    assert ask(kgroup, "-", "--group", "orders-app", *counts, stdin=log) == from_path
    assert ask(kgroup, "--log-dir", str(folder), "--group", "orders-app", *counts) == from_path


def test_damage_of_the_log_is_told_even_in_quiet(kgroup):
    damaged = str(FIXTURES / "damaged" / "bit-flip-in-records")
    ended = kgroup(
        "assign", damaged, "--group", "orders-app", "-q", "--topic", "orders:4", "--topic", "payments:3"
    )
    assert ended.status == 0
    assert ": byte 9587: 123 bytes left out: " in ended.err
    missing = kgroup("assign", damaged, "--group", "billing-txn")
    assert "is in this log, but it is damaged: " in missing.err


def test_partition_counts_of_the_flags_win_over_those_beside_the_log(kgroup):
    log = str(FIXTURES / "4.3.1" / "lives")
    members = rows(ask(kgroup, "--log-dir", log, "--group", "billing-txn", "--topic", "orders:9"))
    assert [row["partitions"] for row in members] == [{"orders": list(range(9))}]


def test_csv_and_parquet_have_the_columns_of_json(kgroup, tmp_path):
    from pyarrow import parquet

    call = ("assign", "--members", "a", "--topic", "t:2")
    (in_json,) = json.loads(kgroup(*call, "-o", "json").out)
    (in_csv,) = csv.DictReader(io.StringIO(kgroup(*call, "-o", "csv").out))
    kgroup(*call, "-o", "parquet", "--output", str(tmp_path / "a.parquet"))
    assert list(in_csv) == list(in_json) == parquet.read_schema(tmp_path / "a.parquet").names
    assert in_csv["partitions"] == '{"t": [0, 1]}'


def test_a_table_goes_into_a_file_whole(kgroup, tmp_path):
    file = tmp_path / "table.txt"
    call = ("assign", "--members", "a,b", "--topic", "t:2", "--compare")
    assert kgroup(*call, "--output", str(file)).out == ""
    assert file.read_text(encoding="utf-8") == kgroup(*call).out


FLAWED = b"{topics: {t: 3}, members: {a: {topics: [t], owned: {t: [0, 6]}}, b: {topics: [t]}}}"


def test_a_flawed_answer_is_given_and_said_to_be_one(kgroup):
    ended = kgroup("assign", "--input", "-", "--assignor", "sticky", stdin=FLAWED)
    assert ended.status == 0
    assert "no-such-partition" in ended.err


def test_strict_exits_with_3_for_a_flawed_answer(kgroup):
    ended = kgroup("assign", "--input", "-", "--assignor", "sticky", "--strict", stdin=FLAWED)
    assert ended.status == 3
    assert ended.out


def test_where_kafka_throws_the_message_says_so(kgroup):
    ended = kgroup("assign", "--members", "a", "--topic", "t:1", "--assignor", "sticky", "--then", "leave a")
    assert ended.status == 1
    assert "ArithmeticException: / by zero (the group has no members)" in ended.err


def test_compare_goes_on_where_one_assignor_throws(kgroup):
    compared = rows(ask(kgroup, "--members", "a", "--topic", "t:1", "--compare", "--then", "leave a"))
    failed = {row["assignor"] for row in compared if row["error"]}
    assert failed == {"roundrobin", "sticky", "cooperative-sticky"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--members", "a", "--topic", "t:1", "--assignor", "stiky"], "did you mean sticky?"),
        (["--members", "a", "--topic", "t:1", "--assignor", "zzz"], "there are range, roundrobin"),
        (["--members", "a,a", "--topic", "t:1"], "'a' is given twice"),
        (["--members", "a,", "--topic", "t:1"], "an empty member id"),
        (["--members", "a"], "--topic orders:6"),
        (["--members", "a", "--topic", "t"], "'t' is not TOPIC:PARTITIONS"),
        (["--members", "a", "--topic", "t:-1"], "'t:-1' is not TOPIC:PARTITIONS"),
        (["--members", "a", "--topic", "t:9999999"], "more than 1000000 partitions"),
        (["--members", "9999999", "--topic", "t:1"], "--members 9999999: 1 to 100000"),
        (["--members", "a", "--topic", "t:1", "--topic", "t:2"], "given twice"),
        (["--members", "a", "--topic", "t:1", "--kafka-version", "1.0"], "Kafka 1.0"),
        ([], "give the group one way"),
        (["--members", "a", "--topic", "t:1", "--input", "x"], "not --members and --input"),
        (["--members", "a", "--topic", "t:1", "--group", "g"], "--group"),
        (
            ["--members", "a", "--topic", "t:1", "--then", "leave b"],
            "--then 'leave b': there is no member 'b'",
        ),
        (["--members", "a", "--topic", "t:1", "--then", "join a"], "member 'a' is in the group already"),
        (
            ["--members", "a", "--topic", "t:1", "--then", "join b topics=x"],
            "member 'b', topics: there is no topic 'x'",
        ),
        (["--members", "a", "--topic", "t:1", "--then", "join b colour=x"], "'colour=x' is not topics="),
        (["--members", "a", "--topic", "t:3", "--then", "grow t:2"], "has 3 partitions, and never loses any"),
        (["--members", "a", "--topic", "t:1", "--then", ""], "a step is 'join ID'"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_with_its_reason(kgroup, arguments, said):
    ended = kgroup("assign", *arguments)
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("topics: {a: -1}\nmembers: {}", "topics.a: should be a number from 0 to 1000000, and is -1"),
        ("topics: {a: 1}\nmembers: {c: {topics: [b]}}", "members.c.topics: there is no topic 'b'"),
        (
            "topics: {a: 2}\nmembers: {c: {topics: [a], owned: {a: [x]}}}",
            "members.c.owned.a: should be a number",
        ),
        (
            "topics: {a: 2}\nmembers: {c: {topics: [a], owned: {a: [1, 1]}}}",
            "members.c.owned: a partition appears twice",
        ),
        (
            "topics: {a: 2}\nmembers: {c: {topics: [a], colour: red}}",
            "members.c: 'colour' is not one of its fields",
        ),
        ("topics: {a: 2}\nmembers: {c: {topics: a}}", "members.c.topics: should be a list"),
        ("topics: {a: 2}\nmembers: {c: {}}", "members.c.topics: missing"),
        ("topics: {a: 2}\nmembers: {c: {topics: [a], rack: [x]}}", "members.c.rack: should be text"),
        (
            "topics: {a: 2}\nmembers: {c: {topics: [a], generation: true}}",
            "members.c.generation: should be a number",
        ),
        ("topics: {a: {partitions: 2, racks: [[x]]}}\nmembers: {}", "topics.a.racks: 1 lists of racks for 2"),
        (
            "topics: {a: {partitions: 2, id: nonsense}}\nmembers: {}",
            "topics.a.id: 'nonsense' is not a topic id",
        ),
        ('{"topics": {"a": 1}, "members": {"c": [], "c": []}}', "'c' stands there twice"),
        ("topics: {a: 1, a: 2}\nmembers: {}", "'a' stands there twice"),
        ("topics: {a: &x 1, b: *x}\nmembers: {}", "references (*name) are not read"),
        ("topics: {a: 1}", "members: missing"),
        ("[1, 2]", "should have fields topics, members"),
        ("", "should have fields topics, members"),
        ("{", "Expecting property name"),
        ("[" * 5000, "nested too deeply"),
        ('{"topics":' * 20000, "nested too deeply"),
        ("\x00", "special characters are not allowed"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_member_and_field(kgroup, document, said):
    ended = kgroup("assign", "--input", "-", stdin=document.encode())
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("kgroup: standard input: ")
    assert ended.err.count("\n") == 1
    assert said in ended.err


def test_a_file_that_is_not_utf_8_or_not_there(kgroup):
    assert "byte 0 is not UTF-8" in kgroup("assign", "--input", "-", stdin=b"\xff").err
    ended = kgroup("assign", "--input", "/no/such/file")
    assert (ended.status, ended.err) == (1, "kgroup: /no/such/file: No such file or directory\n")


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("no-such-group", "no group 'no-such-group' with members is in this log"),
        ("orders-*", "no group 'orders-*' with members is in this log; it takes one name, and no pattern"),
        ("connect-sink", "protocol type 'connect', whose members get no partitions"),
        ("flow-tally-classic", "uses the assignor 'stream'"),
    ],
)
def test_a_group_of_a_log_that_cannot_be_assigned(kgroup, group, said):
    ended = kgroup("assign", str(FIXTURES / "4.3.1" / "lives"), "--group", group)
    assert ended.status in (1, 2)
    assert said in ended.err


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([0, 1, 2, 7], "0-2,7"), ([9, 8, 1], "1,8-9")]
)
def test_runs_of_partitions(numbers, text):
    assert runs(numbers) == text
