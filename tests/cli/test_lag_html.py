"""`kgroup lag-report --html`: the page's numbers against what brokers answered, and its wrong inputs."""

import json
from pathlib import Path

import pytest

from kgroup.cli.lag_html import step_of
from kgroup.testing import cluster
from tests.cli.conftest import Kgroup
from tests.cli.test_lag_time import commit, produce
from tests.log.offsets_log import batch, group_metadata, write
from tests.log.truth import FIXTURES
from tests.report.test_lag_page import data_of

LIVES = FIXTURES / "4.3.1/lives"


@pytest.fixture(scope="module")
def answered() -> dict[str, dict[str, dict[str, int]]]:
    """What the broker said of committed offsets when the capture ended."""
    groups = json.loads((LIVES / "groups.json").read_text())["groups"]
    return {group: said["offsets"] for group, said in groups.items() if said.get("offsets")}


def page_of(kgroup: Kgroup, path: Path, *arguments: str) -> dict:
    ended = kgroup("lag-report", str(LIVES), "-q", "--html", str(path), *arguments)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("GROUP")
    return data_of(path)


def test_the_last_lags_of_a_topic_whose_log_is_there_are_the_brokers(
    kgroup: Kgroup, tmp_path: Path, answered: dict
) -> None:
    data = page_of(kgroup, tmp_path / "page.html", "--topic", "payments")
    for group in data["groups"]:
        lags = {f"payments-{partition}": last for _, partition, _, last in group["partitions"]}
        offsets = answered[group["group"]]
        assert lags == {place: offsets[place]["lag"] for place in lags}
        assert set(group["total"]["least"]) == {"0"}
        assert group["now"] == sum(lags.values())
    assert len(data["groups"]) > 5


def test_a_stuck_group_falls_behind_as_far_as_others_have_read(
    kgroup: Kgroup, tmp_path: Path, answered: dict
) -> None:
    """It has read 69 of each partition, and by its story nothing since."""
    (group,) = page_of(kgroup, tmp_path / "page.html", "--group", "warehouse-stuck")["groups"]
    furthest = {
        partition: max(
            offsets[f"orders-{partition}"]["offset"]
            for offsets in answered.values()
            if f"orders-{partition}" in offsets and offsets[f"orders-{partition}"]["offset"] <= 278
        )
        for partition in range(4)
    }
    assert {partition: last for _, partition, _, last in group["partitions"]} == {
        partition: offset - 69 for partition, offset in furthest.items()
    }
    lags = [lag for lag in group["total"]["lags"] if lag is not None]
    stuck_from = next(number for number, lag in enumerate(lags) if lag > 100)
    assert lags[stuck_from:] == sorted(lags[stuck_from:])
    assert group["now"] == 836
    assert group["total"]["least"].endswith("1")


def test_a_cluster_is_asked_how_long_its_logs_were(kgroup: Kgroup, tmp_path: Path) -> None:
    """Commits at 2 and at 7 of 10 records that are older than both."""
    with cluster(topics={"orders": 1}) as kafka:
        produce(kafka, 10, 1_700_000_000_000)
        commit(kafka, 2)
        commit(kafka, 7)
        ended = kgroup("lag-report", "-b", kafka.bootstrap, "-q", "--html", str(tmp_path / "page.html"))
    assert (ended.status, ended.err) == (0, "")
    (group,) = data_of(tmp_path / "page.html")["groups"]
    lags = [lag for lag in group["total"]["lags"] if lag is not None]
    assert lags[-1] == group["now"] == 3
    assert set(lags) <= {8, 3}
    assert "1" not in group["total"]["least"]


@pytest.mark.parametrize(
    ("span_ms", "windows_max", "step_ms"),
    [
        (0, 240, 1000),
        (239_000, 240, 1000),
        (239_001, 240, 2000),
        (86_400_000, 240, 600_000),
        (365 * 86_400_000, 24, 30 * 86_400_000),
        (100 * 365 * 86_400_000, 25, 51 * 30 * 86_400_000),
    ],
)
def test_steps_are_round_and_no_more_than_asked_for(span_ms: int, windows_max: int, step_ms: int) -> None:
    assert step_of(span_ms, windows_max) == step_ms
    assert -(-span_ms // step_ms) + 1 <= windows_max


def test_a_log_without_commits_has_no_page(kgroup: Kgroup, tmp_path: Path) -> None:
    segment = write(tmp_path, [batch(0, [group_metadata("g", 1)])], 7)
    ended = kgroup("lag-report", str(segment), "--html", str(tmp_path / "page.html"), "-q")
    assert (ended.status, ended.err) == (1, "kgroup: the log holds no commit, so it has no history\n")
    assert not (tmp_path / "page.html").exists()


def test_a_page_that_cannot_be_written_is_said(kgroup: Kgroup, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "page.html"
    ended = kgroup("lag-report", str(LIVES), "--html", str(path), "-q")
    assert (ended.status, ended.err) == (1, f"kgroup: cannot write {path}: No such file or directory\n")
