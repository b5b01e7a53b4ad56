"""`kgroup demo`: captures to try, and what to try on them."""

import errno
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Kgroup

FIXTURES = Path(__file__).parents[3] / "fixtures"
BROKERS_FILES = "*-*/*.*"


def test_the_folder_has_what_the_brokers_left(kgroup: Kgroup, tmp_path: Path) -> None:
    assert kgroup("demo", str(tmp_path / "new")).status == 0
    for capture in ("3.9.1/lives", "4.3.1/lives"):
        there = {
            path.relative_to(FIXTURES): path.read_bytes() for path in (FIXTURES / capture).glob(BROKERS_FILES)
        }
        unpacked = {
            path.relative_to(tmp_path / "new"): path.read_bytes()
            for path in (tmp_path / "new" / capture).glob(BROKERS_FILES)
        }
        assert len(there) > 100
        assert unpacked == there


def test_the_commands_to_try_answer_as_on_the_captures_themselves(
    kgroup: Kgroup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kgroup("demo", "my demo")
    assert ended.err == "kgroup: my demo: what brokers of Kafka 3.9.1 and 4.3.1 left on disk; try these:\n"
    tries = [shlex.split(line) for line in ended.out.splitlines()]
    assert [words[:2] for words in tries] == [["kgroup", "lag"], ["kgroup", "explain"], ["kgroup", "replay"]]
    for _, *words in tries:
        tried = kgroup(*words)
        original = [word.replace("my demo", str(FIXTURES)) for word in words]
        assert original != words
        assert tried.status == 0
        assert tried.out
        assert tried.out == kgroup(*original).out


def test_without_a_word_it_is_a_folder_here(
    kgroup: Kgroup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = kgroup("demo", "-q")
    assert (ended.status, ended.err) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["kgroup-demo"]


def test_an_empty_folder_is_taken_and_another_is_left_as_it_is(kgroup: Kgroup, tmp_path: Path) -> None:
    assert kgroup("demo", str(tmp_path)).status == 0
    lives = tmp_path / "4.3.1" / "lives" / "meta.properties"
    lives.write_text("mine")
    again = kgroup("demo", str(tmp_path))
    assert (again.status, again.out) == (2, "")
    assert again.err == (f"kgroup: DIR {tmp_path}: not empty; name a new or empty folder\n")
    assert lives.read_text() == "mine"


def test_a_full_disk_leaves_no_part_of_a_capture(
    kgroup: Kgroup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    copy = shutil.copyfileobj

    def copy_until_full(*arguments: object) -> None:
        written.append(1)
        if len(written) > 50:
            raise OSError(errno.ENOSPC, "No space left on device")
        copy(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(shutil, "copyfileobj", copy_until_full)
    ended = kgroup("demo", str(tmp_path))
    assert len(written) == 51
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == f"kgroup: cannot write {tmp_path}: No space left on device\n"
    assert list(tmp_path.iterdir()) == []
