"""Many groups with similar names: each process created a group of its own, and nobody deletes them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kgroup.history.groups.model import Group, GroupState

MANY: Final = 100
_MADE_UP: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{12,}|[0-9]{4,}", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Family:
    """Groups whose names differ only in what a machine made up; `stem` has an asterisk there."""

    stem: str
    groups: int
    without_members: int


def families(groups: Mapping[str, Group | None]) -> Iterator[Family]:
    """The large ones, by stem. A group of commits alone, None, has no members."""
    return large(counted(groups))


def counted(groups: Mapping[str, Group | None]) -> list[Family]:
    """All of them, by stem."""
    by_stem: dict[str, list[str]] = {}
    for group_id in groups:
        stem = _MADE_UP.sub("*", group_id)
        if stem != group_id:
            by_stem.setdefault(stem, []).append(group_id)
    found = []
    for stem, names in sorted(by_stem.items()):
        empty = sum((group := groups[name]) is None or group.state is GroupState.EMPTY for name in names)
        found.append(Family(stem, len(names), empty))
    return found


def together(parts: Iterable[Family]) -> list[Family]:
    """The families of groups that were counted apart, none twice; by stem."""
    by_stem: dict[str, Family] = {}
    for part in parts:
        known = by_stem.get(part.stem, Family(part.stem, 0, 0))
        by_stem[part.stem] = Family(
            part.stem, known.groups + part.groups, known.without_members + part.without_members
        )
    return [by_stem[stem] for stem in sorted(by_stem)]


def large(all_families: Iterable[Family]) -> Iterator[Family]:
    """The families with enough groups to be worth a remark."""
    return (family for family in all_families if family.groups >= MANY)


def remark_on(family: Family) -> str:
    """One line."""
    return (
        f"group-census: {family.groups:,} groups are called {family.stem},"
        f" {family.without_members:,} of them without members: give such readers one group id, or"
        " none and assign(), and delete these"
    )
