"""`kgroup commits` on the captures, whose diaries say what was committed when."""

import json
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[3] / "fixtures"
LIVES = str(FIXTURES / "3.9.1/lives")


def rows(ended):
    assert ended.status == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def test_the_commits_of_a_group_add_up_to_what_the_broker_said_at_the_end(kgroup):
    """`groups.json` is what Kafka's own tool answered when the broker was stopped."""
    told = json.loads(Path(LIVES, "groups.json").read_text())["groups"]
    offsets = told["orders-app"]["offsets"]
    last, sums = {}, {}
    for row in rows(kgroup("commits", "orders-app", LIVES, "-o", "jsonl")):
        place = f"{row['topic']}-{row['partition']}"
        last[place] = row["offset"]
        sums[place] = sums.get(place, row["offset"]) + (row["step"] or 0)
    assert last == sums == {place: each["offset"] for place, each in offsets.items()}


def test_a_reset_by_an_admin_is_a_step_back(kgroup):
    """Its story: `rewind-by-admin`, to the beginning."""
    back = [
        row
        for row in rows(kgroup("commits", "reports-reset", LIVES, "-o", "jsonl"))
        if row["step"] is not None and row["step"] < 0
    ]
    assert {(row["topic"], row["partition"], row["offset"], row["step"]) for row in back} == {
        ("orders", number, 0, -122) for number in range(4)
    }


def test_an_aborted_commit_is_shown_and_does_not_count(kgroup):
    """Its story: `aborted-transaction`, with the offsets 9999 and 8888."""
    found = rows(kgroup("commits", "billing-txn", LIVES, "-o", "jsonl"))
    assert {row["offset"] for row in found if row["transaction"] == "aborted"} == {9999, 8888}
    assert all(row["step"] is None for row in found if row["transaction"] == "aborted")
    assert all(row["step"] is None or row["step"] < 1000 for row in found)


@pytest.mark.parametrize(
    ("arguments", "places"),
    [
        (["--topic", "orders:0"], {("orders", 0)}),
        (["--topic", "orders:0,2", "--topic", "payments:1"], {("orders", 0), ("orders", 2), ("payments", 1)}),
        (["--topic", "pay*"], {("payments", 0), ("payments", 1), ("payments", 2)}),
    ],
)
def test_partitions_are_chosen(kgroup, arguments, places):
    found = rows(kgroup("commits", "orders-app", LIVES, "-o", "jsonl", *arguments))
    assert {(row["topic"], row["partition"]) for row in found} == places


def test_a_minute_is_chosen_by_its_time_of_day_and_its_first_step_is_known(kgroup):
    everything = rows(kgroup("commits", "orders-app", LIVES, "-o", "jsonl"))
    minute = rows(kgroup("commits", "orders-app", LIVES, "-o", "jsonl", "--at", "12:43"))
    start = 1795178580000  # 2026-11-20T12:43Z
    assert minute == [row for row in everything if start <= row["time"] < start + 60_000]
    assert minute[0]["step"] is not None


def test_a_group_without_commits_has_no_rows_and_is_no_mistake(kgroup):
    ended = kgroup("commits", "connect-workers", LIVES, "-o", "jsonl")
    assert (ended.status, ended.out) == (0, "")


def test_the_table_names_the_longest_gap(kgroup):
    ended = kgroup("commits", "reports-reset", LIVES, "--topic", "orders:0", "--since", "12:43:25")
    assert ended.out.splitlines()[0].split() == [
        "TIME",
        "PARTITION",
        "OFFSET",
        "STEP",
        "GAP",
        "RATE/S",
        "NOTE",
    ]
    assert ended.out.splitlines()[1].split()[1:] == ["orders-0", "0", "-122", "8.041s", "-", "back"]
    assert ended.err.startswith(
        "kgroup: group reports-reset: the longest gap is 13.955s, on orders-0 before "
    )


def test_a_deletion_says_why(kgroup):
    """Their stories: `gone-group` was deleted by an admin, and topic promo-2024 under `pattern-watcher`."""
    lives = str(FIXTURES / "4.3.1/lives")
    deleted = [
        row for row in rows(kgroup("commits", "gone-group", lives, "-o", "jsonl")) if row["offset"] is None
    ]
    assert {(row["removal"], row["removal_grade"]) for row in deleted} == {("group-deleted", "inferred")}
    assert all("when nothing expires yet" in row["removal_evidence"] for row in deleted)
    table = kgroup("commits", "pattern-watcher", lives).out
    assert table.count("deleted: topic-deleted (inferred)") == 2
    unknown = kgroup("commits", "pruned-group", lives).out
    assert unknown.count("deleted: offsets-removed (topic-deleted or offsets-deleted?)") == 2
    of_commits = [
        row
        for row in rows(kgroup("commits", "gone-group", lives, "-o", "jsonl"))
        if row["offset"] is not None
    ]
    assert of_commits and all(row["removal"] is None for row in of_commits)
