"""Users who may do only a part of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgroup.testing
from kgroup.testing import cluster
from tests.cli.conftest import Kgroup
from tests.cli.operations.conftest import commit, committed

ACLS = """
allow User:ANONYMOUS READ group mine
allow User:ANONYMOUS DESCRIBE group seen
allow User:ANONYMOUS READ topic orders
allow User:ANONYMOUS DESCRIBE topic audit
"""


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[kgroup.testing.Cluster]:
    (tmp_path / "acls").write_text(ACLS)
    topics = {"orders": 1, "audit": 1, "secret": 1}
    with cluster(topics=topics, properties={"kgroup.acls.file": str(tmp_path / "acls")}) as running:
        commit(running.bootstrap, "mine", {("orders", 0): 0})
        yield running


def test_what_may_be_done_is_done_and_the_undo_file_covers_exactly_that(
    guarded: kgroup.testing.Cluster, kgroup: Kgroup, tmp_path: Path
) -> None:
    """The commit of orders is taken, that of audit in the same request is refused."""
    undo = tmp_path / "undo"
    line = ["reset-offsets", "mine", "-b", guarded.bootstrap, "--topic", "orders", "--topic", "audit"]
    ended = kgroup(*line, "--to-current", "--execute", "--undo-file", str(undo), "-o", "jsonl", "-q")
    assert ended.status == 1
    results = {row["topic"]: row["result"] for row in map(json.loads, ended.out.splitlines())}
    assert results == {"orders": "done", "audit": "refused: TOPIC_AUTHORIZATION_FAILED"}
    assert ended.err.splitlines()[-1] == (
        "kgroup: not all of it was done (1 done, 1 refused): audit-0: TOPIC_AUTHORIZATION_FAILED; what was"
        f" done is undone by: kgroup reset-offsets -b {guarded.bootstrap} --undo {undo}"
    )
    assert '"applied": 0, "failed": [["audit", 0, "TOPIC_AUTHORIZATION_FAILED"]]' in undo.read_text()


def test_a_group_that_may_be_seen_and_not_read(guarded: kgroup.testing.Cluster, kgroup: Kgroup) -> None:
    ended = kgroup(
        *("reset-offsets", "seen", "-b", guarded.bootstrap, "--topic", "orders", "--to-latest", "--create"),
        *("--execute", "-q", "--no-headers"),
    )
    assert ended.status == 1
    assert ended.out.split()[-2:] == ["refused:", "GROUP_AUTHORIZATION_FAILED"]
    assert committed(guarded.bootstrap, "mine") == {("orders", 0): (0, -1, "")}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            ["hidden", "--topic", "orders", "--to-latest"],
            "{server}: cannot describe group 'hidden': no coordinator: GROUP_AUTHORIZATION_FAILED",
        ),
        (
            ["mine", "--topic", "secret", "--to-latest"],
            "topic 'secret': this user may not see it (TOPIC_AUTHORIZATION_FAILED)",
        ),
    ],
)
def test_what_may_not_be_seen(
    guarded: kgroup.testing.Cluster, kgroup: Kgroup, options: list[str], why: str
) -> None:
    ended = kgroup("reset-offsets", "-b", guarded.bootstrap, *options, "--execute")
    assert (ended.status, ended.err) == (1, f"kgroup: {why.format(server=guarded.bootstrap)}\n")
    deleted = kgroup("delete", "hidden", "-b", guarded.bootstrap, "--execute")
    assert deleted.err.endswith(
        "cannot describe group 'hidden': no coordinator: GROUP_AUTHORIZATION_FAILED\n"
    )
