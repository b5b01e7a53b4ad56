"""`python -m kgroup.cli.man.coordinator_page [FILE]`: the coordinator's tables as a page.

FILE is `docs/coordinator.md` by default; a test fails when that is not what this writes.
"""

import sys
from collections.abc import Iterable, Iterator
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

PAGE: Final = Path("docs") / "coordinator.md"

_HEAD: Final = """\
# What the group coordinator answers

`kgroup serve`, `kgroup simulate` and `kgroup.testing` share one coordinator, which answers as brokers of
Kafka 4.3 do. The tables below drive its code: `python -m kgroup.cli.man.coordinator_page` prints this page from
them.

## Rounds
"""

_STATES: Final = """\
## States

A group that does not exist counts as Dead. Only Empty and Stable are logged.
"""

_ANSWERS: Final = """\
## Answers

Each row is a request or a deadline, each column a state. Capitals are the error in the answer; everything
else is an action, explained below.
"""

_NOTES: Final = """\
Some requests are refused in every state: an empty group id with INVALID_GROUP_ID (except in OffsetCommit
and DeleteGroups); in a JoinGroup, a session timeout outside the broker's bounds with
INVALID_SESSION_TIMEOUT, and protocols that the group does not share with INCONSISTENT_GROUP_PROTOCOL.

A commit comes from a member if it has a generation, or, in a group with members, a member id or an instance
id. Before version 9, an OffsetCommit to a group that does not exist gets ILLEGAL_GENERATION instead of
GROUP_ID_NOT_FOUND.
"""

_CHECKS: Final = """\
## Checks

In states with members, the sender of a request is checked first, from left to right:
"""


def coordinator_page() -> str:
    """The page in Markdown."""
    parts = [
        _HEAD,
        *_theory(),
        _STATES,
        _table(("state", "can become"), _moves()),
        _ANSWERS,
        _table(("", *GroupState), _answers()),
        _NOTES,
        _table(("action", "means"), _meanings()),
        _CHECKS,
        _table(("request", *(check.name.lower() for check in Check)), _checks()),
        "They refuse with:\n",
        *(f"- {check.name.lower()}: {check.value}" for check in Check),
    ]
    return "\n".join(parts) + "\n"


def _theory() -> Iterator[str]:
    """The theory of operation at the top of the classic groups, without what it says of files."""
    assert classic_groups.__doc__ is not None
    _, _, theory = classic_groups.__doc__.partition("Theory of operation. ")
    *paragraphs, _ = theory.strip().split("\n\n")
    yield from (f"{paragraph}\n" for paragraph in paragraphs)


def _moves() -> Iterator[tuple[str, ...]]:
    for state, targets in TRANSITIONS.items():
        yield state, ", ".join(target for target in GroupState if target in targets)


def _answers() -> Iterator[tuple[str, ...]]:
    for trigger in Trigger:
        yield trigger, *(_cell(ANSWERS[trigger][state]) for state in GroupState)


def _cell(answer: Answer) -> str:
    if answer.action is Action.REFUSE:
        return answer.error.name
    return f"{answer.error.name}, {answer.action}" if answer.error else answer.action


def _meanings() -> Iterator[tuple[str, ...]]:
    for action in Action:
        if action in MEANINGS:
            yield action, MEANINGS[action]


def _checks() -> Iterator[tuple[str, ...]]:
    for trigger, checks in CHECKS.items():
        yield trigger, *("yes" if check in checks else "" for check in Check)


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = tuple(heads)
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Write the page."""
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    page.write_text(coordinator_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
