"""A file gets its name when it is whole."""

import errno
import os
from pathlib import Path

import pytest

from kgroup.errors import FindingsError, SourceError
from kgroup.report.destination import check_target, new_file, opened


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_until_the_end_there_is_what_was_there_before(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("old")
    path.chmod(0o640)
    with opened(path) as stream:
        stream.write("new")
        stream.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["rows.csv"]


def test_a_fault_on_the_way_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("old")
    with (
        pytest.raises(SourceError, match=f"cannot write {path}: No space left on device"),
        opened(path) as stream,
    ):
        stream.write("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(KeyboardInterrupt), opened(path):
        raise KeyboardInterrupt
    assert (path.read_text(), names(tmp_path)) == ("old", ["rows.csv"])


def test_a_result_that_is_complete_and_bad_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    with pytest.raises(FindingsError), opened(path) as stream:
        stream.write("all")
        raise FindingsError("stuck")
    assert (path.read_text(), names(tmp_path)) == ("all", ["rows.csv"])


def test_who_reads_along_finds_the_rows_under_the_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    with opened(path, live=True) as stream:
        stream.write("row")
        stream.flush()
        assert path.read_text() == "row"


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link, target = tmp_path / "link", tmp_path / "far" / "rows"
    link.symlink_to(target)
    with opened(link) as stream:
        stream.write("all")
    assert link.is_symlink()
    assert target.read_text() == "all"


def test_what_is_no_file_is_written_itself(tmp_path: Path) -> None:
    with new_file(Path("/dev/null")) as name:
        assert name == Path("/dev/null")
    os.mkfifo(tmp_path / "pipe")
    with new_file(tmp_path / "pipe") as name:
        assert name == tmp_path / "pipe"


@pytest.mark.parametrize(
    ("name", "why"),
    [("nowhere/x", "No such file or directory"), ("file/x", "Not a directory"), ("folder", "Is a directory")],
)
def test_a_file_that_cannot_be_is_refused_before_the_work(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(SourceError, match=f"cannot write .*: {why}"):
        check_target(tmp_path / name)
    check_target(tmp_path / "file")
    check_target(tmp_path / "new")
