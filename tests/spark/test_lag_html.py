"""`kgroup lag-report --html --spark` writes the lags that it writes without Spark, to the last number."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from kgroup.cli.shell.app import main
from kgroup.testing import cluster
from tests.cli.lag.test_time_lag import commit, produce
from tests.compat.captures import FIXTURES
from tests.report.pages.browser import data_of

LIVES = sorted(truth.parent for truth in FIXTURES.glob("[0-9]*/lives/truth.jsonl"))

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("shared_session")]


def page_of(folder: Path, *arguments: str) -> dict[str, Any]:
    """What is on the page, but for members, and findings that were not asked for: executors find neither."""
    page = folder / "page.html"
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", *arguments, "-q", "--html", str(page)])
    assert ended.value.code == 0
    return comparable(page, by_spark="--spark" in arguments, with_findings="--stuck" in arguments)


def comparable(page: Path, *, by_spark: bool, with_findings: bool = False) -> dict[str, Any]:
    """The data of a page that are the same by Spark."""
    data: dict[str, Any] = data_of(page)
    for group in data["groups"]:
        if by_spark:
            assert group["history"] is None
            assert group["whyNoHistory"] == "Spark read the log; kgroup replay --html shows them"
        for name in ("history", "whyNoHistory"):
            del group[name]
        if not with_findings:
            del group["findings"], group["judged"]
    return data


@pytest.mark.parametrize("capture", LIVES, ids=lambda path: path.parent.name)
def test_of_captures(capture: Path, tmp_path: Path) -> None:
    local = page_of(tmp_path, str(capture))
    assert len(local["groups"]) > 5
    assert page_of(tmp_path, str(capture), "--spark") == local


def test_of_findings_that_were_asked_for(tmp_path: Path) -> None:
    arguments = [str(LIVES[-1]), "--stuck", "--now", "2026-11-20T12:48:44Z"]
    local = page_of(tmp_path, *arguments)
    assert any(group["findings"] for group in local["groups"])
    spark = page_of(tmp_path, *arguments, "--spark")
    for here, there in zip(local["groups"], spark["groups"], strict=True):
        # Where members are known, they have their names, and patterns of their whole history come with them.
        for one in (*here["findings"], *there["findings"]):
            del one["where"]
        found = [one for one in here["findings"] if one["to"] is None]
        names = {one["name"] for one in here["findings"]}
        assert [one for one in there["findings"] if one in found] == found
        assert {one["name"] for one in there["findings"]} <= names
        del here["findings"], there["findings"]
    assert spark == local


def test_of_a_part_of_the_time_and_of_the_groups(tmp_path: Path) -> None:
    arguments = [str(LIVES[-1]), "--since", "2026-11-20T12:46Z", "--now", "2026-11-20T12:48Z"]
    arguments += ["--group", "warehouse*", "--status"]
    local = page_of(tmp_path, *arguments)
    assert page_of(tmp_path, *arguments, "--spark") == local


def test_by_uri_with_what_the_offsets_topic_alone_tells(tmp_path: Path) -> None:
    """Where the topics' own logs are not at hand, how far others had read says how long they were."""
    for child in LIVES[-1].iterdir():
        if child.is_file():
            shutil.copy(child, tmp_path)
        elif child.name.startswith("__consumer_offsets-"):
            shutil.copytree(child, tmp_path / child.name)
    arguments = ["--log-ends", str(tmp_path / "topics.json"), "--now", "2026-11-20T12:48:44Z"]
    local = page_of(tmp_path, str(tmp_path), *arguments)
    assert any("1" in group["lag"]["total"]["least"] for group in local["groups"])
    assert page_of(tmp_path, tmp_path.as_uri(), *arguments, "--spark") == local


def test_of_a_cluster_which_is_asked_from_here_how_long_its_logs_were(tmp_path: Path) -> None:
    with cluster(topics={"orders": 1}) as kafka:
        produce(kafka, 10, 1_700_000_000_000)
        commit(kafka, 2)
        arguments = ["-b", kafka.bootstrap, "--now", "2100-01-01"]
        local = page_of(tmp_path, *arguments)
        (group,) = local["groups"]
        assert (group["now"], set(group["lag"]["total"]["least"])) == (8, {"0"})
        assert page_of(tmp_path, *arguments, "--spark") == local
