"""`kgroup lag-report --status`: windows from the log, judged at a given time."""

import json

import pytest

from tests.compat.captures import FIXTURES
from tests.log.offsets_log import batch, commit, group_metadata, write

SMALL = FIXTURES / "3.9.1/codec-gzip"
LIVES = FIXTURES / "4.3.1/lives"
SOON, LATE = "2026-11-20T12:53Z", "2026-11-20T14:00Z"  # after the capture SMALL was taken
LAST_COMMIT = "1795178909603"  # the newest commit of LIVES


@pytest.fixture
def statuses(kgroup):
    """(status, rule, evidence) of each row of a report, by place."""

    def run(*arguments):
        ended = kgroup("lag-report", *map(str, arguments), "--status", "-q", "-o", "jsonl")
        assert (ended.status, ended.err) == (0, "")
        rows = [json.loads(line) for line in ended.out.splitlines()]
        return {
            (row["group"], row["topic"], row["partition"]): (row["status"], row["rule"], row["evidence"])
            for row in rows
        }

    return run


@pytest.fixture
def rewound(tmp_path):
    """A group that goes back from 900 to 300 as generation 2 begins, and the end of its log, 1000."""
    offsets = [800, 900, 300, 400]
    records = [commit("g", "t", 0, offset) for offset in offsets]  # the commit times are the offsets and 1 ms
    batches = [
        batch(0, [group_metadata("g", 1), *records[:2]]),
        batch(3, [group_metadata("g", 2), *records[2:]]),
    ]
    segment = write(tmp_path, batches, 7)
    ends = tmp_path / "ends.csv"
    ends.write_text("topic,partition,log_end_offset\nt,0,1000\n")
    return segment, "--log-ends", ends


def test_the_table_has_status_and_rule(kgroup):
    out = kgroup("lag-report", str(SMALL), "--group", "brief", "--status", "--now", LATE).out
    assert [" ".join(line.split()) for line in out.splitlines()[2:4]] == [
        "brief orders 1 75 75 0 brief-1 OK within-allowed -",
        "brief orders 2 73 75 2 brief-3 UNKNOWN perhaps-stopped -",
    ]


def test_what_may_be_stopped_is_unknown_and_only_after_a_while(statuses):
    partition = ("brief", "orders", 2)
    assert statuses(SMALL, "--now", SOON)[partition][:2] == ("OK", "few-unread")
    status, rule, evidence = statuses(SMALL, "--now", LATE)[partition]
    assert (status, rule) == ("UNKNOWN", "perhaps-stopped")
    assert evidence["silent_min_ms"] == 0
    assert evidence["silent_max_ms"] > evidence["limit_ms"] == 300_000


def test_burrow_says_stop(statuses):
    status, rule, evidence = statuses(SMALL, "--now", LATE, "--rules", "burrow")["brief", "orders", 2]
    assert (status, rule) == ("STOP", "stopped")
    assert evidence["silent_ms"] > evidence["limit_ms"]


def test_a_rewind_says_from_where_to_where_and_that_the_generation_changed(statuses, rewound):
    assert statuses(*rewound, "--now", "1970-01-01T00:00:01Z")["g", "t", 0] == (
        "REWIND",
        "rewound",
        {"from_offset": 900, "to_offset": 300, "at_ms": 301, "membership_changed": True},
    )


def test_without_a_log_end_there_is_no_status(statuses, rewound):
    assert statuses(rewound[0])["g", "t", 0] == (None, None, None)


def test_a_log_without_commits_has_no_statuses(statuses, tmp_path):
    assert statuses(write(tmp_path, [batch(0, [group_metadata("g", 1)])], 7)) == {}


def test_a_partition_without_commits_is_unknown(statuses):
    assert statuses(SMALL)["brief-txn", "clicks.web", 0] == ("UNKNOWN", "no-commits", {})


def test_groups_of_a_capture_that_commit_one_offset_and_are_far_behind(statuses):
    report = (LIVES, "--log-ends", LIVES / "topics.json", "--now", LAST_COMMIT)
    judged = statuses(*report)
    places = {partition for partition, (_, rule, _) in judged.items() if rule == "perhaps-stalled"}
    # The commits of one offset go over less than a session timeout; Burrow calls that a stall.
    assert {(group, judged[group, topic, number][0]) for group, topic, number in places} == {
        ("pattern-watcher", "UNKNOWN")
    }
    burrow = statuses(*report, "--rules", "burrow")
    assert {burrow[partition][0] for partition in places} <= {"STALL", "STOP"}
    idle = {said[:2] for (group, _, _), said in judged.items() if group == "nightly-idle"}
    assert idle == {("OK", "within-allowed")}


@pytest.mark.parametrize("version", ["0.10.1.1", "1.1.1", "2.4.1", "3.9.1", "4.3.1"])
def test_what_the_diary_of_a_capture_says_of_its_groups_is_their_status(statuses, version):
    """By other groups' commits alone: most topics' own logs, and all past log ends, are not there."""
    capture = FIXTURES / version / "lives"
    diary = json.loads((capture / "story.json").read_text())
    stopped = str(diary["stoppedMs"])
    judged = statuses(capture, "--now", stopped)

    def said_of(group):
        of_group = [(partition, said[0]) for partition, said in judged.items() if partition[0] == group]
        return {f"{topic}-{number}": status for (_, topic, number), status in of_group}

    conditions = {condition["condition"]: condition for condition in diary["truth"]}
    assert set(said_of(conditions["stuck-no-commits"]["group"]).values()) == {"STOP"}
    stuck = conditions["stuck-one-partition"]
    assert {partition for partition, said in said_of(stuck["group"]).items() if said != "OK"} == {
        stuck["partition"]
    }
    assert said_of(stuck["group"])[stuck["partition"]] == "STOP"
    assert set(said_of(conditions["lag-growing"]["group"]).values()) == {"WARN"}
    assert set(said_of(conditions["caught-up-idle"]["group"]).values()) == {"OK"}
    assert set(said_of(conditions["empty-with-lag-growing"]["group"]).values()) == {"STOP"}
    assert set(said_of("orders-app").values()) == {"OK"}


def test_a_stop_says_by_whom_it_is_proven_and_how_long_the_log_went_on(statuses):
    evidence = statuses(LIVES, "--now", LAST_COMMIT)["warehouse-stuck", "orders", 0][2]
    assert evidence["silent_ms"] == evidence["went_on_until_ms"] - evidence["unread_by_ms"]
    assert evidence["silent_ms"] >= evidence["limit_ms"] == 45_000
    assert evidence["last_commit_ms"] < evidence["unread_by_ms"]


def test_a_copy_of_a_log_is_judged_as_of_its_end(kgroup):
    ended = kgroup("lag-report", str(SMALL), "--status", "--group", "brief", "-o", "jsonl")
    assert {json.loads(line)["status"] for line in ended.out.splitlines()} == {"OK"}
    assert "kgroup: judged as of 2026-11-20T12:52:47.317Z" in ended.err


def test_a_topic_that_is_chosen_is_judged_as_among_all(statuses):
    whole = statuses(LIVES, "--now", LAST_COMMIT)
    chosen = statuses(LIVES, "--now", LAST_COMMIT, "--topic", "payments")
    assert chosen
    assert chosen == {partition: said for partition, said in whole.items() if partition[1] == "payments"}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--rules", "burrow"], "--rules is for --status"),
        (["--now", SOON], "--now is for --status, --stuck, --explain,"),
        (["--status", "--now", "soon"], "--now soon: not a time"),
    ],
)
def test_what_makes_no_sense_is_refused(kgroup, arguments, why):
    ended = kgroup("lag-report", str(SMALL), *arguments)
    assert ended.status == 2
    assert why in ended.err


def test_numbers_far_from_anything_real_are_judged_all_the_same(statuses, tmp_path):
    records = [commit("g", "t", 0, offset) for offset in (2**62, 300, 400)]
    segment = write(tmp_path, [batch(0, [*records, commit("h", "t", 0, 2**62)])], 7)
    ends = tmp_path / "ends.csv"
    ends.write_text("topic,partition,log_end_offset\nt,0,1000\n")
    assert statuses(segment, "--log-ends", ends, "--now", "2026-11-20T12:00:00Z") == {
        ("g", "t", 0): ("UNKNOWN", "lag-trend-unknown", {"known_lags": 0}),
        ("h", "t", 0): ("OK", "within-allowed", {"lag": 0, "allowed_lag": 0}),
    }
