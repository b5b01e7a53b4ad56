"""Members' names in little space: the common part is dropped, the end stays."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

_CUT: Final = "…"
_COMMON_MIN: Final = 4  # less is not worth a mark
_PARTS: Final = re.compile(r"[-_.:/@ #]")


class Labels(NamedTuple):
    """Short names in the order of the long ones, and the beginning and end that were left out of each."""

    names: tuple[str, ...]
    begin: str
    end: str


def short_labels(names: Sequence[str], letters: int) -> Labels:
    """Names of no more than `letters` (8 or more), as distinct as they were; as they are if all are so short.

    A common beginning or end is cut at a separator, and never within a number: of host-10 and host-11 `10`
    and `11` are left. What is too long still loses its beginning or, where that would make two alike, its
    middle; where that would, too, it gets its place in the list.
    """
    distinct = sorted(set(names))
    begin = end = ""
    if len(distinct) > 1 and max(map(len, distinct)) > letters:
        begin = _upto_separator(_common(distinct))
        backwards = _common([name[len(begin) :][::-1] for name in distinct])
        end = _upto_separator(backwards)[::-1]
    begin = begin if len(begin) >= _COMMON_MIN else ""
    end = end if len(end) >= _COMMON_MIN else ""
    kept = {
        name: (_CUT if begin else "") + name[len(begin) : len(name) - len(end)] + (_CUT if end else "")
        for name in distinct
    }
    shown = {name: _last(text, letters) for name, text in kept.items()}
    for name in _twins(shown):
        shown[name] = _outer(kept[name], letters)
    for number, name in enumerate(_twins(shown), 1):
        mark = f" {number}"
        shown[name] = _last(kept[name], letters - len(mark)) + mark
    return Labels(tuple(shown[name] for name in names), begin, end)


def _common(names: Sequence[str]) -> str:
    """All letters with which each of them begins."""
    first, last = min(names), max(names)
    differ = next(
        (place for place, letter in enumerate(first) if last[place : place + 1] != letter), len(first)
    )
    return first[:differ]


def _upto_separator(common: str) -> str:
    """The part of the common beginning up to its last separator; "" without one."""
    last = max((match.end() for match in _PARTS.finditer(common)), default=0)
    return common[:last]


def _twins(shown: dict[str, str]) -> list[str]:
    counts = Counter(shown.values())
    return [name for name, text in shown.items() if counts[text] > 1]


def _last(text: str, letters: int) -> str:
    return text if len(text) <= letters else _CUT + text[len(text) - letters + 1 :]


def _outer(text: str, letters: int) -> str:
    if len(text) <= letters:
        return text
    first = (letters - 1) // 2
    return text[:first] + _CUT + text[len(text) - (letters - 1 - first) :]
