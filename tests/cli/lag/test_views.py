"""`kgroup lag-report` in other views: sums and metrics of real captures, and what contradicts itself."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Kgroup
from tests.log.truth import FIXTURES

LIVES = FIXTURES / "4.3.1/lives"
ENDS = ("--log-ends", str(LIVES / "topics.json"))

Report = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def report(kgroup: Kgroup) -> Report:
    """The rows of a report on LIVES with the log ends that the broker answered."""

    def run(*arguments: str) -> list[dict[str, Any]]:
        ended = kgroup("lag-report", str(LIVES), *ENDS, *arguments, "-q", "-o", "jsonl")
        assert (ended.status, ended.err) == (0, "")
        return [json.loads(line) for line in ended.out.splitlines()]

    return run


def answered() -> dict[str, Any]:
    """What the broker said of its groups at the same moment."""
    groups: dict[str, Any] = json.loads((LIVES / "groups.json").read_text())["groups"]
    return groups


def test_sums_by_group_are_those_of_the_offsets_that_the_broker_answered(report: Report) -> None:
    sums = {row["group"]: row["lag"] for row in report("--by", "group")}
    expected = {
        group: sum(max(offset["lag"], 0) for offset in said["offsets"].values() if offset["lag"] is not None)
        for group, said in answered().items()
        if said.get("offsets") and any(offset["lag"] is not None for offset in said["offsets"].values())
    }
    assert len(expected) > 20
    assert sums == sums | expected


def test_sums_by_member_are_the_partitions_that_the_broker_said_they_own(report: Report) -> None:
    counts = {(row["group"], row["member_id"]): row["partitions"] for row in report("--by", "member")}
    for group in ("orders-app", "assign-range", "trades-848"):
        for member in answered()[group]["described"]["members"]:
            owned = sum(len(each["partitions"]) for each in member["assignment"])
            assert counts[group, member["consumerId"]] == owned


def test_sums_by_topic_count_the_groups(report: Report) -> None:
    (payments,) = report("--by", "topic", "--topic", "payments")
    groups = {
        group
        for group, said in answered().items()
        if any(offset["topic"] == "payments" for offset in said.get("offsets", {}).values())
    }
    assert payments["groups"] == len(groups)


def test_only_lagging_is_of_the_sums(report: Report) -> None:
    everybody, lagging = report("--by", "group"), report("--by", "group", "--only-lagging")
    assert lagging == [row for row in everybody if row["lag"]]
    assert any(row["lagging"] < row["partitions"] for row in lagging)


def test_the_table_of_sums_fits_what_people_ask_first(kgroup: Kgroup) -> None:
    ended = kgroup("lag-report", str(LIVES), "--by", "group", "--group", "warehouse-*", "-q")
    assert [line.split() for line in ended.out.splitlines()] == [
        ["GROUP", "GROUP-STATE", "PARTITIONS", "LAGGING", "LAG", "LAG-MAX", "UNKNOWN"],
        ["warehouse-stuck", "Stable", "4", "4", "836", "209", "0"],
    ]


def test_metrics_have_the_rows_numbers(kgroup: Kgroup, report: Report, tmp_path: Any) -> None:
    path = tmp_path / "metrics.prom"
    ended = kgroup("lag-report", str(LIVES), *ENDS, "--prometheus", "--output", str(path), "-q")
    assert (ended.status, ended.out, ended.err) == (0, "", "")
    lines = path.read_text().splitlines()
    lags = [line for line in lines if line.startswith("kafka_consumergroup_group_lag{")]
    rows = [row for row in report() if row["lag"] is not None]
    assert [int(line.rpartition(" ")[2]) for line in lags] == [row["lag"] for row in rows]
    stuck = [line for line in lags if 'group="warehouse-stuck",topic="orders",partition="3"' in line]
    assert [line.rpartition(" ")[2] for line in stuck] == ["209"]
    assert "kgroup_up 1" in lines


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--watch", "5", "--serve-metrics", "0"], "--watch does not go with --serve-metrics: both stay"),
        (["--prometheus", "--by", "group"], "--prometheus does not go with --by: metrics have sums"),
        (["--prometheus", "-o", "csv"], "--prometheus does not go with --format"),
        (["--watch", "5", "-o", "parquet"], "-o parquet: a live view never ends: use -o table or jsonl"),
        (["--watch", "5", "--output", "x"], "--watch does not go with --output: it has no end"),
        (["--watch", "5", "--strict"], "--watch does not go with --strict"),
        (
            ["--watch", "5", "--status", "--now", "5m"],
            "--watch does not go with --now: it shows the present",
        ),
        (["--watch", "5", "--spark"], "--watch does not go with --spark: it reads on from the last look"),
        (["--watch", "5", "--html", "x"], "--watch does not go with --html"),
        (["--watch", "5", "--stuck"], "--watch does not go with --stuck: it shows rows of the present"),
        (["--watch", "5", "--prometheus"], "--watch does not go with --prometheus; see --serve-metrics"),
        (["--watch", "soon"], "--watch soon: not a duration of 100ms or more"),
        (["--watch", "0"], "--watch 0s: not a duration of 100ms or more"),
        (["--watch", "86401"], "--watch 86401: more than a day"),
        (["--watch", "-3"], "--watch -3: not a duration of 100ms or more"),
        (["--watch", "nan"], "--watch nan: not a duration of 100ms or more"),
        (["--serve-metrics", "metrics"], "--serve-metrics metrics: give PORT or HOST:PORT"),
        (["--serve-metrics", "0.0.0.0:99999"], "--serve-metrics 0.0.0.0:99999: give PORT or HOST:PORT"),
        (["--serve-metrics", "0", "-o", "json"], "--serve-metrics does not go with --format"),
        (["--serve-metrics", "0", "--by", "topic"], "--serve-metrics does not go with --by"),
        (["--by", "client"], "--by: 'client' is not one of group, topic, member"),
    ],
)
def test_what_contradicts_itself_is_refused_before_anything_is_read(
    kgroup: Kgroup, arguments: list[str], why: str
) -> None:
    ended = kgroup("lag-report", "nowhere", *arguments)
    assert (ended.status, ended.out) == (2, "")
    assert why in ended.err
    assert ended.err.count("\n") == 1
