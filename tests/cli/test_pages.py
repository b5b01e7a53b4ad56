"""What comes onto a page of groups or of a cluster, from captures and from a live cluster."""

import json
from pathlib import Path
from typing import Any

import pytest

from kgroup import lag_report, open_logs, replay
from kgroup.api import pages
from kgroup.api.pages import pages_of_replayed
from kgroup.report.pages.page import GroupPage
from kgroup.testing import cluster
from tests.cli.conftest import Kgroup
from tests.cli.lag.test_time_lag import commit, produce
from tests.log.truth import FIXTURES
from tests.report.pages.browser import data_of

LIVES = FIXTURES / "4.3.1/lives"
NOW_MS = 4_102_444_800_000  # 2100-01-01


def replayed(*groups: str, folder: Path = LIVES) -> dict[str, GroupPage]:
    with open_logs(folder) as logs:
        made = pages_of_replayed(replay(logs, list(groups)), logs, clock_ms=NOW_MS)
    return {one.group: one for one in made.groups}


def test_a_replayed_group_has_the_lag_that_the_broker_answered() -> None:
    """It reads payments alone, of which the capture has the logs."""
    group = replayed("migrate-online")["migrate-online"]
    said = json.loads((LIVES / "groups.json").read_text())["groups"]["migrate-online"]["offsets"]
    assert group.now is not None and group.lags is not None
    assert group.now.lag == sum(of_partition["lag"] for of_partition in said.values())
    assert {f"{topic}-{partition}": lag for (topic, partition), lag in group.now.lags.items()} == {
        name: of_partition["lag"] for name, of_partition in said.items()
    }
    assert not any(group.lags.total.at_least)
    assert group.lags.total.lags[-1] == group.now.lag


def test_findings_on_the_page_are_those_of_the_lag_report() -> None:
    with open_logs(LIVES) as logs:
        found = lag_report(logs, groups="warehouse-stuck", findings=True).findings()
    assert found
    assert replayed("warehouse-stuck")["warehouse-stuck"].findings == list(found)


def test_each_group_of_several_has_its_own() -> None:
    groups = replayed("warehouse-stuck", "push-*")
    assert sorted(groups) == ["push-storm", "warehouse-stuck"]
    assert {group: len(one.timeline.generations) for group, one in groups.items() if one.timeline} == {
        "push-storm": 48,
        "warehouse-stuck": 2,
    }
    assert [one.lags.group for one in groups.values() if one.lags] == ["push-storm", "warehouse-stuck"]


def test_of_standard_input_the_lag_is_unknown_and_why(kgroup: Kgroup, tmp_path: Path) -> None:
    (segment,) = (LIVES / "__consumer_offsets-26").glob("*.log")
    page = tmp_path / "page.html"
    given = ("--group", "warehouse-stuck", "-q", "--html", str(page))
    ended = kgroup("replay", "-", *given, stdin=segment.read_bytes())
    assert ended.status == 0
    data = data_of(page)
    (group,) = data["groups"]
    assert data["axis"] is None and group["lag"] is None and group["now"] is None
    assert group["whyNoLag"] == "the log came on standard input, and lag needs files"
    assert not group["judged"]
    assert len(group["history"]["generations"]) == 2


def test_a_live_cluster_is_asked_for_its_lags(kgroup: Kgroup, tmp_path: Path) -> None:
    """Commits at 2 of 10 records that are older than it."""
    page = tmp_path / "page.html"
    with cluster(topics={"orders": 1}) as kafka:
        produce(kafka, 10, 1_700_000_000_000)
        commit(kafka, 2)
        ended = kgroup("replay", "-b", kafka.bootstrap, "--group", "*", "-q", "--html", str(page))
    assert ended.status == 0
    (group,) = data_of(page)["groups"]
    assert group["now"] == group["lag"]["highest"] == 8
    assert {lag for lag in group["lag"]["total"]["lags"] if lag is not None} == {8}
    assert "1" not in group["lag"]["total"]["least"]


def cluster_page(kgroup: Kgroup, folder: Path, *arguments: str) -> dict[str, Any]:
    page = folder / "page.html"
    ended = kgroup("lag-report", str(LIVES), "-q", "--html", str(page), *arguments)
    assert (ended.status, ended.err) == (0, "")
    return data_of(page)


def test_the_page_of_a_cluster_has_every_group_with_members_and_findings(
    kgroup: Kgroup, tmp_path: Path
) -> None:
    of_page = {group["group"]: group for group in cluster_page(kgroup, tmp_path)["groups"]}
    with_findings = {group for group, one in of_page.items() if one["findings"]}
    assert {"warehouse-stuck", "push-storm", "left-behind"} <= with_findings
    assert "orders-app" not in with_findings
    assert len(of_page["orders-app"]["history"]["generations"]) == 6
    assert all(one["judged"] for one in of_page.values())


def test_members_are_drawn_of_the_groups_with_most_to_tell(
    kgroup: Kgroup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "HISTORIES_MAX", 12)
    groups = cluster_page(kgroup, tmp_path)["groups"]
    drawn = [one for one in groups if one["history"]]
    assert len(drawn) == 12 < len(groups)
    # Patterns come with the members, so they do not say who gets some.
    assert {one["group"] for one in groups if not one["history"] and one["findings"]} == set()
    rest = next(one for one in groups if one["history"] is None)
    assert rest["whyNoHistory"] == "only of 12 groups here; kgroup replay --html shows any"


def test_what_was_found_after_the_time_of_the_page_is_not_on_it(kgroup: Kgroup, tmp_path: Path) -> None:
    data = cluster_page(kgroup, tmp_path, "--now", "2026-11-20T12:46:40Z")
    assert data["isPart"]
    assert not any(one["judged"] for one in data["groups"])
