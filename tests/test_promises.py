"""docs/promises.md names commands and tests; they have to be there, and each row has its day and result."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| promise")
]


def test_every_row_names_its_trial_its_day_and_its_result():
    assert len(ROWS) >= 15
    for _, trial, day, result in ROWS:
        assert re.search(r"`(tests/|python -m |sh scripts/)", trial), trial
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", day), day
        assert result


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(?:sh )?((?:tests|scripts)/[\w/.]+)", PAGE))))
def test_a_file_named_there_exists(path: str):
    assert (ROOT / path).is_file()


@pytest.mark.parametrize("module", sorted(set(re.findall(r"`python -m ([\w.]+)", PAGE))))
def test_a_command_named_there_can_be_run(module: str):
    spec = find_spec(module)
    assert spec is not None
    assert spec.submodule_search_locations is None or find_spec(f"{module}.__main__") is not None
