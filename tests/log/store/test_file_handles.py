"""Files that stay open: a bounded number of them, read also when there is room for no other."""

import os
from pathlib import Path

import pytest

from kgroup.log.store.file_handles import FileHandles


def made(folder: Path, count: int) -> list[Path]:
    paths = [folder / str(number) for number in range(count)]
    for path in paths:
        path.write_text(path.name)
    return paths


def test_those_used_last_stay_open(tmp_path: Path) -> None:
    handles = FileHandles(open_max=2)
    first, second, third = made(tmp_path, 3)
    number = handles.reading(first)
    handles.reading(second)
    assert handles.reading(first) == number
    handles.reading(third)
    assert len(handles) == 2
    first.unlink()
    assert os.pread(handles.reading(first), 9, 0) == b"0"  # it was used after `second`, so it is open
    with pytest.raises(FileNotFoundError):
        second.unlink()
        handles.reading(second)


def test_a_file_for_reading_is_opened_anew_for_appending_and_then_serves_both(tmp_path: Path) -> None:
    handles = FileHandles()
    [path] = made(tmp_path, 1)
    handles.reading(path)
    number = handles.appending(path)
    os.write(number, b"!")
    assert handles.reading(path) == number
    assert path.read_text() == "0!"
    handles.close(path)
    handles.close(path)
    assert len(handles) == 0


def test_where_the_process_may_open_no_more_the_oldest_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handles = FileHandles()
    first, second, third = made(tmp_path, 3)
    handles.reading(first)
    handles.reading(second)
    real, free = os.open, [0]

    def scarce(path: Path, flags: int) -> int:
        if len(handles) > 1:
            raise OSError(24, "Too many open files")
        free[0] += 1
        return real(path, flags)

    monkeypatch.setattr("os.open", scarce)
    assert os.pread(handles.reading(third), 9, 0) == b"2"
    assert len(handles) == 2 and free == [1]


def test_without_any_open_file_the_failure_is_the_callers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(path: Path, flags: int) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("os.open", none_left)
    with pytest.raises(OSError, match="Too many open files"):
        FileHandles().reading(tmp_path / "a")


def test_who_is_given_up_lets_go_of_all(tmp_path: Path) -> None:
    handles = FileHandles()
    numbers = [handles.reading(path) for path in made(tmp_path, 3)]
    del handles
    for number in numbers:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(number)
