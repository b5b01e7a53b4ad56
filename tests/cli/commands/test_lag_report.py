"""`kgroup lag-report` as a user meets it. What its rows say is held to real brokers in tests/compat."""

import csv
import io
import json
import shlex
import shutil

import pyarrow.parquet as pq
import pytest

from kgroup.cli.commands.lag_report import EXAMPLES
from tests.compat.captures import FIXTURES

LIVES = FIXTURES / "4.3.1/lives"
SMALL = FIXTURES / "3.9.1/codec-gzip"
OLD = FIXTURES / "0.10.1.1/lives"


@pytest.fixture
def rows(kgroup):
    """The rows of a report that succeeds."""

    def run(*arguments):
        ended = kgroup("lag-report", *map(str, arguments), "-q", "-o", "json")
        assert (ended.status, ended.err) == (0, "")
        return json.loads(ended.out)

    return run


@pytest.fixture
def segment(tmp_path):
    """A segment of SMALL alone: no log directory, and so no log ends."""
    path = tmp_path / "copy" / "some.log"
    path.parent.mkdir()
    shutil.copy(SMALL / "__consumer_offsets-26/00000000000000000000.log", path)
    return path


def places(rows):
    return [(row["group"], row["topic"], row["partition"]) for row in rows]


def test_the_table(kgroup):
    assert kgroup("lag-report", str(SMALL), "--group", "brief-*").out == (
        "GROUP            TOPIC       PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CLIENT-ID  NOTES\n"
        "brief-retention  orders              0             101              75  -26  -          "
        "no-members,beyond-log-end\n"
        "brief-solo       clicks.web          0              25              25    0  -          no-members\n"
        "brief-txn        clicks.web          0               -              25    -  btxn       "
        "never-committed\n"
        "brief-txn        clicks.web          1               -              25    -  btxn       "
        "never-committed\n"
        "brief-txn        orders              0               5              75   70  -          no-owner\n"
    )


def test_a_row_in_json(rows):
    (row,) = rows(LIVES, "--group", "static-848", "--topic", "inventory_stock")[:1]
    assert row == {
        "group": "static-848",
        "topic": "inventory_stock",
        "partition": 0,
        "current_offset": 66,
        "log_end_offset": 67,
        "lag": 1,
        "log_start_offset": None,
        "leader_epoch": 0,
        "metadata": "",
        "commit_timestamp": row["commit_timestamp"],
        "member_id": "zPZu-aSKSYyCX99E5SuDeQ",
        "group_instance_id": "slot-a",
        "host": "/127.0.0.1",
        "client_id": "ks-a2",
        "group_kind": "consumer",
        "group_state": "Stable",
        "topic_id": json.loads((LIVES / "topics.json").read_text())["topics"]["inventory_stock"]["topicId"],
        "topic_state": "exists",
        "log_end_source": "checkpoint",
        "notes": [],
    }


def test_every_format_has_the_same_rows(kgroup, rows, tmp_path):
    expected = rows(SMALL)
    lines = kgroup("lag-report", str(SMALL), "-q", "-o", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == expected
    written = list(csv.DictReader(io.StringIO(kgroup("lag-report", str(SMALL), "-q", "-o", "csv").out)))
    assert [(row["group"], row["lag"]) for row in written] == [
        (row["group"], "" if row["lag"] is None else str(row["lag"])) for row in expected
    ]
    path = tmp_path / "lag.parquet"
    kgroup("lag-report", str(SMALL), "-q", "-o", "parquet", "--output", str(path))
    kept = pq.read_table(path).to_pylist()
    assert [(*partition, row["lag"]) for partition, row in zip(places(kept), kept, strict=True)] == [
        (*partition, row["lag"]) for partition, row in zip(places(expected), expected, strict=True)
    ]
    assert all(list(row) == list(expected[0]) for row in [*expected, *written, *kept])


def test_groups_and_topics_are_chosen_by_patterns(rows):
    chosen = rows(
        LIVES, "--group", "assign-*", "--group", "nightly-idle", "--topic", "pay*", "--topic", "audit"
    )
    assert set(places(chosen)) == {
        *(
            (group, "payments", partition)
            for group in ("assign-cooperative", "assign-range", "assign-roundrobin", "assign-sticky")
            for partition in (0, 1, 2)
        ),
        ("nightly-idle", "audit", 0),
    }


def test_only_lagging_leaves_out_what_is_caught_up_or_unknown(rows):
    everything, lagging = rows(SMALL), rows(SMALL, "--only-lagging")
    assert lagging == [row for row in everything if row["lag"] is not None and row["lag"] > 0]
    assert {row["lag"] for row in everything} - {row["lag"] for row in lagging} == {None, 0, -26}


def test_a_group_that_is_not_there_is_said(kgroup):
    ended = kgroup("lag-report", str(SMALL), "--group", "nosuch")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == "kgroup: no group here matches nosuch; kgroup groups lists all\n"


def test_of_several_names_the_misspelt_ones_are_said_and_the_others_shown(kgroup):
    lives = str(FIXTURES / "4.3.1" / "lives")
    options = ("--group", "order-app", "--group", "orders-app", "--topic", "orders", "--topic", "pay")
    ended = kgroup("lag-report", lives, *options, "-q", "-o", "jsonl")
    shown = [json.loads(line) for line in ended.out.splitlines()]
    assert (ended.status, {(row["group"], row["topic"]) for row in shown}) == (0, {("orders-app", "orders")})
    assert ended.err == (
        "kgroup: no group here matches order-app; did you mean orders-app?\n"
        "kgroup: no topic here matches pay\n"
    )


def test_what_the_user_says_of_log_ends_wins(rows, tmp_path):
    ends = tmp_path / "ends.csv"
    ends.write_text("topic,partition,log_end_offset,log_start_offset\norders,0,500,102\n")
    said = {
        row["group"]: row
        for row in rows(SMALL, "--log-ends", ends, "--topic", "orders")
        if row["partition"] == 0
    }
    retention = said["brief-retention"]
    assert (retention["log_end_offset"], retention["lag"], retention["log_end_source"]) == (500, 399, "file")
    assert retention["notes"] == ["no-members", "below-log-start"]


def test_log_ends_of_a_data_topics_own_folder_are_used(rows):
    assert {row["log_end_source"] for row in rows(LIVES, "--topic", "payments")} == {"segments"}
    assert {row["log_end_source"] for row in rows(LIVES, "--topic", "orders")} == {"checkpoint"}


def test_without_log_ends_the_lag_is_unknown_and_not_0(kgroup, segment):
    ended = kgroup("lag-report", str(segment), "-o", "json")
    report = json.loads(ended.out)
    assert [row["current_offset"] for row in report] == [25]
    assert [(row["log_end_offset"], row["lag"], row["topic_state"]) for row in report] == [
        (None, None, "unknown")
    ]
    assert "kgroup: no log ends found: give a broker's log directory, or --log-ends FILE\n" in ended.err


def test_a_single_segment_and_log_ends_in_a_file_are_enough(rows, segment):
    (row,) = rows(segment, "--log-ends", SMALL / "topics.json")
    assert (row["group"], row["current_offset"], row["log_end_offset"], row["lag"]) == (
        "brief-solo",
        25,
        25,
        0,
    )


def test_a_partition_folder_finds_the_log_ends_beside_it(rows):
    assert places(rows(SMALL / "__consumer_offsets-26")) == [("brief-solo", "clicks.web", 0)]
    assert [row["lag"] for row in rows(SMALL / "__consumer_offsets-26")] == [0]


@pytest.mark.parametrize("given", [(), ("--log-ends", OLD / "topics.json")])
def test_a_deleted_topic_is_shown_as_such(rows, given):
    deleted = rows(OLD, "--topic", "promo-2024", *given)
    assert [(row["group"], row["partition"], row["current_offset"]) for row in deleted] == [
        ("pattern-watcher", 0, 32),
        ("pattern-watcher", 1, 0),
        ("promo-mailer", 0, 16),
        ("promo-mailer", 1, 0),
    ]
    assert {(row["log_end_offset"], row["lag"], row["topic_state"]) for row in deleted} == {
        (None, None, "deleted")
    }
    assert all("topic-deleted" in row["notes"] for row in deleted)


def test_a_recreated_topic_is_shown_as_such(rows, tmp_path):
    topics = json.loads((LIVES / "topics.json").read_text())
    topics["topics"]["orders"]["topicId"] = topics["topics"]["payments"]["topicId"]
    ends = tmp_path / "topics.json"
    ends.write_text(json.dumps(topics))
    recreated = rows(LIVES, "--group", "left-behind", "--log-ends", ends)
    assert [(row["current_offset"], row["lag"], row["topic_state"]) for row in recreated] == [
        (107, None, "recreated"),
        (107, None, "recreated"),
        (108, None, "recreated"),
        (108, None, "recreated"),
    ]
    assert all("topic-recreated" in row["notes"] for row in recreated)


def test_groups_without_rows_are_named_on_standard_error(kgroup):
    said = kgroup("lag-report", str(LIVES)).err.splitlines()
    assert said == [
        "kgroup: group connect-sink (classic, Stable, 1 member): no offsets;"
        " protocol type 'connect': its members' assignments are not partitions",
        "kgroup: group connect-workers (classic, Stable, 1 member): no offsets;"
        " protocol type 'connect': its members' assignments are not partitions",
        "kgroup: group hand-rolled (simple, Empty, 0 members): no offsets",
        "kgroup: group promo-mailer (classic, Empty, 0 members): no offsets",
        "kgroup: group registry-primary (classic, Stable, 1 member): no offsets;"
        " protocol type 'sr': its members' assignments are not partitions",
        "kgroup: group share-queue (share, Stable, 2 members): a share group has no committed offsets and so"
        " no lag; its start offsets and deliveries are in __share_group_state, and"
        " describe shows them",
        "kgroup: group share-queue-left (share, Empty, 0 members): a share group has no committed offsets and"
        " so no lag; its start offsets and deliveries are in __share_group_state, and"
        " describe shows them",
        "kgroup: streams group flow-tally: lag is of source and repartition topics; state that is still to be"
        " restored from changelogs is not in it",
    ]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("bit-flip-in-records", "byte 9587: 123 bytes left out: batch CRC-32C:"),
        ("truncated-mid-batch", "byte 14917: 283 bytes left out:"),
        ("offsets-go-back", "byte 15423: offsets go back:"),
        ("unknown-key-version", "offset 153: unknown record type 99"),
    ],
)
def test_damage_is_named_with_its_place_and_the_rest_comes_out(kgroup, case, said):
    path = f"{FIXTURES}/damaged/{case}"
    ended = kgroup("lag-report", path, "-q", "-o", "json")
    assert ended.status == 0
    assert len(json.loads(ended.out)) >= 12
    assert ended.err.startswith(f"kgroup: {path}/__consumer_offsets-5/00000000000000000000.log: {said}")
    strict = kgroup("lag-report", path, "-q", "-o", "json", "--strict")
    assert strict.status == 3
    assert strict.out == ended.out
    assert strict.err == ended.err + "kgroup: damaged or undecodable places: 1\n"


def test_strict_finds_nothing_in_a_healthy_log(kgroup):
    assert kgroup("lag-report", str(SMALL), "--strict", "-q").status == 0


def test_members_that_nobody_can_read_are_named(kgroup):
    said = kgroup("lag-report", str(OLD), "--group", "hand-rolled-cut").err
    assert "group hand-rolled-cut (classic, Stable, 1 member): no offsets; subscription unreadable:" in said
    assert "assignment unreadable:" in said


def test_logs_of_two_clusters_do_not_make_one_report(kgroup):
    ended = kgroup("lag-report", str(LIVES), str(SMALL))
    assert (ended.status, ended.out) == (1, "")
    assert "different clusters" in ended.err


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "no PATH given"),
        (["-"], 2, "-: not standard input: a report of lag needs files"),
        (["nosuch"], 1, "nosuch: No such file or directory"),
        ([str(FIXTURES / "vectors")], 1, "no segments of __consumer_offsets"),
        ([str(SMALL), "--log-ends", "nosuch"], 1, "nosuch: No such file or directory"),
        (
            [str(SMALL), "--log-ends", str(FIXTURES / "README.md")],
            2,
            "the first line should name the columns",
        ),
        ([str(SMALL), "--spark", "--master", "mars"], 2, "--master 'mars'"),
        ([str(SMALL), "--master", "local[1]"], 2, "--master, --remote, --spark-conf, --ship"),
        ([str(SMALL), "--save-as", "lag"], 2, "--master, --remote, --spark-conf, --ship"),
        ([str(SMALL), "--spark", "--save-as", "lag", "-o", "csv"], 2, "--save-as is instead of --format"),
        ([str(SMALL), "--spark", "--spark-conf", "nonsense"], 2, "--spark-conf 'nonsense'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(kgroup, arguments, status, said):
    ended = kgroup("lag-report", *arguments)
    assert (ended.status, ended.out) == (status, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("example", [example for example in EXAMPLES if " fixtures/" in example.call])
def test_the_examples_of_the_help_work(kgroup, monkeypatch, example):
    monkeypatch.chdir(FIXTURES.parent)
    _, *arguments = shlex.split(example.call)
    ended = kgroup(*arguments)
    assert ended.status == 0
    assert ended.out


def test_a_topic_that_the_groups_asked_for_do_not_read_is_said_to_be_none_of_theirs(kgroup):
    ended = kgroup("lag-report", str(LIVES), "--group", "orders-app", "--topic", "clicks.web")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == "kgroup: no topic of these groups matches clicks.web; leave out --topic to see all\n"
