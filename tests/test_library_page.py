"""The `python` blocks of docs/library.md are run from top to bottom, and must answer what they show."""

import doctest
import re
from pathlib import Path

import pytest

import kgroup

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "library.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def examples() -> list[doctest.Example]:
    """Every statement of the blocks with the answer below it, in order; `lineno` counts the page's from 0."""
    text = PAGE.read_text(encoding="utf-8")
    shown = []
    for block in BLOCK.finditer(text):
        first_line = text.count("\n", 0, block.start(1))
        for example in doctest.DocTestParser().get_examples(block[1]):
            example.lineno += first_line
            shown.append(example)
    return shown


def test_the_page_answers_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    answers: list[str] = []
    test = doctest.DocTest(examples(), {}, PAGE.name, str(PAGE), 0, None)
    ended = doctest.DocTestRunner(verbose=False).run(test, out=answers.append)
    assert not ended.failed, "".join(answers)
    assert ended.attempted > 20


def test_the_table_of_the_page_has_every_public_name() -> None:
    rows = re.findall(r"^\| `(\w+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(kgroup.__all__)
