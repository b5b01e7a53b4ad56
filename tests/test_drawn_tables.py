"""The tables in docs/ that come from code are what the code has now."""

import shutil

import pytest

from kgroup.group.coordinator.classic.answer_table import MEANINGS, Trigger
from kgroup.group.coordinator.classic.states import TRANSITIONS
from tests import drawn_tables
from tests.drawn_tables import DOCS, TABLES, drawn


@pytest.mark.parametrize("page", TABLES)
def test_the_tables_in_docs_are_what_the_code_has_now(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert drawn(page, text) == text, "run python -m tests.drawn_tables"


@pytest.mark.parametrize("page", TABLES)
def test_a_stale_table_is_drawn_anew_and_the_rest_of_its_page_is_kept(page, tmp_path, monkeypatch):
    text = (DOCS / page).read_text(encoding="utf-8")
    shutil.copytree(DOCS, tmp_path, dirs_exist_ok=True)
    for name in TABLES[page]:
        end = f"<!-- end of {name} -->\n"
        stale = text.replace(end, "| `gone` |\n" + end)
        assert stale != text
        (tmp_path / page).write_text(stale, encoding="utf-8")
        monkeypatch.setattr("sys.argv", ["drawn_tables", str(tmp_path)])
        drawn_tables.main()
        assert (tmp_path / page).read_text(encoding="utf-8") == text


def test_a_page_without_the_markers_is_no_page_to_draw_on():
    with pytest.raises(AssertionError, match=r"lag_status\.md has no table of status rules"):
        drawn("lag_status.md", "# The status of a group's lag\n")


def test_every_state_request_and_action_of_the_coordinator_has_its_row():
    lines = (DOCS / "coordinator.md").read_text(encoding="utf-8").splitlines()
    heads = {line.removeprefix("| ").split(" | ")[0] for line in lines if line.startswith("| ")}
    assert {*TRANSITIONS, *Trigger, *MEANINGS} <= heads
