"""`kgroup remove-members` on live groups."""

import json
from contextlib import ExitStack
from typing import Any

import pytest

import kgroup.testing
from kgroup.api.operations import each_group, removals
from kgroup.net.admin.coordinated import CoordinatorError
from kgroup.net.admin.group_changes import remove_members
from kgroup.testing import ErrorCode, cluster
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


def test_a_host_is_taken_out_of_every_group_that_has_it(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup
) -> None:
    with (
        member(kafka.bootstrap, "shops", "--group-instance-id", "shop-2"),
        member(kafka.bootstrap, "tills", "--group-instance-id", "shop-2"),
        member(kafka.bootstrap, "banks", "--group-instance-id", "bank-1"),
    ):
        line = ["remove-members", "shops", "banks", "tills", "-b", kafka.bootstrap, "-o", "jsonl"]
        planned = kgroup(*line, "--instance", "shop-2")
        assert planned.err.splitlines() == [
            "kgroup: shops is Stable: 1 member will be taken out, 0 will stay",
            "kgroup: banks is Stable: 0 members will be taken out, 1 will stay",
            "kgroup: tills is Stable: 1 member will be taken out, 0 will stay",
            "kgroup: dry run: nothing is changed; --execute does it",
        ]
        nowhere = kgroup(*line, "--instance", "shop-9")
        assert (nowhere.status, nowhere.err) == (1, "kgroup: --instance shop-9: in none of the 3 groups\n")
        done = kgroup(*line, "--instance", "shop-2", "--execute", "-q")
        assert done.status == 0, done.err
        rows = [json.loads(line) for line in done.out.splitlines()]
        assert [(row["group"], row["instance_id"], row["result"]) for row in rows] == [
            ("shops", "shop-2", "removed"),
            ("tills", "shop-2", "removed"),
        ]
        [stays] = map(json.loads, kgroup("remove-members", "banks", *line[4:], "--all").out.splitlines())
        assert stays["instance_id"] == "bank-1"


def test_a_refusal_ends_it_and_the_table_says_what_was_not_tried(
    kafka: kgroup.testing.Cluster, kgroup: Kgroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups in turns of one, the second of which is refused."""
    monkeypatch.setattr(each_group, "AT_ONCE", 1)

    def refuses_second(cluster: Any, group: str, *rest: Any) -> Any:
        if group == "north":
            raise CoordinatorError("no", ErrorCode.GROUP_AUTHORIZATION_FAILED)
        return remove_members(cluster, group, *rest)

    monkeypatch.setattr(removals, "remove_members", refuses_second)
    with ExitStack() as stack:
        for group in ("south", "north", "west"):
            stack.enter_context(member(kafka.bootstrap, group))
        options = ["-b", kafka.bootstrap, "--all", "-o", "jsonl"]
        ended = kgroup("remove-members", "south", "north", "west", *options, "--execute", "-q")
        assert (ended.status, ended.err) == (1, "kgroup: 2 of 3 members not taken out: no\n")
        rows = [json.loads(line) for line in ended.out.splitlines()]
        assert [(row["group"], row["result"]) for row in rows] == [
            ("south", "removed"),
            ("north", "refused: GROUP_AUTHORIZATION_FAILED"),
            ("west", "not tried"),
        ]


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
        (["--all"], 2, "no GROUP given: the groups that members are taken out of"),
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
