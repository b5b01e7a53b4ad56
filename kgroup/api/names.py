"""The values of `--group` and `--topic`: names, or shell patterns."""

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final, TypeVar

from kgroup.errors import InputError, did_you_mean, nearest_or_all

_Choice = TypeVar("_Choice", bound=StrEnum)

_PATTERN_CHARACTERS: Final = frozenset("*?[")


def is_pattern(text: str) -> bool:
    """Whether it may match more than what has that name."""
    return bool(_PATTERN_CHARACTERS & set(text))


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of those asked for, or matches one; `a[1]` is also the name that it reads as."""
    return any(name == one or fnmatchcase(name, one) for one in patterns)


def without_match(patterns: Iterable[str], names: Collection[str]) -> list[str]:
    """The `patterns` that no existing name equals or matches, each once."""
    return [one for one in dict.fromkeys(patterns) if not any(matches_any(name, [one]) for name in names)]


LISTED: Final = "; kgroup groups lists all"
"""What helps where no group has the name, nor one like it."""


def nothing_matches(
    kind: str, unmatched: Sequence[str], names: Iterable[str], otherwise: str = "", among: str = "here"
) -> str:
    """`no group here matches order-app; did you mean orders-app?`; `otherwise` where no name is near.

    A name that is among `names` is one of which only tombstones are left.
    """
    known = sorted(names)
    gone = [one for one in unmatched if one in known]
    if gone and kind == "group":
        if len(gone) == 1:
            return f"group {gone[0]} was deleted or has expired; kgroup replay shows its history"
        return f"groups {' and '.join(gone)} were deleted or have expired; kgroup replay shows their history"
    hint = next(filter(None, (did_you_mean(one, known) for one in unmatched)), otherwise)
    return f"no {kind} {among} matches {' or '.join(one or repr(one) for one in unmatched)}{hint}"


def names_given(names: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """Names and patterns that a caller gave: a text is one of them, None or none at all is everything."""
    if isinstance(names, str):
        return (names,)
    return tuple(names or ()) or None


def member_of(kind: type[_Choice], value: str, name: str) -> _Choice:
    """The choice meant by a text or a member. Raises InputError that names the argument."""
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{name} {value!r}: {nearest_or_all(str(value), [*kind])}") from None
