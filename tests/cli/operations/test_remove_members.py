"""`kgroup remove-members` on live groups."""

import json

import pytest

import kgroup.testing
from kgroup.testing import cluster
from tests.cli.conftest import Kgroup
from tests.cli.operations.conftest import commit, member


def test_a_static_member_is_taken_out_by_its_instance_id(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup
) -> None:
    with member(kafka.bootstrap, "static", "--group-instance-id", "shop-1"):
        line = ["remove-members", "static", "-b", kafka.bootstrap, "--instance", "shop-1", "-o", "jsonl"]
        planned = kgroup(*line)
        assert planned.err.splitlines() == [
            "kgroup: static is Stable: 1 member will be taken out, 0 will stay",
            "kgroup: dry run: nothing is changed; --execute does it",
        ]
        [row] = map(json.loads, planned.out.splitlines())
        assert (row["instance_id"], row["client_id"], "result" in row) == ("shop-1", "c1", False)
        done = kgroup(*line, "--execute", "--reason", "its host is gone")
        assert done.status == 0, done.err
        [row] = map(json.loads, done.out.splitlines())
        assert row["result"] == "removed"


def test_a_dynamic_member_by_its_id_and_wrong_ids(kafka: kgroup.testing.Cluster, kgroup: Kgroup) -> None:
    with member(kafka.bootstrap, "dynamic"):
        line = ["remove-members", "dynamic", "-b", kafka.bootstrap, "-o", "jsonl", "-q"]
        [row] = map(json.loads, kgroup(*line, "--all").out.splitlines())
        for option in ("--member", "--instance"):
            wrong = kgroup(*line, option, "nobody")
            assert (wrong.status, wrong.err) == (
                1,
                f"kgroup: {option} nobody: not in group 'dynamic'; there are {row['member_id']}\n",
            )
        done = kgroup(*line, "--member", row["member_id"], "--execute")
        assert (done.status, json.loads(done.out)["result"]) == (0, "removed")


def test_a_group_of_the_consumer_protocol_takes_nobody_out(kgroup: Kgroup) -> None:
    from tests.cli.operations.modern import modern_member

    with cluster(topics={"orders": 1}) as kafka, modern_member(kafka, "modern"):
        ended = kgroup("remove-members", "modern", "-b", kafka.bootstrap, "--all", "--execute")
        reset = kgroup("reset-offsets", "modern", "-b", kafka.bootstrap, "--topic", "orders", "--to-latest")
    assert (ended.status, ended.err) == (
        1,
        "kgroup: group 'modern' is of the consumer protocol, of which Kafka takes no member out on request:"
        " stop the member, or wait for its session to end\n",
    )
    assert reset.status == 1
    assert reset.err.startswith("kgroup: group 'modern' is ")
    assert "1 member is in it (new-1 at " in reset.err


@pytest.mark.parametrize(
    ("options", "status", "why"),
    [
        (["idle"], 2, "which members? Give --member ID, --instance ID or --all"),
        (["idle", "--all", "--member", "x"], 2, "--all does not go with --member"),
        (["nosuch", "--all"], 1, "no group 'nosuch' in this cluster"),
        (["idle", "--all"], 1, "group 'idle' is Empty: nobody is in it"),
    ],
)
def test_what_is_refused(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, options: list[str], status: int, why: str
) -> None:
    commit(kafka.bootstrap, "idle", {("orders", 0): 1})
    ended = kgroup("remove-members", *options, "-b", kafka.bootstrap)
    assert (ended.status, ended.out, ended.err) == (status, "", f"kgroup: {why}\n")
