"""The undo file on the disk: its name, and that nothing is ever written over it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from kgroup.api.operations import undo_file
from kgroup.api.operations.undo_file import UndoFile, default_path, read_undo_file
from kgroup.errors import RefusedError, SourceError
from kgroup.operations.journal import JournalHead, Step, StepKind, plan_text

HEAD = JournalHead(
    command="delete", cluster_id="c", bootstrap_servers="a:1", created_ms=1, existed={"g": True}
)


def test_of_many_that_want_a_name_at_once_one_gets_it(tmp_path: Path) -> None:
    path, begun = tmp_path / "undo", Barrier(8)

    def make(number: int) -> str:
        begun.wait()
        try:
            UndoFile.create(path, HEAD, ()).close()
        except SourceError as error:
            return str(error)
        return "made"

    with ThreadPoolExecutor(8) as pool:
        ends = sorted(pool.map(make, range(8)))
    refused = f"{path}: there is such a file already, and an undo file is never overwritten"
    assert ends == [refused] * 7 + ["made"]
    assert [each.name for each in tmp_path.iterdir()] == ["undo"]


def test_a_file_that_cannot_be_written_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(SourceError, match="no undo file, so nothing is changed: No space left on device"):
        UndoFile.create(tmp_path / "undo", HEAD, ())
    assert not (tmp_path / "undo").exists()


def test_what_could_not_be_read_again_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = (Step(kind=StepKind.DELETE_GROUP, group="g", changes=()),)
    size = len(plan_text(HEAD, steps))
    monkeypatch.setattr(undo_file, "OFFSETS_BYTES_MAX", 8 * size - 1)
    with pytest.raises(RefusedError, match="too many offsets for one undo file, so nothing is changed"):
        UndoFile.create(tmp_path / "undo", HEAD, steps)
    assert not any(tmp_path.iterdir())
    monkeypatch.setattr(undo_file, "OFFSETS_BYTES_MAX", 8 * size)
    file = UndoFile.create(tmp_path / "undo", HEAD, steps)
    file.begin(0)
    file.applied(0, {})
    file.close()
    assert read_undo_file(tmp_path / "undo").applied == {0}


@pytest.mark.parametrize(
    ("one", "other"),
    [("a b", "a_b"), ("a/b", "a_b"), ("é", "_"), ("x" * 70 + "1", "x" * 70 + "2")],
)
def test_groups_whose_names_look_alike_have_files_of_their_own(tmp_path: Path, one: str, other: str) -> None:
    """Even if neither file is there yet, as in a script that runs for many groups at once."""
    tmp_path.chmod(0o700)
    names = [default_path(tmp_path, "delete", group, "20261123T081500Z").name for group in (one, other)]
    assert names[0] != names[1]
    assert all(len(name) < 120 and "/" not in name for name in names)


def test_a_name_that_needs_no_change_is_in_the_files_name(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    path = default_path(tmp_path, "reset-offsets", "billing.v2", "20261123T081500Z")
    assert path.name == "20261123T081500Z-reset-offsets-billing.v2.undo"
