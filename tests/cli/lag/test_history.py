"""`kgroup lag-report --windows`: the history that a log holds."""

import json

import pytest
from pyarrow import parquet

from tests.compat.captures import FIXTURES
from tests.log.offsets_log import batch, commit, write

LIVES = FIXTURES / "4.3.1/lives"


@pytest.fixture
def history(kgroup):
    def run(*arguments):
        ended = kgroup("lag-report", *map(str, arguments), "-o", "jsonl")
        assert ended.status == 0, ended.err
        return [json.loads(line) for line in ended.out.splitlines()], ended.err

    return run


def test_a_caught_up_group_reads_a_record_a_second_and_stays_close(history):
    """By its story `payments` gets a record a second, and `assign-range` reads all of it."""
    rows, messages = history(LIVES, "--windows", "30s", "--group", "assign-range", "--topic", "payments")
    of_first = [row for row in rows if row["partition"] == 0]
    assert [row["window_start"] for row in of_first] == list(range(1795178760000, 1795178910000, 30_000))
    assert [row["log_end_offset"] for row in of_first][-1] == 96
    for row in of_first[1:3]:
        assert 25 <= row["progress"] <= 35
    assert all(0 <= row["lag"] <= 6 and row["status"] == "OK" for row in rows)
    assert messages == ""


def test_without_the_topics_log_there_is_progress_and_no_lag_and_that_is_said(history):
    rows, messages = history(LIVES, "--windows", "1m", "--group", "warehouse-stuck")
    assert rows
    assert {(row["current_offset"], row["lag"], row["status"]) for row in rows} == {(69, None, None)}
    assert messages == (
        "kgroup: no log ends of the time are known of 4 partitions (orders 0 and others), "
        "whose records are not here: lag is unknown; see kgroup lag for that of now\n"
    )


def test_it_begins_and_ends_where_it_is_told_to(history):
    since, until = "2026-11-20T12:46:40Z", "2026-11-20T12:47:10Z"
    rows, _ = history(LIVES, "--windows", "30s", "--since", since, "--now", until, "--topic", "payments")
    spans = sorted({(row["window_start"], row["window_end"]) for row in rows})
    assert spans == [(1795178790000, 1795178820000), (1795178820000, 1795178830001)]


def test_only_lagging_leaves_out_windows_that_were_caught_up(history):
    everything, _ = history(LIVES, "--windows", "30s", "--topic", "payments")
    lagging, _ = history(LIVES, "--windows", "30s", "--topic", "payments", "--only-lagging")
    assert lagging == [row for row in everything if (row["lag"] or 0) > 0]
    assert len(lagging) < len(everything)


def test_the_last_window_says_what_the_report_says_and_a_deleted_group_is_only_in_earlier_ones(history):
    rows, _ = history(LIVES, "--windows", "10s")
    last = max(row["window_end"] for row in rows)
    at_the_end = {
        (row["group"], row["topic"], row["partition"]): row["current_offset"]
        for row in rows
        if row["window_end"] == last
    }
    now, _ = history(LIVES)
    committed = {
        (row["group"], row["topic"], row["partition"]): row["current_offset"]
        for row in now
        if row["current_offset"] is not None
    }
    assert at_the_end == committed
    assert "gone-group" in {row["group"] for row in rows} - {group for group, *_ in committed}


@pytest.mark.parametrize("span", [("--since", "2030-01-01T00:00Z"), ("--now", "2020-01-01T00:00Z")])
def test_of_a_time_without_commits_there_is_nothing_to_say(history, span):
    assert history(LIVES, "--windows", "30s", *span) == ([], "")


@pytest.mark.parametrize("output_format", ["jsonl", "parquet"])
def test_numbers_at_the_edge_of_what_a_log_can_hold_are_no_ground_for_anything(
    kgroup, tmp_path, output_format
):
    """Differences of such offsets have no room in 64 bits."""
    most = 2**63 - 1
    records = [commit("g", "t", 0, 5), *(edge("t", offset) for offset in (most, -most - 1))]
    segment = write(tmp_path, [batch(0, records)])
    there = tmp_path / "out"
    ended = kgroup("lag-report", str(segment), "--windows", "1s", "-o", output_format, "--output", str(there))
    assert ended.status == 0
    (row,) = (
        [json.loads(line) for line in there.read_text().splitlines()]
        if output_format == "jsonl"
        else parquet.read_table(there).to_pylist()
    )
    assert (row["current_offset"], row["progress"], row["lag"], row["status"]) == (
        -most - 1,
        None,
        None,
        None,
    )


def edge(topic, offset):
    """A commit of this offset in the same second as that of offset 5."""
    key, value = commit("g", topic, 0, 5)
    return key, value.replace((5).to_bytes(8, "big", signed=True), offset.to_bytes(8, "big", signed=True), 1)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--windows", "soon"], "--windows soon: not a duration of 1s or more"),
        (["--windows", "5ms"], "--windows 5ms: not a duration of 1s or more"),
        (["--windows", "15m", "--status"], "--windows judges by itself"),
        (["--windows", "15m", "--time-lag", "exact"], "--windows judges by itself"),
        (["--since", "1h"], "--since is for --windows"),
        (["--windows", "15m", "--since", "later"], "--since later: not a time"),
    ],
)
def test_what_makes_no_sense_is_refused(kgroup, arguments, why):
    ended = kgroup("lag-report", str(LIVES), *arguments)
    assert ended.status == 2
    assert why in ended.err


def test_windows_without_number_are_refused_with_the_remedy(kgroup, tmp_path):
    """The second commit is of the year 2527: one such timestamp may not fill a disk."""
    segment = write(tmp_path, [batch(0, [commit("g", "t", 0, 1), commit("g", "t", 0, 17_600_000_000_000)])])
    ended = kgroup("lag-report", str(segment), "--windows", "15m")
    assert ended.status == 2
    assert "no more than 20000: give longer ones, or a later --since" in ended.err


def test_a_log_without_commits_has_no_history(kgroup, tmp_path):
    ended = kgroup("lag-report", str(write(tmp_path, [])), "--windows", "15m")
    assert (ended.status, ended.out) == (1, "")
    assert "the log holds no commit" in ended.err


@pytest.mark.parametrize("later_ms", [0, 400_000])
def test_the_last_window_never_contradicts_what_is_found_of_a_group_at_that_time(history, later_ms):
    """A window knows no other partition, so it may say UNKNOWN of what `--status` knows; but nothing else."""
    now = str(json.loads((LIVES / "story.json").read_text())["stoppedMs"] + later_ms)
    rows, _ = history(LIVES, "--windows", "20s", "--now", now, "-q")
    judged, _ = history(LIVES, "--status", "--now", now, "-q")
    statuses = {(row["group"], row["topic"], row["partition"]): row["status"] for row in judged}
    last = max(row["window_start"] for row in rows)
    pairs = [
        (row["status"], statuses[row["group"], row["topic"], row["partition"]])
        for row in rows
        if row["window_start"] == last and row["status"] is not None
    ]
    assert {status for status, _ in pairs} >= ({"OK", "STOP"} if later_ms else {"OK", "UNKNOWN"})
    assert [pair for pair in pairs if pair[0] not in ("UNKNOWN", pair[1])] == []


def test_a_name_that_nothing_here_has_is_not_passed_over_in_silence(kgroup):
    ended = kgroup("lag-report", str(LIVES), "--windows", "20s", "--topic", "ordrs")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == "kgroup: no topic here matches ordrs; did you mean orders?\n"
    both = ("--group", "order-app", "--group", "orders-app", "-q", "-o", "jsonl")
    beside = kgroup("lag-report", str(LIVES), "--windows", "20s", *both)
    assert (beside.status, {json.loads(line)["group"] for line in beside.out.splitlines()}) == (
        0,
        {"orders-app"},
    )
    assert beside.err.splitlines()[0] == "kgroup: no group here matches order-app; did you mean orders-app?"


@pytest.mark.parametrize("case", ["bad-magic", "short-value"])
def test_damage_is_told_and_strict_ends_in_three_as_without_windows(kgroup, case):
    damaged = str(FIXTURES / "damaged" / case)
    ended = kgroup("lag-report", damaged, "--windows", "1000d", "--strict", "-q", "-o", "jsonl")
    plain = kgroup("lag-report", damaged, "--strict", "-q", "-o", "jsonl")
    assert (ended.status, plain.status) == (3, 3)
    assert ended.out
    damage, summary = ended.err.splitlines()
    assert damage.endswith(plain.err.splitlines()[0].rpartition(": ")[2])
    assert summary == "kgroup: damaged or undecodable places: 1"


def test_a_topic_that_the_group_does_not_read_is_no_misspelt_name(kgroup):
    ended = kgroup(
        "lag-report", str(LIVES), "--windows", "20s", "--group", "orders-app", "--topic", "clicks.web"
    )
    assert (ended.status, ended.err) == (0, "kgroup: no commits match\n")
