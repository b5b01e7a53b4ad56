"""`kgroup delete` and `kgroup delete-offsets`, and their way back."""

from pathlib import Path

import pytest

import kgroup.testing
from tests.cli.conftest import Kgroup
from tests.cli.operations.conftest import commit, committed, member

BEFORE = {("orders", 0): (40, -1, "m"), ("orders", 2): (200, 0, ""), ("audit", 0): (0, -1, "")}


def groups(kafka: kgroup.testing.Cluster) -> set[str]:
    return {group["group"] for group in kafka.state()["groups"]}


def test_deleted_groups_come_back_with_their_offsets(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, tmp_path: Path
) -> None:
    for name in ("old-1", "old-2"):
        commit(kafka.bootstrap, name, BEFORE)
    line = ["delete", "old-1", "old-2", "-b", kafka.bootstrap]
    planned = kgroup(*line)
    assert planned.err.splitlines() == [
        "kgroup: old-1: 3 offsets will be deleted",
        "kgroup: old-2: 3 offsets will be deleted",
        "kgroup: dry run: nothing is changed; --execute does it",
    ]
    assert {"old-1", "old-2"} <= groups(kafka)
    undo = tmp_path / "undo"
    done = kgroup(*line, "--execute", "--undo-file", str(undo), "--no-headers")
    assert done.status == 0, done.err
    assert [line.split()[-1] for line in done.out.splitlines()] == ["done"] * 6
    assert not {"old-1", "old-2"} & groups(kafka)
    assert kgroup("reset-offsets", "-b", kafka.bootstrap, "--undo", str(undo), "--execute").status == 0
    assert [committed(kafka.bootstrap, name) for name in ("old-1", "old-2")] == [BEFORE, BEFORE]


def test_all_groups_are_looked_at_before_the_first_is_deleted(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup
) -> None:
    commit(kafka.bootstrap, "stays", BEFORE)
    ended = kgroup("delete", "stays", "nosuch", "-b", kafka.bootstrap, "--execute")
    assert (ended.status, ended.out, ended.err) == (1, "", "kgroup: no group 'nosuch' in this cluster\n")
    assert committed(kafka.bootstrap, "stays") == BEFORE


def test_an_active_group_is_not_deleted(kafka: kgroup.testing.Cluster, kgroup: Kgroup) -> None:
    with member(kafka.bootstrap, "busy"):
        ended = kgroup("delete", "busy", "-b", kafka.bootstrap, "--execute")
        assert (ended.status, ended.err) == (
            1,
            "kgroup: group 'busy' is Stable: 1 member is in it (c1 at /127.0.0.1); stop its members first\n",
        )


def test_offsets_of_a_topic_are_deleted_and_restored(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, tmp_path: Path
) -> None:
    commit(kafka.bootstrap, "forgets", BEFORE)
    line = [
        "delete-offsets",
        "forgets",
        "-b",
        kafka.bootstrap,
        "--topic",
        "orders",
        "--topic",
        "audit:0",
        "-q",
    ]
    assert kgroup(*line).status == 0
    assert committed(kafka.bootstrap, "forgets") == BEFORE
    undo = tmp_path / "undo"
    assert kgroup(*line, "--execute", "--undo-file", str(undo)).status == 0
    assert committed(kafka.bootstrap, "forgets") == {}
    assert kgroup("reset-offsets", "-b", kafka.bootstrap, "--undo", str(undo), "--execute").status == 0
    assert committed(kafka.bootstrap, "forgets") == BEFORE


def test_offsets_of_many_groups_are_deleted_and_restored_together(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, tmp_path: Path
) -> None:
    names = [f"forgetful-{number}" for number in range(6)]
    for name in names:
        commit(kafka.bootstrap, name, BEFORE)
    line = ["delete-offsets", *names, "-b", kafka.bootstrap, "--topic", "orders"]
    planned = kgroup(*line)
    assert planned.err.splitlines() == [
        "kgroup: 6 groups: 12 offsets will be deleted",
        "kgroup: dry run: nothing is changed; --execute does it",
    ]
    undo = tmp_path / "undo"
    assert kgroup(*line, "--execute", "--undo-file", str(undo)).status == 0
    assert [set(committed(kafka.bootstrap, name)) for name in names] == [{("audit", 0)}] * 6
    assert kgroup("reset-offsets", "-b", kafka.bootstrap, "--undo", str(undo), "--execute").status == 0
    assert [committed(kafka.bootstrap, name) for name in names] == [BEFORE] * 6


def test_one_group_without_offsets_of_the_topic_leaves_the_others_alone(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup
) -> None:
    commit(kafka.bootstrap, "has-both", BEFORE)
    commit(kafka.bootstrap, "has-audit", {("audit", 0): 0})
    ended = kgroup(
        "delete-offsets", "has-both", "has-audit", "-b", kafka.bootstrap, "--topic", "orders", "--execute"
    )
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == "kgroup: group 'has-audit' has no offsets for orders\n"
    assert committed(kafka.bootstrap, "has-both") == BEFORE


def test_offsets_of_some_partitions_only(kafka: kgroup.testing.Cluster, kgroup: Kgroup) -> None:
    commit(kafka.bootstrap, "partly-forgets", BEFORE)
    line = ["delete-offsets", "partly-forgets", "-b", kafka.bootstrap, "--topic", "orders:2,1", "--execute"]
    assert kgroup(*line).status == 0
    assert set(committed(kafka.bootstrap, "partly-forgets")) == {("orders", 0), ("audit", 0)}


def test_a_topic_that_a_member_reads_is_refused_and_another_is_not(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup
) -> None:
    commit(kafka.bootstrap, "reads", {("orders", 2): 10, ("audit", 0): 0})
    with member(kafka.bootstrap, "reads"):
        line = ["delete-offsets", "reads", "-b", kafka.bootstrap, "--execute", "-q"]
        refused = kgroup(*line, "--topic", "orders:2", "--no-headers")
        assert refused.status == 1
        assert refused.out.rstrip().endswith(
            "refused: GROUP_SUBSCRIBED_TO_TOPIC (a member subscribes to the topic)"
        )
        assert "nothing was done (1 refused)" in refused.err
        assert kgroup(*line, "--topic", "audit").status == 0
        assert ("audit", 0) not in committed(kafka.bootstrap, "reads")


@pytest.mark.parametrize(
    ("options", "status", "why"),
    [
        (["delete"], 2, "no GROUP given: the groups to delete"),
        (["delete-offsets", "--topic", "orders"], 2, "no GROUP given: the groups whose offsets to delete"),
        (["delete-offsets", "kept"], 2, "no --topic given: the topics whose offsets to delete"),
        (["delete-offsets", "nosuch", "--topic", "orders"], 1, "no group 'nosuch' in this cluster"),
        (["delete-offsets", "kept", "--topic", "orders:1"], 1, "group 'kept' has no offsets for orders:1"),
        (["delete-offsets", "kept", "--topic", "nosuch"], 1, "no topic 'nosuch' in this cluster"),
        (["delete-offsets", "kept", "--topic", "orders:4"], 1, "orders has no partition 4, but 0 to 2"),
        (
            ["delete", "kept", "--undo-file", "x"],
            2,
            "--undo-file goes with --execute: a dry run changes nothing",
        ),
    ],
)
def test_what_is_refused(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, options: list[str], status: int, why: str
) -> None:
    commit(kafka.bootstrap, "kept", BEFORE)
    ended = kgroup(*options, "-b", kafka.bootstrap)
    assert (ended.status, ended.out, ended.err) == (status, "", f"kgroup: {why}\n")
