"""`python -m tests.drawn_tables [FOLDER]`: draw the parts of docs/ that come from code, between markers.

A test fails when a page is not what this draws.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from kgroup.group.coordinator.classic import groups as classic_groups
from kgroup.group.coordinator.classic.answer_table import (
    ANSWERS,
    CHECKS,
    MEANINGS,
    Action,
    Answer,
    Check,
    Trigger,
)
from kgroup.group.coordinator.classic.states import TRANSITIONS, GroupState
from kgroup.lag.status.rules import STATUS_RULES, Clause, StatusRule
from tests.incidents import page as incidents_page

DOCS: Final = Path(__file__).parents[1] / "docs"
_DRAWN_BY: Final = "drawn by python -m tests.drawn_tables"


def status_rules() -> Iterator[str]:
    """The rules of a status in their order, and what each rule set makes of them."""
    yield "| rule | `burrow` | `kgroup` |"
    yield "|---|---|---|"
    for rule in STATUS_RULES:
        kgroup = "the same" if rule.kgroup == rule.burrow else _says(rule, rule.kgroup)
        yield f"| `{rule.name}` | {_says(rule, rule.burrow)} | {kgroup} |"


def _says(rule: StatusRule, clause: Clause | None) -> str:
    return rule.not_asked if clause is None else f"{clause.status} {clause.says}".rstrip()


def theory() -> Iterator[str]:
    """The theory of operation at the top of the classic groups, without what it says of files."""
    assert classic_groups.__doc__ is not None
    _, _, text = classic_groups.__doc__.partition("Theory of operation. ")
    *paragraphs, _ = text.strip().split("\n\n")
    yield "\n\n".join(paragraphs)


def transitions() -> Iterator[str]:
    """Which state of a classic group can become which."""
    moves = ((state, ", ".join(to for to in GroupState if to in TRANSITIONS[state])) for state in TRANSITIONS)
    yield from _table(("state", "can become"), moves)


def answers() -> Iterator[str]:
    """What each request and deadline comes to in each state."""
    rows = ((trigger, *(_cell(ANSWERS[trigger][state]) for state in GroupState)) for trigger in Trigger)
    yield from _table(("", *GroupState), rows)


def _cell(answer: Answer) -> str:
    if answer.action is Action.REFUSE:
        return answer.error.name
    return f"{answer.error.name}, {answer.action}" if answer.error else answer.action


def actions() -> Iterator[str]:
    """What the table of answers means by its actions."""
    rows = ((action, MEANINGS[action]) for action in Action if action in MEANINGS)
    yield from _table(("action", "means"), rows)


def checks() -> Iterator[str]:
    """What of its sender each request is checked for."""
    rows = (
        (trigger, *("yes" if check in of_request else "" for check in Check))
        for trigger, of_request in CHECKS.items()
    )
    yield from _table(("request", *(check.name.lower() for check in Check)), rows)


def refusals() -> Iterator[str]:
    """How each check refuses."""
    return (f"- {check.name.lower()}: {check.value}" for check in Check)


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    heads = tuple(heads)
    for line in (heads, ("---",) * len(heads), *rows):
        yield f"| {' | '.join(line)} |"


TABLES: Final[dict[str, dict[str, Callable[[], Iterator[str]]]]] = {
    "coordinator.md": {
        "theory": theory,
        "transitions": transitions,
        "answers": answers,
        "actions": actions,
        "checks": checks,
        "refusals": refusals,
    },
    "lag_status.md": {"status rules": status_rules},
    "incidents.md": {
        "figures": incidents_page.figures,
        "departures": incidents_page.departures,
        "the 49": incidents_page.incidents,
        "recorded": incidents_page.recorded,
    },
}
"""Of each page its parts by the names in their markers."""


def drawn(page: str, text: str) -> str:
    """The text of a page of docs/ with its tables as the code has them now."""
    for name, table in TABLES[page].items():
        begin, end = f"<!-- {name}, {_DRAWN_BY} -->\n", f"<!-- end of {name} -->\n"
        before, _, rest = text.partition(begin)
        _, marker, after = rest.partition(end)
        assert marker, f"{page} has no table of {name} between {begin!r} and {end!r}"
        text = before + begin + "".join(f"{line}\n" for line in table()) + end + after
    return text


def main() -> None:
    """Draw every table anew."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    for page in TABLES:
        path = folder / page
        path.write_text(drawn(page, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
