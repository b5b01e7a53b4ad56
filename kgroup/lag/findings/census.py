"""Many groups of one kind of name: each process made a group of its own, and nobody takes them away."""

import re
from collections.abc import Iterator, Mapping
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
    by_stem: dict[str, list[str]] = {}
    for group_id in groups:
        stem = _MADE_UP.sub("*", group_id)
        if stem != group_id:
            by_stem.setdefault(stem, []).append(group_id)
    for stem, names in sorted(by_stem.items()):
        if len(names) >= MANY:
            empty = sum((group := groups[name]) is None or group.state is GroupState.EMPTY for name in names)
            yield Family(stem, len(names), empty)
