"""Every kind of reset, done and undone, and undone after a death just before or after its request."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kgroup.testing
from kgroup.api.operations import execute
from kgroup.cli.shell.app import main
from kgroup.net.admin.committed import commit_offsets
from tests.cli.conftest import Kgroup
from tests.cli.operations.conftest import BEGIN_MS, MINUTE_MS, Commits, commit, committed

BEFORE: Commits = {("orders", 0): (40, -1, "m"), ("orders", 2): (200, 0, "")}
CHANGED: Commits = {("orders", 0): (3, -1, ""), ("orders", 2): (4, -1, "")}


class DiedError(BaseException):
    """The process is gone: nothing catches it."""


class Stage:
    """A group that is to be reset, and what a reset may need besides."""

    def __init__(self, bootstrap: str, folder: Path, group: str) -> None:
        self.bootstrap, self.folder, self.group = bootstrap, folder, group

    def file(self, name: str, text: str) -> list[str]:
        (self.folder / name).write_text(text)
        return ["--from-file", str(self.folder / name)]

    def rescued(self) -> list[str]:
        where = {"group": self.group, "topic": "orders", "partition": 0}
        offsets = [where | {"offset": 3, "leader_epoch": 0, "metadata": "r"}]
        return self.file("r.json", json.dumps({"format": "kgroup-offsets/1", "offsets": offsets}))

    def from_group(self) -> list[str]:
        commit(self.bootstrap, f"{self.group}-other", CHANGED)
        return ["--from-group", f"{self.group}-other"]

    def rewound(self) -> list[str]:
        for offset in (210, 220, 230, 240, 200):
            commit(self.bootstrap, self.group, {("orders", 2): (offset, 0, "")})
        return ["--to-before", "rewound"]

    def undone(self) -> list[str]:
        """A reset that has been made, and whose undo is the one to be undone."""
        first = self.folder / "first.undo"
        commit(self.bootstrap, self.group, CHANGED)
        line = ["reset-offsets", self.group, "-b", self.bootstrap, "--topic", "orders:0", "--to-latest"]
        with pytest.raises(SystemExit):
            main([*line, "--execute", "-q", "--undo-file", str(first)])
        commit(self.bootstrap, self.group, BEFORE)
        return ["--undo", str(first)]


RESETS: dict[str, Callable[[Stage], list[str]]] = {
    "--to-earliest": lambda at: ["--topic", "orders", "--to-earliest"],
    "--to-latest": lambda at: ["--topic", "orders", "--to-latest"],
    "--to-current": lambda at: ["--topic", "orders", "--to-current"],
    "--to-offset": lambda at: ["--topic", "orders:0,2", "--to-offset", "7"],
    "--clamp": lambda at: ["--topic", "orders", "--to-offset", "9999", "--clamp"],
    "--shift-by": lambda at: ["--all-topics", "--shift-by", "-5"],
    "--to-datetime": lambda at: ["--topic", "orders", "--to-datetime", str(BEGIN_MS + 9 * MINUTE_MS)],
    "--by-duration": lambda at: ["--topic", "orders", "--by-duration", "P9000D"],
    "CSV": lambda at: at.file("p.csv", "orders,0,3\norders,1,0\n"),
    "CSV with groups": lambda at: at.file("p.csv", f"{at.group},orders,0,3\n{at.group},audit,0,0\n"),
    "JSON": Stage.rescued,
    "--from-group": Stage.from_group,
    "--to-before": Stage.rewound,
    "--undo": Stage.undone,
}


@pytest.fixture
def group(kafka: kgroup.testing.Cluster, tmp_path: Path) -> str:
    name = f"every-{tmp_path.name}"
    commit(kafka.bootstrap, name, BEFORE)
    return name


def dying(when: str) -> Callable[..., Any]:
    """A commit that ends the process before or after it is made."""

    def committing(*given: Any) -> Any:
        if when == "after its request":
            commit_offsets(*given)
        raise DiedError

    return committing


@pytest.mark.parametrize("when", ["done", "before its request", "after its request"])
@pytest.mark.parametrize("kind", RESETS)
def test_undo_gives_the_state_before(
    kafka: kgroup.testing.Cluster,
    kgroup: Kgroup,
    group: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    when: str,
) -> None:
    options = RESETS[kind](Stage(kafka.bootstrap, tmp_path, group))
    assert committed(kafka.bootstrap, group) == BEFORE
    undo = tmp_path / "undo"
    named = [] if kind == "--undo" else [group]
    line = ["reset-offsets", *named, "-b", kafka.bootstrap, *options, "--execute", "--undo-file", str(undo)]
    if when == "done":
        ended = kgroup(*line)
        assert ended.status == 0, ended.err
    else:
        with monkeypatch.context() as patched, pytest.raises(DiedError):
            patched.setattr(execute, "commit_offsets", dying(when))
            main(line)
    changed = committed(kafka.bootstrap, group)
    assert (changed == BEFORE) is (when == "before its request")
    undone = kgroup("reset-offsets", "-b", kafka.bootstrap, "--undo", str(undo), "--execute")
    assert undone.status == 0, undone.err
    assert committed(kafka.bootstrap, group) == BEFORE
