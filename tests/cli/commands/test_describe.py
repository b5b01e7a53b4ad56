"""`kgroup describe`, on files and on a cluster."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgroup.testing
from kgroup.history.groups.model import OwnedPartition
from kgroup.protocol.error_codes import ErrorCode
from kgroup.report.describe_rows import partitions_text
from tests.cli.conftest import Ended, Kgroup
from tests.net.usual_groups import CLIENT_ID, usual_groups

LIVES = "fixtures/4.3.1/lives"


@pytest.fixture(scope="module")
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with usual_groups() as running:
        yield running


def rows(ended: Ended) -> list[dict]:
    assert ended.status == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def test_partitions_of_a_log_are_those_of_the_lag_report(kgroup: Kgroup) -> None:
    described = [
        row
        for row in rows(kgroup("describe", "--all", "--from", LIVES, "-o", "jsonl"))
        if not row["group"].startswith("share-queue")  # no commits, but offsets of its own topic
    ]
    reported = rows(kgroup("lag-report", LIVES, "-o", "jsonl"))
    fields = (
        "group",
        "topic",
        "partition",
        "current_offset",
        "log_end_offset",
        "lag",
        "member_id",
        "client_id",
    )
    assert len(described) > 100
    assert [[row[field] for field in fields] for row in described] == [
        [row[field] for field in fields] for row in reported
    ]


@pytest.mark.parametrize(
    ("group", "members"),
    [
        # What the broker said just before it stopped, in the capture's groups.json.
        ("trades-848", {"kip-1": "orders:2-3 payments:2", "kip-3": "orders:0-1 payments:0-1"}),
        ("share-queue", {"share-0": "clicks.web:1", "share-1": "clicks.web:0"}),
        ("orders-app", {"grow-1": "orders:0-1 payments:0-1", "grow-3": "orders:2-3 payments:2"}),
    ],
)
def test_members_of_each_kind_own_what_they_own(kgroup: Kgroup, group: str, members: dict[str, str]) -> None:
    described = rows(kgroup("describe", group, "--members", "--from", LIVES, "-o", "jsonl"))
    assert {row["client_id"]: row["assignment"] for row in described} == members


def test_a_log_has_epochs_and_targets_of_the_consumer_protocol(kgroup: Kgroup) -> None:
    for row in rows(kgroup("describe", "trades-848", "--members", "--from", LIVES, "-o", "jsonl")):
        assert row["epoch"] == row["target_epoch"] == 7
        assert row["target_assignment"] == row["assignment"]
    (state,) = rows(kgroup("describe", "trades-848", "--state", "--from", LIVES, "-o", "jsonl"))
    assert (state["type"], state["state"], state["epoch"], state["target_epoch"], state["members"]) == (
        "consumer",
        "Stable",
        7,
        7,
        2,
    )


def test_a_share_group_of_a_log_begins_where_its_own_topic_says_and_its_lag_is_said_to_be_another(
    kgroup: Kgroup,
) -> None:
    ended = kgroup("describe", "share-queue-left", "--from", LIVES, "-o", "jsonl")
    # As the broker said just before it stopped, in the capture's groups.json.
    assert [
        (row["topic"], row["partition"], row["current_offset"], row["log_end_offset"], row["lag"])
        for row in rows(ended)
    ] == [("clicks.web", 0, 40, 95, 55), ("clicks.web", 1, 40, 95, 55)]
    assert (
        "share group share-queue-left: the current offset is where it begins to read, and lag is what from"
        " there on is not done with"
    ) in ended.err
    assert "share group" not in kgroup("describe", "orders-app", "--from", LIVES).err


def test_a_share_group_without_that_topic_has_members_and_no_offsets(kgroup: Kgroup, tmp_path: Path) -> None:
    shutil.copytree(LIVES, tmp_path / "lives", ignore=shutil.ignore_patterns("__share_group_state-*"))
    ended = kgroup("describe", "share-queue", "--from", str(tmp_path / "lives"), "-o", "jsonl")
    assert rows(ended) == []
    assert "group share-queue (share, Stable, 2 members): no offsets" in ended.err


def test_a_streams_group_of_a_log_has_its_topology_and_tasks(kgroup: Kgroup) -> None:
    """What the broker said of it just before it stopped, in the capture's groups.json."""
    (state,) = rows(kgroup("describe", "flow-tally", "--state", "--from", LIVES, "-o", "jsonl"))
    said = json.loads(Path(LIVES, "groups.json").read_text())["groups"]["flow-tally"]["described"]
    assert state["topology"]["epoch"] == state["topology"]["validated_epoch"] == said["topologyEpoch"]
    named = [
        (one["source_topics"], one["repartition_topics"], one["changelog_topics"])
        for one in state["topology"]["subtopologies"]
    ]
    assert named == [
        (["payments"], [], []),
        ([], ["flow-tally-tally-repartition"], ["flow-tally-tally-changelog"]),
    ]
    members = rows(kgroup("describe", "flow-tally", "--members", "--from", LIVES, "-o", "jsonl"))
    assert {
        row["member_id"]: f"(activeTasks={','.join(row['tasks']['active'])}, standbyTasks=, warmupTasks=)"
        for row in members
    } == {member["memberId"]: member["assignment"] for member in said["members"]}
    assert all(row["tasks"]["standby"] == row["tasks"]["warmup"] == [] for row in members)


def test_a_share_group_of_a_log_has_the_partitions_whose_state_is_set_up(kgroup: Kgroup) -> None:
    (state,) = rows(kgroup("describe", "share-queue", "--state", "--from", LIVES, "-o", "jsonl"))
    assert (state["shared"], state["share_waiting"]) == ("clicks.web:0-1", None)


def test_a_group_that_was_named_and_is_not_there_is_said_and_the_others_are_shown(kgroup: Kgroup) -> None:
    ended = kgroup("describe", "orders-app", "nosuch", "--state", "--from", LIVES, "-q", "-o", "csv")
    assert ended.status == 1
    assert [line.split(",")[0] for line in ended.out.splitlines()] == ["group", "orders-app"]
    assert ended.err == "kgroup: no group here matches nosuch\n"


def test_partitions_of_a_cluster(kgroup: Kgroup, kafka: kgroup.testing.Cluster) -> None:
    described = rows(kgroup("describe", "live-*", "empty-g", "-b", kafka.bootstrap, "-o", "jsonl"))
    shown = [
        (
            row["group"],
            row["partition"],
            row["current_offset"],
            row["log_end_offset"],
            row["lag"],
            row["client_id"],
        )
        for row in described
    ]
    assert shown == [
        ("empty-g", 0, 0, 0, 0, None),
        ("empty-g", 1, 0, 0, 0, None),
        ("empty-g", 2, 50, 300, 250, None),
        *(
            (group, partition, end, end, 0, CLIENT_ID)
            for group in ("live-classic", "live-new")
            for partition, end in ((0, 0), (1, 0), (2, 300))
        ),
    ]


def test_members_of_a_cluster_with_epochs(kgroup: Kgroup, kafka: kgroup.testing.Cluster) -> None:
    described = rows(kgroup("describe", "--all", "--members", "-b", kafka.bootstrap, "-o", "jsonl"))
    classic, new = described
    assert (classic["group"], classic["assignment"], classic["epoch"], classic["target_assignment"]) == (
        "live-classic",
        "orders:0-2",
        None,
        None,
    )
    assert (new["group"], new["assignment"], new["target_assignment"], new["is_classic"]) == (
        "live-new",
        "orders:0-2",
        "orders:0-2",
        False,
    )
    assert new["epoch"] == new["target_epoch"] > 0


def test_states_of_a_cluster_with_coordinators(kgroup: Kgroup, kafka: kgroup.testing.Cluster) -> None:
    ended = kgroup("describe", "--all", "--state", "-b", kafka.bootstrap)
    assert ended.status == 0
    heading, *lines = ended.out.splitlines()
    assert heading.split() == [
        "GROUP",
        "TYPE",
        "STATE",
        "PROTOCOL",
        "EPOCH",
        "TARGET-EPOCH",
        "MEMBERS",
        "COORDINATOR",
    ]
    assert [line.split()[:4] for line in lines] == [
        ["empty-g", "simple", "Empty", "-"],
        ["live-classic", "classic", "Stable", "range"],
        ["live-new", "consumer", "Stable", "uniform"],
    ]
    assert all(line.endswith(f"{kafka.bootstrap} (1)") for line in lines)


def test_a_group_that_nobody_may_describe_is_said_to_be_so_and_the_others_are_shown(
    kgroup: Kgroup, kafka: kgroup.testing.Cluster
) -> None:
    kafka.refuse("DescribeGroups", ErrorCode.GROUP_AUTHORIZATION_FAILED)
    ended = kgroup("describe", "live-*", "--state", "-b", kafka.bootstrap, "-q", "-o", "jsonl")
    classic, new = map(json.loads, ended.out.splitlines())
    assert (classic["state"], classic["members"], classic["problem"]) == (
        "Stable",
        None,
        "GROUP_AUTHORIZATION_FAILED",
    )
    assert (new["state"], new["members"], new["problem"]) == ("Stable", 1, None)
    assert (ended.status, ended.err) == (1, "kgroup: group live-classic: GROUP_AUTHORIZATION_FAILED\n")


def test_if_nobody_may_describe_any_of_them_that_is_all_that_is_said(
    kgroup: Kgroup, kafka: kgroup.testing.Cluster
) -> None:
    kafka.refuse("DescribeGroups", ErrorCode.GROUP_AUTHORIZATION_FAILED)
    ended = kgroup("describe", "live-classic", "--state", "-b", kafka.bootstrap)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == f"kgroup: {kafka.bootstrap}: group live-classic: GROUP_AUTHORIZATION_FAILED\n"


@pytest.mark.parametrize(
    ("owned", "text"),
    [
        ([], ""),
        ([("b", 1), ("a", 0), ("a", 2), ("a", 1), ("a", 5)], "a:0-2,5 b:1"),
        ([("a", 10), ("a", 9), ("a", 7)], "a:7,9-10"),
    ],
)
def test_partitions_in_a_row_are_written_as_first_and_last(owned: list[tuple[str, int]], text: str) -> None:
    assert partitions_text([OwnedPartition(*each) for each in owned]) == text
