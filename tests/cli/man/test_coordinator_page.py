from pathlib import Path

from kgroup.cli.man.coordinator_page import PAGE, coordinator_page
from kgroup.group.coordinator.classic.answer_table import MEANINGS, Trigger
from kgroup.group.coordinator.classic.states import TRANSITIONS

ROOT = Path(__file__).parents[3]


def test_the_page_is_what_the_tables_say_now():
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert page == coordinator_page(), "run python -m kgroup.cli.man.coordinator_page"


def test_every_state_request_and_action_has_its_row():
    lines = coordinator_page().splitlines()
    heads = {line.removeprefix("| ").split(" | ")[0] for line in lines if line.startswith("| ")}
    assert {*TRANSITIONS, *Trigger, *MEANINGS} <= heads
