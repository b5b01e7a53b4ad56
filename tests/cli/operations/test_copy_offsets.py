"""`kgroup copy-offsets`, within a cluster and to another one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgroup.testing
from kgroup.testing import cluster
from tests.cli.conftest import Kgroup
from tests.cli.operations.conftest import BEGIN_MS, MINUTE_MS, commit, committed, produce

BEFORE = {("orders", 0): (40, -1, "m"), ("orders", 2): (200, 0, "")}


@pytest.fixture(scope="module", autouse=True)
def source(kafka: kgroup.testing.Cluster) -> None:
    commit(kafka.bootstrap, "source", BEFORE)


@pytest.fixture(scope="module")
def mirror() -> Iterator[kgroup.testing.Cluster]:
    """The records of orders from the 100th minute on, with offsets of its own."""
    with cluster(topics={"orders": 3}) as running:
        produce(running.bootstrap, "orders", (0, 0, 200), BEGIN_MS + 100 * MINUTE_MS)
        yield running


def test_a_copy_has_epochs_and_metadata_and_can_be_undone(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, tmp_path: Path
) -> None:
    line = ["copy-offsets", "source", "copied", "-b", kafka.bootstrap, "-q", "--create"]
    assert kgroup(*line).status == 0
    assert committed(kafka.bootstrap, "copied") == {}
    assert kgroup(*line, "--execute", "--undo-file", str(tmp_path / "undo")).status == 0
    assert committed(kafka.bootstrap, "copied") == committed(kafka.bootstrap, "source") == BEFORE
    undo = ["reset-offsets", "-b", kafka.bootstrap, "--undo", str(tmp_path / "undo"), "--execute", "-q"]
    assert kgroup(*undo).status == 0
    assert committed(kafka.bootstrap, "copied") == {}


def test_a_copy_of_some_partitions_leaves_the_others(kafka: kgroup.testing.Cluster, kgroup: Kgroup) -> None:
    commit(kafka.bootstrap, "partly", {("orders", 0): 1, ("audit", 0): 0})
    line = ["copy-offsets", "source", "partly", "-b", kafka.bootstrap, "--topic", "orders:2,1", "--execute"]
    assert kgroup(*line).status == 0
    assert committed(kafka.bootstrap, "partly") == {
        ("orders", 0): (1, -1, ""),
        ("orders", 2): (200, 0, ""),
        ("audit", 0): (0, -1, ""),
    }


def test_another_clusters_offsets_are_found_by_time(
    kafka: kgroup.testing.Cluster, mirror: kgroup.testing.Cluster, kgroup: Kgroup
) -> None:
    line = ["copy-offsets", "source", "there", "-b", kafka.bootstrap, "--to-bootstrap", mirror.bootstrap]
    ended = kgroup(*line, "--by-time", "--create", "--execute", "-o", "jsonl")
    assert ended.status == 0, ended.err
    rows = {row["partition"]: row for row in map(json.loads, ended.out.splitlines())}
    assert {number: row["new_offset"] for number, row in rows.items()} == {0: 0, 2: 100}
    assert {number: row["notes"] for number, row in rows.items()} == {
        0: ["at the end, as there"],
        2: ["by time"],
    }
    assert committed(mirror.bootstrap, "there") == {("orders", 0): (0, -1, ""), ("orders", 2): (100, -1, "")}
    assert f"-b {mirror.bootstrap} --undo" in ended.err
    assert committed(kafka.bootstrap, "there") == {}


def test_the_same_offsets_lose_their_leader_epochs_in_another_cluster(
    kafka: kgroup.testing.Cluster, mirror: kgroup.testing.Cluster, kgroup: Kgroup
) -> None:
    line = ["copy-offsets", "source", "same", "-b", kafka.bootstrap, "--to-bootstrap", mirror.bootstrap]
    options = ["--same-offsets", "--create", "--execute", "-q"]
    refused = kgroup(*line, *options)
    assert (refused.status, refused.err) == (
        1,
        "kgroup: out of range: orders-0 has 0 to 0, not 40; --clamp takes the nearest offset there is\n",
    )
    assert kgroup(*line, *options, "--topic", "orders:2").status == 0
    assert committed(mirror.bootstrap, "same") == {("orders", 2): (200, -1, "")}


def test_many_groups_keep_their_names_in_another_cluster_and_are_undone_together(
    kafka: kgroup.testing.Cluster, mirror: kgroup.testing.Cluster, kgroup: Kgroup, tmp_path: Path
) -> None:
    names = [f"moves-{number}" for number in range(6)]
    for number, name in enumerate(names):
        commit(kafka.bootstrap, name, {("orders", 2): 150 + number})
    commit(mirror.bootstrap, names[0], {("orders", 2): 7})
    line = ["copy-offsets", *names, "--same-names", "-b", kafka.bootstrap, "--to-bootstrap", mirror.bootstrap]
    undo = tmp_path / "undo"
    ended = kgroup(*line, "--by-time", "--create", "--execute", "-q", "--undo-file", str(undo), "-o", "jsonl")
    assert ended.status == 0, ended.err
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [(row["group"], row["new_offset"], row["result"]) for row in rows] == [
        (name, 50 + number, "done") for number, name in enumerate(names)
    ]
    assert [committed(mirror.bootstrap, name)["orders", 2][0] for name in names] == [50, 51, 52, 53, 54, 55]
    assert kgroup("reset-offsets", "-b", mirror.bootstrap, "--undo", str(undo), "--execute").status == 0
    assert [committed(mirror.bootstrap, name) for name in names] == [
        {("orders", 2): (7, -1, "")},
        *[{}] * 5,
    ]


def test_one_group_that_may_not_be_copied_leaves_the_others_alone(
    kafka: kgroup.testing.Cluster, mirror: kgroup.testing.Cluster, kgroup: Kgroup
) -> None:
    commit(kafka.bootstrap, "waits", {("orders", 2): 150})
    line = ["copy-offsets", "waits", "nosuch", "--same-names", "-b", kafka.bootstrap]
    ended = kgroup(*line, "--to-bootstrap", mirror.bootstrap, "--by-time", "--create", "--execute")
    assert (ended.status, ended.out, ended.err) == (1, "", "kgroup: no group 'nosuch' in this cluster\n")
    assert committed(mirror.bootstrap, "waits") == {}


@pytest.mark.parametrize(
    ("options", "status", "why"),
    [
        (["nosuch", "to"], 1, "no group 'nosuch' in this cluster"),
        (["source", "nosuch"], 1, "no group 'nosuch' in this cluster; --create makes it"),
        (["source", "to", "--topic", "audit"], 1, "group 'source' has no offsets for these topics to copy"),
        (["source", "to", "--topic", "nosuch"], 1, "no topic 'nosuch' in this cluster"),
        (
            ["source", "to", "--by-time"],
            2,
            "--to-command-config, --by-time, --same-offsets and --same-names are for another cluster: give"
            " --to-bootstrap",
        ),
        (["source"], 2, "name two groups, FROM and TO, not 1"),
        (
            ["source", "to", "--to-bootstrap", "a:1"],
            2,
            "offsets usually mean other records in another cluster: give --by-time, or --same-offsets for a"
            " mirror that preserves offsets",
        ),
        (
            ["source", "to", "--to-bootstrap", "a:1", "--by-time", "--same-offsets"],
            2,
            "--by-time does not go with --same-offsets",
        ),
    ],
)
def test_what_is_refused(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, options: list[str], status: int, why: str
) -> None:
    ended = kgroup("copy-offsets", *options, "-b", kafka.bootstrap)
    assert (ended.status, ended.out, ended.err) == (status, "", f"kgroup: {why}\n")
