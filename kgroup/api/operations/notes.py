"""Notes to read before a plan is carried out; for many groups, each is given once."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kgroup.lag.findings.text import listed
from kgroup.operations.model import PlanRow
from kgroup.operations.plan import totals
from kgroup.report.table import counted

_EACH_MAX: Final = 5
"""The number of groups up to which each one's sums are shown."""


class GroupNotes(NamedTuple):
    """Notes on a group's part of a plan."""

    group: str
    before: Sequence[str] = ()
    rows: Sequence[PlanRow] | None = None
    """The rows whose sums are shown; None if they are not."""
    after: Sequence[str] = ()
    unread: Sequence[str] = ()
    """Records whose time is not known, and why; these lines name their cluster."""


def note_lines(groups: Sequence[GroupNotes]) -> tuple[str, ...]:
    """Lines for all of these groups; what is the same for several is one line, which names the first ones."""
    unread = dict.fromkeys(f"time unknown: {problem}" for each in groups for problem in each.unread)
    return (
        *_alike((text, each.group) for each in groups for text in each.before),
        *unread,
        *_sums([each for each in groups if each.rows is not None]),
        *_alike((text, each.group) for each in groups for text in each.after),
    )


def _alike(notes: Iterable[tuple[str, str]]) -> list[str]:
    by_text: dict[str, list[str]] = {}
    for text, group in notes:
        by_text.setdefault(text, []).append(group)
    return [f"{listed(groups)}: {text}" for text, groups in by_text.items()]


def _sums(groups: Sequence[GroupNotes]) -> list[str]:
    if len(groups) > _EACH_MAX:
        every = [row for each in groups for row in each.rows or ()]
        return [f"{counted(len(groups), 'group')}: {totals(every).sentence()}"]
    return [f"{each.group}: {totals(each.rows or ()).sentence()}" for each in groups]
