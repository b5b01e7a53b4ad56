"""`kgroup groups`, on files and on a cluster."""

import json
from collections.abc import Iterator

import pytest

import kgroup.testing
from tests.cli.conftest import Kgroup
from tests.net.usual_groups import usual_groups

LIVES = "fixtures/4.3.1/lives"
ENDED_MS = 1795178909603  # 2026-11-20T12:48:29.603Z, its newest record


@pytest.fixture(scope="module")
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with usual_groups() as running:
        yield running


def names(ended) -> list[str]:
    assert ended.status == 0, ended.err
    return [json.loads(line)["group"] for line in ended.out.splitlines()]


def test_every_group_of_a_log_has_its_row_and_lag_is_that_of_the_lag_report(kgroup: Kgroup) -> None:
    rows = [json.loads(line) for line in kgroup("groups", LIVES, "-o", "jsonl").out.splitlines()]
    sums = kgroup("lag-report", LIVES, "--by", "group", "-o", "jsonl").out
    reported = {row["group"]: row for row in map(json.loads, sums.splitlines())}
    assert len(rows) == 40
    shares = {row["group"]: row["lag"] for row in rows if row["type"] == "share"}
    assert shares == {"share-queue": 0, "share-queue-left": 110}  # no commits: see docs/describe.md
    rows = [row for row in rows if row["type"] != "share"]
    assert reported.keys() == {row["group"] for row in rows if row["partitions"]}
    for row in rows:
        if row["partitions"]:
            same = reported[row["group"]]
            assert (row["lag"], row["lag_unknown"], row["partitions"]) == (
                same["lag"],
                same["lag_unknown"],
                same["partitions"],
            ), row["group"]


@pytest.mark.parametrize(
    ("options", "groups"),
    [
        (["--type", "share"], ["share-queue", "share-queue-left"]),
        (["--type", "SHARE", "--state", "Empty"], ["share-queue-left"]),
        (["--type", "simple"], ["cron-exporter", "hand-rolled"]),
        (["--state", "*mp*", "--type", "simple", "--idle", "1m"], ["cron-exporter", "hand-rolled"]),
        (["--idle", "1000d"], []),
        (
            ["--group", "assign-s*", "--group", "left-behind", "--sort", "lag"],
            ["left-behind", "assign-sticky"],
        ),
    ],
)
def test_rows_are_chosen(kgroup: Kgroup, options: list[str], groups: list[str]) -> None:
    assert names(kgroup("groups", LIVES, *options, "-o", "jsonl")) == groups


def test_a_group_that_committed_later_is_not_idle(kgroup: Kgroup) -> None:
    """left-behind committed last 115 s before the log ends, cron-exporter 62 s."""
    chosen = ("--group", "left-behind", "--group", "cron-exporter", "-o", "jsonl")
    assert names(kgroup("groups", LIVES, "--idle", "61s", *chosen)) == ["cron-exporter", "left-behind"]
    assert names(kgroup("groups", LIVES, "--idle", "63s", *chosen)) == ["left-behind"]
    assert names(kgroup("groups", LIVES, "--idle", "116s", *chosen)) == []


@pytest.mark.parametrize(
    ("by", "key"),
    [
        ("lag", lambda row: (row["lag"] is None, -(row["lag"] or 0), row["group"])),
        ("members", lambda row: (-row["members"], row["group"])),
        ("last-commit", lambda row: (row["last_commit"] is None, -(row["last_commit"] or 0), row["group"])),
        ("state", lambda row: (row["state"], row["group"])),
        ("type", lambda row: (row["type"], row["group"])),
        ("name", lambda row: row["group"]),
    ],
)
def test_rows_are_sorted(kgroup: Kgroup, by: str, key) -> None:
    rows = [
        json.loads(line) for line in kgroup("groups", LIVES, "--sort", by, "-o", "jsonl").out.splitlines()
    ]
    assert rows == sorted(rows, key=key)


def test_names_come_from_a_file_or_standard_input(kgroup: Kgroup, tmp_path) -> None:
    file = tmp_path / "names"
    file.write_bytes(b"assign-r*\r\n\nleft-behind\n")
    expected = ["assign-range", "assign-roundrobin", "left-behind"]
    assert names(kgroup("groups", LIVES, "--names-file", str(file), "-o", "jsonl")) == expected
    assert (
        names(kgroup("groups", LIVES, "--names-file", "-", "-o", "jsonl", stdin=file.read_bytes()))
        == expected
    )


def test_ages_are_as_of_the_end_of_an_old_log_or_of_now(kgroup: Kgroup) -> None:
    ended = kgroup("groups", LIVES, "--group", "left-behind", "-o", "jsonl")
    (row,) = map(json.loads, ended.out.splitlines())
    report = kgroup("lag-report", LIVES, "--group", "left-behind", "-o", "jsonl").out
    last_ms = max(json.loads(line)["commit_timestamp"] for line in report.splitlines())
    assert (row["last_commit"], row["last_commit_age_ms"]) == (last_ms, ENDED_MS - last_ms)
    assert ended.err == "kgroup: 1 group\nkgroup: as of 2026-11-20T12:48:29.603Z, the last write to the log\n"
    later = kgroup("groups", LIVES, "--group", "left-behind", "-o", "jsonl", "--now", str(last_ms + 5))
    assert json.loads(later.out)["last_commit_age_ms"] == 5


def test_a_name_that_is_not_there_is_said_beside_those_that_are(kgroup: Kgroup) -> None:
    ended = kgroup("groups", LIVES, "--group", "left-behind", "--group", "orders-ap", "-q", "-o", "csv")
    assert ended.status == 0
    assert ended.err == "kgroup: no group here matches orders-ap\n"


def test_a_cluster_is_asked_for_the_same_and_says_in_how_many_requests(
    kgroup: Kgroup, kafka: kgroup.testing.Cluster
) -> None:
    ended = kgroup("groups", "-b", kafka.bootstrap)
    assert ended.status == 0
    heading, *lines = ended.out.splitlines()
    assert heading.split() == [
        "GROUP",
        "STATE",
        "TYPE",
        "PROTOCOL",
        "MEMBERS",
        "HOSTS",
        "PARTITIONS",
        "LAG",
        "UNKNOWN",
    ]
    assert [line.split() for line in lines] == [
        ["empty-g", "Empty", "simple", "-", "0", "-", "3", "250", "0"],
        ["live-classic", "Stable", "classic", "range", "1", "127.0.0.1", "3", "0", "0"],
        ["live-new", "Stable", "consumer", "uniform", "1", "127.0.0.1", "3", "0", "0"],
    ]
    assert ended.err.startswith("kgroup: 3 groups, in ") and ended.err.endswith(" requests\n")


def test_commits_of_a_cluster_have_ages_where_they_are_asked_for(
    kgroup: Kgroup, kafka: kgroup.testing.Cluster
) -> None:
    for options, known in ((), False), (("--last-commit",), True), (("--sort", "last-commit"), True):
        ended = kgroup("groups", "-b", kafka.bootstrap, *options, "-o", "jsonl")
        assert [json.loads(line)["last_commit"] is not None for line in ended.out.splitlines()] == [known] * 3
    assert names(kgroup("groups", "-b", kafka.bootstrap, "--idle", "1h", "-o", "jsonl")) == []
    assert names(kgroup("groups", "-b", kafka.bootstrap, "--idle", "1ms", "-o", "jsonl")) == ["empty-g"]
