"""The commands for one question of a lag report: each answers what `lag-report` does with its options."""

from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[3] / "fixtures"
LIVES = str(FIXTURES / "3.9.1/lives")
NOW = ("--now", "2026-11-20T12:45:14Z")


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (["lag"], ["lag-report"]),
        (["lag", "--by", "group", "-o", "csv"], ["lag-report", "--by", "group", "-o", "csv"]),
        (
            ["lag", "--status", "--breakdown", "--time-lag", "exact", "-o", "jsonl", *NOW],
            ["lag-report", "--status", "--breakdown", "--time-lag", "exact", "-o", "jsonl", *NOW],
        ),
        (
            ["lag", "--group", "orders-*", "--topic", "orders", "--only-lagging", "-o", "json"],
            ["lag-report", "--group", "orders-*", "--topic", "orders", "--only-lagging", "-o", "json"],
        ),
        (["stuck", *NOW], ["lag-report", "--stuck", *NOW]),
        (
            ["stuck", "--hygiene", "--offsets-retention", "1d", "-o", "jsonl", *NOW],
            ["lag-report", "--stuck", "--hygiene", "--offsets-retention", "1d", "-o", "jsonl", *NOW],
        ),
        (["stuck", "--fail-on", "stuck", *NOW], ["lag-report", "--stuck", "--fail-on", "stuck", *NOW]),
        (
            ["history", "--windows", "30s", "--since", "2026-11-20T12:44Z", *NOW],
            ["lag-report", "--windows", "30s", "--since", "2026-11-20T12:44Z", *NOW],
        ),
        (
            ["history", "--windows", "30s", "--rules", "burrow", "-o", "csv", "--only-lagging"],
            ["lag-report", "--windows", "30s", "--rules", "burrow", "-o", "csv", "--only-lagging"],
        ),
    ],
    ids=" ".join,
)
def test_it_answers_as_lag_report_does(kgroup, short, long):
    ours, theirs = kgroup(short[0], LIVES, *short[1:]), kgroup(long[0], LIVES, *long[1:])
    assert ours == theirs
    assert len(ours.out.splitlines()) > 1


def test_the_page_of_a_group_is_the_same(kgroup):
    ours = kgroup("explain", "orders-app", LIVES, *NOW)
    assert ours == kgroup("lag-report", LIVES, "--explain", "orders-app", *NOW)
    assert ours.out.startswith("Group orders-app ")


def test_metrics_are_the_same_but_for_what_the_look_took(kgroup):
    def lines(*arguments):
        ended = kgroup(*arguments, "--group", "orders-app")
        return [line for line in ended.out.splitlines() if not line.startswith("kgroup_look_")]

    ours = lines("metrics", LIVES, "--status")
    assert len(ours) > 20
    assert ours == lines("lag-report", LIVES, "--prometheus", "--status")


def test_a_page_of_history_has_no_rows(kgroup, tmp_path):
    ours, theirs = tmp_path / "ours.html", tmp_path / "theirs.html"
    ended = kgroup("history", LIVES, "--html", str(ours), *NOW)
    assert (ended.status, ended.out) == (0, "")
    kgroup("lag-report", LIVES, "--html", str(theirs), *NOW)
    assert ours.read_bytes() == theirs.read_bytes()


def test_a_page_says_why_it_rebalanced_and_that_members_forbid_a_reset(kgroup):
    page = kgroup("explain", "orders-app", LIVES, *NOW).out
    # The diary of the capture: grow-victim was killed at its second start, grow-1 and grow-3 go on.
    assert "Rebalances, the last 5 of 6:" in page
    assert "session-expired grow-victim (inferred)" in page
    assert "  why the last: it committed every" in page
    assert "Reset now: refused: 2 members (grow-1, grow-3): " in page


def test_a_group_that_everybody_left_may_be_reset(kgroup):
    """Its story: `empty-with-lag-growing`."""
    assert "Reset now: safe: no members for " in kgroup("explain", "left-behind", LIVES, *NOW).out


def test_a_consumer_without_membership_would_commit_over_a_reset(kgroup):
    """Its story: `no-membership`, a job that runs with assign()."""
    page = kgroup("explain", "cron-exporter", LIVES, *NOW).out
    assert "Rebalances: none, " in page
    assert "Reset now: not safe: the group has no members, yet 3 partitions keep being" in page
