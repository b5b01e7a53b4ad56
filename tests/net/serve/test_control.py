"""The folder of the socket for commands: this user's own, whoever was first with its name."""

import os
from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.net.serve.control import control_path


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path


def test_it_is_below_the_temporary_folder_and_private(places: Path) -> None:
    path = control_path(9092)
    assert path == places / "temporary" / f"kgroup-{os.getuid()}" / "serve-9092.sock"
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_link_with_its_name_is_not_followed(places: Path) -> None:
    (places / "elsewhere").mkdir()
    (places / "temporary" / f"kgroup-{os.getuid()}").symlink_to(places / "elsewhere")
    assert control_path(9092).parent == places / "home" / f".kgroup-{os.getuid()}"


def test_without_any_place_that_is_said(places: Path) -> None:
    (places / "temporary" / f"kgroup-{os.getuid()}").touch()
    (places / "home").touch()
    with pytest.raises(SourceError, match="not this user's own"):
        control_path(9092)
