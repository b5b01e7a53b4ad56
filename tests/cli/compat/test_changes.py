"""The calls of the transcript that change something, one after the other, as they were made."""

from pathlib import Path

import pytest

from kgroup.testing import cluster
from tests.cli.compat.transcript import transcript
from tests.cli.conftest import Kgroup
from tests.cli.operations.conftest import commit, committed
from tests.net.usual_groups import usual_groups

_CHANGING = ("--reset-offsets", "--delete", "--delete-offsets")
_FILES = {
    "plan1.csv": "orders,0,0\norders,2,17\n",
    "plan2.csv": "empty-g,orders,2,23\n",
    "bad.csv": "orders,x,3\n",
}


def test_all_calls_that_change_something_print_what_the_tool_printed(
    kgroup: Kgroup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In their order, as each finds what the ones before it have left; others lie between them that read."""
    calls = [each for each in transcript() if each.arguments[:1] and each.arguments[0] in _CHANGING]
    assert len(calls) == 34
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name, text in _FILES.items():
        (tmp_path / name).write_text(text)
    with usual_groups() as kafka:
        for theirs in calls:
            ours = kgroup("compat", "--bootstrap-server", kafka.bootstrap, *theirs.arguments)
            assert (ours.out, ours.err, ours.status) == (theirs.out, theirs.err, theirs.status), theirs.line


def test_what_a_script_took_can_be_undone(
    kgroup: Kgroup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    before = {("orders", 0): (0, -1, "m")}
    with cluster(topics={"orders": 1}) as kafka:
        line = ["compat", "--bootstrap-server", kafka.bootstrap]
        for action in (
            ["--reset-offsets", "--group", "g", "--topic", "orders", "--to-latest", "--execute"],
            ["--delete", "--group", "g"],
            ["--delete-offsets", "--group", "g", "--topic", "orders"],
        ):
            commit(kafka.bootstrap, "g", before)
            ended = kgroup(*line, *action)
            assert (ended.status, ended.err) == (0, "")
            [undo] = (tmp_path / "kgroup" / "undo").iterdir()
            assert (
                kgroup("reset-offsets", "-b", kafka.bootstrap, "--undo", str(undo), "--execute").status == 0
            )
            assert committed(kafka.bootstrap, "g") == before
            for path in (tmp_path / "kgroup" / "undo").iterdir():
                path.unlink()


def test_without_a_place_for_an_undo_file_it_is_done_all_the_same(
    kgroup: Kgroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    with cluster(topics={"orders": 1}) as kafka:
        commit(kafka.bootstrap, "g", {("orders", 0): 0})
        ended = kgroup("compat", "--bootstrap-server", kafka.bootstrap, "--delete", "--group", "g")
        assert committed(kafka.bootstrap, "g") == {}
    assert ended.out == "Deletion of requested consumer groups ('g') was successful.\n"
    assert ended.err == ("kgroup: no undo file: /dev/null/kgroup/undo: no private folder for undo files\n")
