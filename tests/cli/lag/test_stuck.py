"""`kgroup lag-report --stuck`, `--explain` and `--fail-on` as a user meets them.

What is found is held to the captures' own diaries in tests/vectors/test_stories.py.
"""

import csv
import io
import json
import shutil

import pyarrow.parquet as pq
import pytest

from kgroup.protocol.group_hash import partition_for
from tests.compat.captures import FIXTURES

LIVES = FIXTURES / "2.4.1/lives"
STOPPED = str(json.loads((LIVES / "story.json").read_text())["stoppedMs"])
SMALL = FIXTURES / "3.9.1/codec-gzip"
AT = ("--now", STOPPED, "-q")


@pytest.fixture
def findings(kgroup):
    """The findings of a report that succeeds."""

    def run(*arguments):
        ended = kgroup("lag-report", str(LIVES), "--stuck", *AT, "-o", "json", *arguments)
        assert (ended.status, ended.err) == (0, "")
        return json.loads(ended.out)

    return run


def test_the_table(kgroup):
    groups = [argument for name in ("fraud*", "left*", "search*") for argument in ("--group", name)]
    ended = kgroup("lag-report", str(LIVES), "--stuck", *AT, *groups)
    assert ended.out.splitlines() == [
        "GROUP                FINDING            WHERE                  FOR  EVIDENCE",
        "fraud-one-partition  stalled-partition  orders-1 onepart-1  2m 11s  no commit after offset 80 for"
        " 1m 30s while the log kept growing, before that at least one every 2.6s; 196 unread; other"
        " partitions were committed for 1m 5s more",
        "left-behind          dead-with-lag      orders               2m 7s  no members for 2m 7s; 663"
        " unread on 4 partitions",
        "search-indexer       lag-growing        orders              1m 44s  reads 0.6/s (nothing for 30.7s),"
        " 11.7/s are written; 1,010 unread on 4 partitions",
    ]


def test_a_topic_chooses_what_is_about_it_and_groups_that_read_it(findings):
    assert {(row["group"], row["finding"], row["topic"]) for row in findings("--topic", "clicks.web")} == {
        ("aiokafka-app", "dead-with-lag", "clicks.web"),
        ("kafka-python-app", "dead-with-lag", "clicks.web"),
        ("notes-writer", "rewound", "clicks.web"),
        ("notes-writer", "stopped-group", "clicks.web"),
        ("push-storm", "rebalance-storm", None),
        ("rdkafka-app", "dead-with-lag", None),
    }


def test_what_to_try_stands_below_a_table(kgroup):
    ended = kgroup("lag-report", str(LIVES), "--stuck", *AT[:2], "--group", "left-behind")
    assert ended.err == (
        "kgroup: dead-with-lag: try: Start its consumers, or find out why they left: kgroup replay --group."
        " If it is no longer needed, delete it; otherwise its offsets expire offsets.retention.minutes after"
        " it became empty.\n"
    )


def test_a_finding_in_json(findings):
    (row,) = findings("--group", "fraud-one-partition")
    assert row == {
        "group": "fraud-one-partition",
        "finding": "stalled-partition",
        "topic": "orders",
        "partition": 1,
        "member_id": row["member_id"],
        "client_id": "onepart-1",
        "since": row["since"],
        "grade": "inferred",
        "evidence": "no commit after offset 80 for 1m 30s while the log kept growing, before that at least"
        " one every 2.6s; 196 unread; other partitions were committed for 1m 5s more",
        "numbers": {
            "told_by": "rhythm",
            "committed_offset": 80,
            "lag": 196,
            "last_commit_ms": row["numbers"]["last_commit_ms"],
            "standing_ms": row["numbers"]["standing_ms"],
            "longest_interval_ms": row["numbers"]["longest_interval_ms"],
            "usual_step": 6,
        },
        "severity": "trouble",
        "try_this": row["try_this"],
    }
    assert row["member_id"].startswith("onepart-1-")
    assert row["try_this"].startswith("Look for a record at the committed offset that cannot be processed")


def test_every_format_has_the_same_findings(kgroup, findings, tmp_path):
    expected = findings()
    assert len(expected) > 10
    call = ("lag-report", str(LIVES), "--stuck", *AT)
    assert [json.loads(line) for line in kgroup(*call, "-o", "jsonl").out.splitlines()] == expected
    written = list(csv.DictReader(io.StringIO(kgroup(*call, "-o", "csv").out)))
    path = tmp_path / "found.parquet"
    kgroup(*call, "-o", "parquet", "--output", str(path))
    kept = pq.read_table(path).to_pylist()
    for rows in (written, kept):
        assert [(row["group"], row["finding"], row["evidence"]) for row in rows] == [
            (row["group"], row["finding"], row["evidence"]) for row in expected
        ]
        assert all(list(row) == list(expected[0]) for row in rows)


def test_nothing_to_find_is_said(kgroup):
    ended = kgroup("lag-report", str(SMALL), "--stuck", "--now", "2026-11-20T12:52:48Z")
    assert ended.status == 0
    assert ended.out == "GROUP  FINDING  WHERE  FOR  EVIDENCE\n"
    assert ended.err.endswith("kgroup: nothing found\n")


def test_a_copy_of_a_log_is_judged_as_of_its_end(kgroup):
    ended = kgroup("lag-report", str(SMALL), "--stuck")
    assert ended.out == "GROUP  FINDING  WHERE  FOR  EVIDENCE\n"
    assert "kgroup: judged as of 2026-11-20T12:52:47.317Z, the last write to the log, " in ended.err


def test_a_page_on_one_group(kgroup):
    ended = kgroup("lag-report", str(LIVES), "--explain", "fraud-one-partition", *AT)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "Group fraud-one-partition (classic, protocol range), as of 2026-11-20T12:42:11.028Z",
        "State   Stable since 2026-11-20T12:39:29.606Z, generation 1, 2 members",
        "Lag     210 offsets on 4 partitions",
        "Status  ERR by the rules (3 OK, 1 STOP)",
        "",
        "Members:",
        "  onepart-1 on /127.0.0.1: orders:0,1",
        "  onepart-2 on /127.0.0.1: orders:2,3",
        "",
        "PARTITION  COMMITTED  LOG-END  LAG  MEMBER     STATUS  RULE           NOTES",
        "orders-0         272      276    4  onepart-1  OK      few-unread     -",
        "orders-1          80      276  196  onepart-1  STOP    rhythm-broken  -",
        "orders-2         271      276    5  onepart-2  OK      few-unread     -",
        "orders-3         271      276    5  onepart-2  OK      few-unread     -",
        "",
        "Rules and their numbers (lags and offsets in records, times in epoch ms):",
        '  few-unread {"lag": 4, "advanced": 54, "commits": 10}: orders-0',
        '  rhythm-broken {"last_commit_ms": 1795178392603, "unread_by_ms": 1795178399926,'
        ' "went_on_until_ms":',
        '    1795178490058, "silent_ms": 90132, "limit_ms": 45000, "longest_interval_ms": 2645,'
        ' "usual_step":',
        "    6}: orders-1",
        '  few-unread {"lag": 5, "advanced": 54, "commits": 10}: orders-2, orders-3',
        "",
        "Rebalances, the last 1 of 1:",
        "GEN  TIME                      N  MOVED  GAP  CAUSE",
        "  1  2026-11-20T12:39:29.607Z  2      0    -  first-join onepart-1, onepart-2",
        "  why the last: the group had no members; onepart-1, onepart-2 joined",
        "",
        "Findings:",
        "  stalled-partition (orders-1, onepart-1), inferred",
        "    since    2026-11-20T12:39:59.926Z, 2m 11s ago",
        "    evidence no commit after offset 80 for 1m 30s while the log kept growing, before that at least",
        "             one every 2.6s; 196 unread; other partitions were committed for 1m 5s more",
        "    try      Look for a record at the committed offset that cannot be processed, for a pause()",
        "             without resume(), or for a hanging worker of this partition. To skip one record: stop",
        "             the group, and kafka-consumer-groups --reset-offsets --to-offset.",
        "",
        "Reset now: refused: 2 members (onepart-1, onepart-2): offsets can be reset only while a group is",
        "                    empty. Stop its consumers first.",
    ]


def test_a_page_by_burrows_rules(kgroup):
    ended = kgroup("lag-report", str(LIVES), "--explain", "warehouse-stuck", "--rules", "burrow", *AT)
    assert "Status  ERR by the rules (4 STOP)" in ended.out
    assert "stopped {" in ended.out


def test_a_page_says_which_static_member_is_away(kgroup):
    ended = kgroup("lag-report", str(FIXTURES / "4.4.0/protocols"), "--explain", "flow-static", "-q")
    members = {line.split(", instance ")[1] for line in ended.out.splitlines() if ", instance " in line}
    assert members == {
        "node-a-1, away (it left to come back): flow-static-tally-repartition:1 payments:0,2",
        "node-b-1: flow-static-tally-repartition:0,2 payments:1",
    }


def test_a_page_on_a_share_group(kgroup):
    ended = kgroup("lag-report", str(FIXTURES / "4.3.1/lives"), "--explain", "share-queue", "-q")
    lines = ended.out.splitlines()
    assert lines[2 : lines.index("Rebalances, the last 3 of 3:")] == [
        "Lag     -",
        "Status  -",
        "",
        "Members:",
        "  share-0 on /127.0.0.1: clicks.web:1",
        "  share-1 on /127.0.0.1: clicks.web:0",
        "",
        "Partitions: the progress of a share group is in __share_group_state",
        "",
    ]
    assert lines[-3:] == [
        "Findings: none",
        "",
        "Reset now: unknown: a share group's progress is in __share_group_state",
    ]


def test_pages_on_all_groups_that_match(kgroup):
    ended = kgroup("lag-report", str(LIVES), "--explain", "assign-*", *AT)
    assert [line for line in ended.out.splitlines() if line.startswith("Group ")] == [
        f"Group {name}, as of 2026-11-20T12:42:11.028Z"
        for name in (
            "assign-cooperative (classic, protocol cooperative-sticky)",
            "assign-range (classic, protocol range)",
            "assign-roundrobin (classic, protocol roundrobin)",
            "assign-sticky (classic, protocol sticky)",
        )
    ]


@pytest.mark.parametrize("group", ["hand-rolled", "connect-sink", "registry-primary", "cron-exporter"])
def test_a_page_on_groups_without_the_usual(kgroup, group):
    ended = kgroup("lag-report", str(LIVES), "--explain", group, *AT)
    assert ended.status == 0
    assert ended.out.startswith(f"Group {group} ")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (["stuck"], "stuck: 10 in aiokafka-app, cron-exporter, fraud-one-partition and 6 more"),
        (["rebalance-storm"], "rebalance-storm: 1 in push-storm"),
        (["lag=250"], "lag=250: 8 in billing-txn, search-indexer"),
        (["LAG=250", "rewound"], "rewound: 1 in notes-writer; lag=250: 8 in billing-txn, search-indexer"),
        (["warn"], "WARN: 4 in search-indexer"),
        (["err"], "ERR: 15 in cron-exporter, fraud-one-partition, left-behind and 3 more"),
        (["unknown"], "UNKNOWN: 18 in aiokafka-app, billing-txn, kafka-python-app and 3 more"),
    ],
)
def test_what_makes_it_fail(kgroup, wanted, said):
    arguments = [argument for name in wanted for argument in ("--fail-on", name)]
    ended = kgroup("lag-report", str(LIVES), *AT, *arguments)
    assert ended.status == 3
    assert ended.err.startswith(f"kgroup: {said}")
    assert ended.err.count("\n") == 1
    assert "warehouse-stuck" in ended.out  # the report is there all the same


@pytest.mark.parametrize("wanted", ["stuck", "zombie-commits", "lag=1000", "stop", "err"])
def test_what_does_not(kgroup, wanted):
    call = ("lag-report", str(LIVES), *AT, "--fail-on", wanted, "--group", "nightly-idle")
    assert kgroup(*call).status == 0


def test_failing_goes_with_findings_and_pages(kgroup):
    for view in (("--stuck",), ("--explain", "left-behind")):
        assert kgroup("lag-report", str(LIVES), *AT, *view, "--fail-on", "dead-with-lag").status == 3
        assert kgroup("lag-report", str(LIVES), *AT, *view, "--fail-on", "lag=100").status == 3


def test_all_that_makes_it_fail_is_said_be_it_of_findings_or_of_rows(kgroup):
    wanted = ["--fail-on", "stopped-group", "--fail-on", "ERR", "--fail-on", "lag=0"]
    for view in (("--stuck",), ("--explain", "warehouse-stuck")):
        ended = kgroup("lag-report", str(LIVES), "-q", *AT, *view, *wanted)
        assert ended.status == 3
        names = [text.split(": ")[0] for text in ended.err.removeprefix("kgroup: ").strip().split("; ")]
        assert names == ["stopped-group", "lag=0", "ERR"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--fail-on", "slow"], 2, "--fail-on slow: not lag=N, stuck, a finding, like stopped-group, or "),
        (["--fail-on", "lag=-1"], 2, "--fail-on lag=-1: not lag=N"),
        (["--fail-on", "ok"], 2, "--fail-on ok: not lag=N"),
        (["--stuck", "--only-lagging"], 2, "--stuck shows findings, not rows"),
        (["--stuck", "--status"], 2, "--stuck shows findings, not rows"),
        (["--offsets-retention", "7d"], 2, "--offsets-retention is for --breakdown"),
        (["--stuck", "--offsets-retention", "week"], 2, "--offsets-retention week: not a duration"),
        (["--explain", "left-behind", "--group", "x"], 2, "--explain is a page about one group"),
        (["--explain", "left-behind", "--status"], 2, "--explain is a page about one group"),
        (["--explain", "left-behind", "-o", "json"], 2, "--explain is a page to read"),
        (["--explain", "nosuch"], 1, "no group here matches nosuch"),
        (["--stuck", "--rules", "burrow"], 2, "--rules is for --status"),
        (["--stuck", "--now", "soon"], 2, "--now soon: not a time"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(kgroup, arguments, status, said):
    ended = kgroup("lag-report", str(LIVES), *arguments)
    assert (ended.status, ended.out) == (status, "")
    assert ended.err.startswith(f"kgroup: {said}")
    assert ended.err.count("\n") == 1


def test_what_the_lag_is_made_of(kgroup):
    ended = kgroup("lag-report", str(LIVES), "--breakdown", "--group", "cron-exporter", "-q", "-o", "json")
    rows = json.loads(ended.out)
    assert (ended.status, [row["partition"] for row in rows]) == (0, [0, 1, 2])
    truth = json.loads((LIVES / "groups.json").read_text())["groups"]["cron-exporter"]["offsets"]
    ends = json.loads((LIVES / "topics.json").read_text())["topics"]["payments"]["partitions"]
    for row in rows:
        # The producer of payments wrote no transactions, and nothing is compacted or deleted.
        unread = ends[str(row["partition"])]["logEnd"] - truth[f"payments-{row['partition']}"]["offset"]
        assert row["lag"] == row["unread_records"] == unread
        assert [row[name] for name in ("aborted_records", "undecided_records", "transaction_markers")] == [
            0
        ] * 3
        assert [row[name] for name in ("missing_offsets", "beyond_last_stable", "lost_offsets")] == [0] * 3
        assert row["expires"] == row["commit_timestamp"] + 7 * 86_400_000


def test_what_cannot_be_looked_into_is_unknown(kgroup):
    ended = kgroup("lag-report", str(LIVES), "--breakdown", "--group", "left-behind", "-q", "-o", "json")
    rows = json.loads(ended.out)
    assert ended.status == 0
    assert len(rows) == 4
    for row in rows:
        assert (row["unread_records"], row["missing_offsets"], row["lost_offsets"]) == (None, None, None)
        assert row["lag"] > 0


def test_offsets_deleted_unread_are_counted(kgroup, tmp_path):
    ends = tmp_path / "ends.csv"
    ends.write_text("topic,partition,log_end_offset,log_start_offset\norders,0,500,150\n")
    call = ("lag-report", str(LIVES), "--breakdown", "--log-ends", str(ends), "-q", "-o", "json")
    rows = json.loads(kgroup(*call, "--group", "left-behind", "--topic", "orders").out)
    assert [row["lost_offsets"] for row in rows if row["partition"] == 0] == [150 - 109]
    assert "below-log-start" in rows[0]["notes"]


def test_a_retention_of_ones_own(kgroup):
    call = ("lag-report", str(LIVES), "--stuck", *AT, "--group", "left-behind", "-o", "json")
    retention = ("--offsets-retention", "150s")
    kinds = [row["finding"] for row in json.loads(kgroup(*call, *retention).out)]
    assert kinds == ["dead-with-lag", "offsets-expire"]
    assert [row["finding"] for row in json.loads(kgroup(*call).out)] == ["dead-with-lag"]


def test_the_topics_own_log_proves_what_no_other_group_does(kgroup, tmp_path):
    """The offsets partition of one group alone, and the topic that it reads."""
    number = partition_for("cron-exporter", 50)
    for name in (f"__consumer_offsets-{number}", "payments-0", "payments-1", "payments-2"):
        shutil.copytree(LIVES / name, tmp_path / "log" / name)
    call = ("lag-report", str(tmp_path / "log"), "--group", "cron-exporter", "--stuck", *AT, "-o", "json")
    findings = json.loads(kgroup(*call).out)
    # One process committed partitions 0 and 2 and was stopped; another goes on with partition 1.
    assert [(row["finding"], row["topic"], row["partition"]) for row in findings] == [
        ("stalled-partition", "payments", 0),
        ("stalled-partition", "payments", 2),
    ]
    shutil.rmtree(tmp_path / "log" / "payments-0")
    ends = tmp_path / "topics.json"
    shutil.copy(LIVES / "topics.json", ends)
    findings = json.loads(kgroup(*call, "--log-ends", str(ends)).out)
    assert [row["partition"] for row in findings] == [2]


def test_a_log_that_goes_on_after_now_is_said_to(kgroup):
    remark = "kgroup: the log continues after --now: statuses and findings use all of it"
    before = str(int(STOPPED) - 3_600_000)
    for option in ("--stuck", "--status"):
        assert remark in kgroup("lag-report", str(LIVES), option, "--now", before).err.splitlines()
        assert remark not in kgroup("lag-report", str(LIVES), option, "--now", STOPPED).err.splitlines()
    assert remark not in kgroup("lag-report", str(LIVES), "--now", before).err.splitlines()
