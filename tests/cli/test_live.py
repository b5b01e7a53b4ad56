"""Commands on a live cluster: here one that has the files of a real broker and answers as it would."""

import json
import shutil

import pytest

from kgroup.net.admin.cluster import ClassicState
from kgroup.protocol.group_hash import partition_for
from tests.net.broker_with_files import LIVES, BrokerWithFiles


@pytest.fixture
def broker(monkeypatch):
    broker = BrokerWithFiles()
    monkeypatch.setattr(
        "kgroup.api.live.Cluster", lambda connection: broker
    )  # first: it takes the real one from the other
    monkeypatch.setattr("kgroup.net.admin.cluster.Cluster", lambda connection: broker)
    return broker


def rows_of(ended):
    assert ended.status == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def test_decode_of_a_cluster_says_what_decode_of_its_files_says(kgroup, broker):
    live = rows_of(kgroup("decode", "-b", "test:9092", "-o", "jsonl"))
    assert live == rows_of(kgroup("decode", str(LIVES), "-o", "jsonl"))


def test_decode_reads_only_the_partitions_asked_for(kgroup, broker):
    partition = next(iter(broker.segments))
    broker.segments = {partition: broker.segments[partition]}
    live = rows_of(kgroup("decode", "-b", "test:9092", "--partition", str(partition), "-o", "jsonl"))
    assert live == rows_of(kgroup("decode", str(LIVES), "--partition", str(partition), "-o", "jsonl"))


@pytest.mark.parametrize(
    "view",
    [[], ["--status", "--now", "1795178909603"], ["--stuck", "--now", "1795178924632"]],
    ids=["lag", "status", "stuck"],
)
def test_the_lag_report_of_a_cluster_is_that_of_its_files_and_answered_log_ends(
    kgroup, broker, tmp_path, view
):
    """Without the data topics' own logs, which prove more than a cluster says."""
    for folder in LIVES.glob("__consumer_offsets-*"):
        shutil.copytree(folder, tmp_path / folder.name)
    live = rows_of(kgroup("lag-report", "-b", "test:9092", "-o", "jsonl", *view))
    from_files = rows_of(
        kgroup("lag-report", str(tmp_path), "--log-ends", str(LIVES / "topics.json"), "-o", "jsonl", *view)
    )
    assert live
    assert live == from_files


def test_a_report_on_a_cluster_that_leads_no_data_topic_claims_no_lag(kgroup, broker, tmp_path):
    ended = kgroup("report", "-b", "test:9092", "--group", "orders-app", "-o", "json", "-q")
    assert ended.status == 0, ended.err
    kinds = {claim["kind"] for claim in json.loads(ended.out)["claims"]}
    assert "rebalance" in kinds and "lag" not in kinds
    (tmp_path / "report.json").write_text(ended.out)
    checked = kgroup("report", "--check", str(tmp_path / "report.json"), "-b", "test:9092")
    assert checked.status == 0, checked.err


def test_assign_takes_a_group_of_a_cluster_as_from_its_files(kgroup, broker):
    live = rows_of(kgroup("assign", "-b", "test:9092", "--group", "orders-app", "-o", "jsonl"))
    assert live
    assert live == rows_of(kgroup("assign", str(LIVES), "--group", "orders-app", "-o", "jsonl"))


def test_replay_of_a_cluster_is_that_of_its_files(kgroup, broker):
    live = rows_of(kgroup("replay", "-b", "test:9092", "--group", "trades-848", "-o", "jsonl"))
    assert live
    assert live == rows_of(kgroup("replay", str(LIVES), "--group", "trades-848", "-o", "jsonl"))


def test_replay_of_a_cluster_says_what_state_a_group_is_in_now(kgroup, broker):
    broker.states["orders-app"] = ClassicState(state="PreparingRebalance", members=3)
    ended = kgroup("replay", "-b", "test:9092", "--group", "orders-app", "--group", "trades-848")
    assert ended.err.splitlines()[-1] == "kgroup: group orders-app: now PreparingRebalance, with 3 members"
    assert "now" not in kgroup("replay", "-b", "test:9092", "--group", "orders-app", "-q").err
    assert "now" not in kgroup("replay", str(LIVES), "--group", "orders-app").err


def test_what_if_of_a_cluster_is_that_of_its_files(kgroup, broker):
    options = ("--group", "trades-848", "--members", "+1", "--rounds", "-o", "jsonl")
    live = rows_of(kgroup("what-if", "-b", "test:9092", *options))
    assert {row["case"] for row in live} == {"recorded", "what-if"}
    assert live == rows_of(kgroup("what-if", str(LIVES), *options))


def test_the_ledger_of_a_cluster_is_that_of_its_files(kgroup, broker, monkeypatch):
    monkeypatch.setattr("kgroup.net.admin.timestamps.first_newer", lambda cluster, times: {})
    options = ("--group", "reports-reset", "--certain", "-o", "jsonl")
    live = rows_of(kgroup("ledger", "-b", "test:9092", *options))
    assert [row["at_least"] for row in live] == [84] * 4
    assert live == rows_of(kgroup("ledger", str(LIVES), *options))


@pytest.mark.parametrize("command", ["decode", "lag-report"])
def test_files_and_a_cluster_at_once_are_refused(kgroup, broker, command):
    ended = kgroup(command, str(LIVES), "-b", "test:9092")
    assert (ended.status, ended.out) == (2, "")


def test_following_needs_a_cluster(kgroup):
    assert kgroup("decode", str(LIVES), "--follow").status == 2


def test_the_coordinator_of_a_group_with_its_place_and_whether_the_rule_agrees(kgroup, broker):
    (row,) = rows_of(kgroup("find-coordinator", "test-group", "-b", "test:9092", "-o", "jsonl"))
    assert row == {
        "group": "test-group",
        "partition": 12,
        "partitions": 50,
        "broker": 1,
        "host": "broker-1",
        "port": 9092,
        "rack": "a",
        "leader": 1,
        "rule_agrees": True,
        "error": None,
    }


def test_a_coordinator_that_does_not_lead_the_partition_is_told(kgroup, broker):
    broker.coordinator = 2
    (row,) = rows_of(kgroup("find-coordinator", "test-group", "-b", "test:9092", "-o", "jsonl"))
    assert (row["broker"], row["leader"], row["rule_agrees"], row["rack"]) == (2, 1, False, None)


def test_without_groups_a_cluster_is_asked_for_all_of_its_own(kgroup, broker):
    rows = rows_of(kgroup("find-coordinator", "-b", "test:9092", "-o", "jsonl"))
    assert [row["group"] for row in rows] == ["a", "test-group"]
    (row,) = rows_of(kgroup("find-coordinator", "--reverse", "12", "-b", "test:9092", "-o", "jsonl"))
    assert row["group"] == "test-group"


def test_a_group_without_a_coordinator_is_shown_and_the_exit_status_is_1(kgroup, broker):
    broker.coordinator = None
    ended = kgroup("find-coordinator", "a", "test-group", "-b", "test:9092", "-o", "jsonl")
    assert ended.status == 1
    assert [json.loads(line)["error"] for line in ended.out.splitlines()] == ["COORDINATOR_NOT_AVAILABLE"] * 2
    assert ended.err == "kgroup: test:9092: no coordinator for 2 of 2 groups: COORDINATOR_NOT_AVAILABLE\n"


class TestOffsetsPartitionDown:
    """The partition of `orders-app` has no leader."""

    GROUP = "orders-app"

    @pytest.fixture
    def down(self, broker):
        partition = partition_for(self.GROUP, 50)
        broker.leaderless = {partition}
        return partition

    def test_the_lag_report_says_so_and_goes_on_with_the_others(self, kgroup, down):
        ended = kgroup("lag-report", "-b", "test:9092", "-o", "jsonl")
        assert ended.status == 0
        rows = [json.loads(line) for line in ended.out.splitlines()]
        assert {partition_for(row["group"], 50) for row in rows}.isdisjoint({down})
        assert len({row["group"] for row in rows}) > 10
        (told,) = [line for line in ended.err.splitlines() if "offsets-partition-down" in line]
        assert told == (
            "kgroup: test:9092: offsets-partition-down: 1 of 50 partitions of __consumer_offsets have no"
            f" leader ({down}): their groups have no coordinator, and are not here"
        )
        assert kgroup("lag-report", "-b", "test:9092", "--strict").status == 3

    def test_a_finding_names_the_group_asked_for(self, kgroup, down):
        ended = kgroup("lag-report", "-b", "test:9092", "--stuck", "--group", self.GROUP, "-o", "jsonl")
        (row,) = rows_of(ended)
        assert (row["group"], row["finding"], row["severity"]) == (
            self.GROUP,
            "offsets-partition-down",
            "trouble",
        )
        assert (row["topic"], row["partition"], row["grade"]) == ("__consumer_offsets", down, "recorded")
        stuck = ("--fail-on", "stuck", "--group", self.GROUP, "--stuck")
        assert kgroup("lag-report", "-b", "test:9092", *stuck).status == 3

    def test_without_a_group_it_is_about_all_of_the_hash(self, kgroup, down):
        ended = kgroup("lag-report", "-b", "test:9092", "--stuck", "--now", "1795178924632", "-o", "jsonl")
        row = rows_of(ended)[0]
        assert (row["group"], row["finding"], row["partition"]) == ("*", "offsets-partition-down", down)
        assert f"every group id whose hash gives {down} of 50" in row["evidence"]

    def test_another_group_is_not_told_of_it(self, kgroup, down):
        ended = kgroup("lag-report", "-b", "test:9092", "--stuck", "--group", "trades-848", "-o", "jsonl")
        assert "offsets-partition-down" not in ended.out

    def test_rows_of_the_group_alone_are_refused_with_the_reason(self, kgroup, down):
        ended = kgroup("lag-report", "-b", "test:9092", "--group", self.GROUP)
        assert ended.status == 1
        assert "offsets-partition-down: 1 of 50 partitions" in ended.err

    def test_none_with_a_leader(self, kgroup, broker):
        broker.leaderless = set(broker.segments)
        ended = kgroup("lag-report", "-b", "test:9092", "--stuck")
        assert (ended.status, ended.err) == (
            1,
            "kgroup: test:9092: no partition of __consumer_offsets has a leader\n",
        )

    def test_find_coordinator_names_the_partition(self, kgroup, broker, down):
        broker.coordinator = None
        ended = kgroup("find-coordinator", "-b", "test:9092", self.GROUP, "trades-848")
        assert ended.status == 1
        assert ended.err == (
            "kgroup: test:9092: no coordinator for 2 of 2 groups: COORDINATOR_NOT_AVAILABLE;"
            f" offsets-partition-down: no broker leads __consumer_offsets-{down}\n"
        )
