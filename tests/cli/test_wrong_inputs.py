"""Every wrong input that was tried, with what kgroup says to it: `wrong_inputs.txt`.

An entry is a command after `$`, what it writes to standard error (to standard output: nothing), and its exit
status in brackets. Nothing rewrites the list: each answer was read by a person.
"""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

LIST = Path(__file__).parent / "wrong_inputs.txt"
ROOT = Path(__file__).parents[2]


class WrongInput(NamedTuple):
    """A command line, and how it has to end."""

    command: str
    answer: str
    status: int


def wrong_inputs() -> list[WrongInput]:
    entries = re.finditer(
        r"^\$ kgroup ?(.*)\n((?:(?!\$ |\[).*\n)*)\[(\d+)\]$", LIST.read_text(), re.MULTILINE
    )
    return [WrongInput(entry[1], entry[2], int(entry[3])) for entry in entries]


def test_the_list_is_read_whole():
    assert len(wrong_inputs()) == LIST.read_text().count("\n$ ") + 1


@pytest.mark.parametrize("wrong", wrong_inputs(), ids=lambda wrong: wrong.command)
def test_a_wrong_input_is_answered_with_place_and_cause(wrong, kgroup, monkeypatch):
    monkeypatch.chdir(ROOT)
    ended = kgroup(*shlex.split(wrong.command))
    assert (ended.err, ended.status) == (wrong.answer, wrong.status)


@pytest.mark.parametrize("wrong", wrong_inputs(), ids=lambda wrong: wrong.command)
def test_an_answer_is_one_line_and_no_traceback(wrong):
    lines = wrong.answer.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("kgroup: ")
    assert wrong.status in (1, 2, 3)
