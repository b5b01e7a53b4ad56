"""The `console` blocks of README.md and of docs/ are run as they stand, and must answer what they show.

They run the kgroup of this Python, or the one in the folder KGROUP_BIN, as of a venv with a wheel. A page's
examples run in their order, as a reader types them, and find what those before them wrote. Where they say
/tmp they get a folder of this run, so that nothing that lies there already is read or overwritten. One worker
plays a page (tests/workers.py).
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").glob("*.md")))


class Shown(NamedTuple):
    """A command of a page and the answer that stands below it."""

    page: str
    line: int
    command: str
    answer: str


def shown_commands(page: Path) -> list[Shown]:
    """Every `$ command` of the `console` blocks with the lines up to the next command or the block's end."""
    text = page.read_text(encoding="utf-8")
    commands = []
    for block in re.finditer(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        first_line = text.count("\n", 0, block.start(1)) + 1
        for call in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block[1], re.MULTILINE):
            line = first_line + block[1].count("\n", 0, call.start())
            commands.append(Shown(page.name, line, call[1], call[2]))
    return commands


@pytest.fixture(scope="session")
def scratch(tmp_path_factory):
    """What stands for /tmp."""
    return tmp_path_factory.mktemp("pages")


def in_its_place(text: str, folder: Path) -> str:
    """A command or an answer with this folder for /tmp."""
    return re.sub(r"(?<![\w./-])/tmp(?![\w-])", str(folder), text)


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(shown, id=f"{shown.page} line {shown.line}")
        for page in PAGES
        for shown in shown_commands(page)
    ],
)
def test_an_example_answers_what_the_page_shows(shown, scratch):
    scripts = os.environ.get("KGROUP_BIN", str(Path(sys.executable).parent))
    environment = {
        **os.environ,
        "PATH": scripts + os.pathsep + os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "TMPDIR": str(scratch),
    }
    environment.pop("COLUMNS", None)
    ended = subprocess.run(
        ["bash", "-c", f"{{ {in_its_place(shown.command, scratch)}; }} 2>&1"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout == in_its_place(shown.answer, scratch)


LONGEST = 140
"""Lines of the README: a page to read, not a manual."""


def test_the_readme_is_a_page():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= LONGEST


class Question(NamedTuple):
    """A row of the README's table: the commands that answer a question, and the pages with more."""

    commands: list[str]
    pages: list[Path]


def questions() -> list[Question]:
    """The rows below the heading "question"; a command is the first word between backticks."""
    text = README.read_text(encoding="utf-8")
    table = re.search(r"^\| question \| command \| more \|\n\|---\|---\|---\|\n((?:\|.*\n)+)", text, re.M)
    assert table
    rows = []
    for line in table[1].splitlines():
        _, _, commands, pages, _ = line.split("|")
        rows.append(
            Question(
                re.findall(r"`([a-z-]+)", commands), [ROOT / at for at in re.findall(r"\((.*?)\)", pages)]
            )
        )
    return rows


def test_the_readme_has_a_question_for_every_command():
    from kgroup.cli.shell.app import COMMANDS

    assert {command for row in questions() for command in row.commands} == set(COMMANDS)


def test_each_question_leads_to_a_page_that_runs_its_command():
    missing = [
        command
        for row in questions()
        for command in row.commands
        if not any(
            re.search(rf"kgroup {command}(?![\w-])", shown.command)
            for page in row.pages
            for shown in shown_commands(page)
        )
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_file_that_a_page_points_to_is_there(page):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"\b(?:docs|man|scripts|benchmarks|tests)/[\w./-]*\w\.\w+", text):
        assert (ROOT / name).is_file(), name


def test_a_stranger_finds_every_page_from_the_readme():
    found, ahead = set(), [README]
    while ahead:
        text = ahead.pop().read_text(encoding="utf-8")
        named = {page for page in PAGES if f"docs/{page.name}" in text or f"]({page.name}" in text} - found
        found |= named
        ahead += named
    assert [page.name for page in PAGES[1:] if page not in found] == []
