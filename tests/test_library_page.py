"""The `python` blocks of docs/library.md and docs/tables.md are run, and must answer what they show."""

import doctest
import re
from pathlib import Path

import pytest

import kgroup

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "library.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def examples(page: Path) -> list[doctest.Example]:
    """Every statement of the blocks with the answer below it, in order; `lineno` counts the page's from 0."""
    text = page.read_text(encoding="utf-8")
    shown = []
    for block in BLOCK.finditer(text):
        first_line = text.count("\n", 0, block.start(1))
        for example in doctest.DocTestParser().get_examples(block[1]):
            example.lineno += first_line
            shown.append(example)
    return shown


@pytest.mark.parametrize(("name", "least"), [("library.md", 20), ("tables.md", 8)])
def test_the_page_answers_what_it_shows(
    name: str, least: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    page, answers = ROOT / "docs" / name, list[str]()
    test = doctest.DocTest(examples(page), {"folder": tmp_path}, name, str(page), 0, None)
    ended = doctest.DocTestRunner(verbose=False).run(test, out=answers.append)
    assert not ended.failed, "".join(answers)
    assert ended.attempted > least


def test_the_table_of_the_page_has_every_public_name() -> None:
    rows = re.findall(r"^\| `(\w+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(kgroup.__all__)
