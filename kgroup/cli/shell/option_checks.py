"""Rules for options that need others and options that contradict each other.

A command has a table of them next to its options, and `check_options` raises InputError for the first that is
broken. An option with an empty text, as of an unset variable in a script, asks for nothing and so breaks no
rule itself; to other options it is there.
"""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from enum import Enum
from typing import Any

from kgroup.errors import InputError

GivenOptions = Mapping[str, object]
"""Long name -> value. An option whose value is None, False or an empty list is not given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Each of `options` makes sense only with one of `one_of`."""

    options: Set[str]
    one_of: Set[str]
    why: str

    def problem(self, given: GivenOptions) -> str | None:
        """The sentence that refuses these options, None if they are fine."""
        return self.why if _asking(given, self.options) and not given.keys() & self.one_of else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """None of `options` goes with any of `others`.

    `why` may name the two that clash, {option} and {other}, and the {value} of the other one. `reason` is put
    behind the usual sentence.
    """

    options: Set[str]
    others: Set[str]
    reason: str | None = None
    why: str = "{option} does not go with {other}"

    def problem(self, given: GivenOptions) -> str | None:
        """The sentence that refuses these options, None if they are fine."""
        options, others = _asking(given, self.options), sorted(given.keys() & self.others)
        if not options or not others:
            return None
        value = given[others[0]]
        sentence = self.why.format(
            option=options[0], other=others[0], value=value.value if isinstance(value, Enum) else value
        )
        return f"{sentence}: {self.reason}" if self.reason else sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """One of `options` is needed, unless `none` is None; and no more than one, unless `several` is None.

    `several` may name those that are given, in the order of `options`: {given}.
    """

    options: Collection[str]
    none: str | None = None
    several: str | None = None

    def problem(self, given: GivenOptions) -> str | None:
        """The sentence that refuses these options, None if they are fine."""
        asking = [name for name in self.options if given.get(name)]
        if not asking:
            return self.none
        if len(asking) == 1 or self.several is None:
            return None
        return self.several.format(given=" and ".join(asking))


Rule = Needs | Clash | OneOf


def _asking(given: GivenOptions, names: Set[str]) -> list[str]:
    return sorted(name for name in names if given.get(name))


def given_options(context: Any) -> dict[str, object]:
    """The options that are not at their defaults, from typer's context of a command."""
    named = (
        (max(parameter.opts, key=len), context.params.get(parameter.name), _plain(parameter.default))
        for parameter in context.command.params
    )
    given = {name: value for name, value, default in named if _plain(value) != default and _is_there(value)}
    if "--cluster" in given:  # another way to say it
        given.setdefault("--bootstrap-server", given["--cluster"])
    return given


def _plain(value: object) -> object:
    """Typer keeps a choice's default as its value, or as it is."""
    return value.value if isinstance(value, Enum) else value


def check_options(rules: Iterable[Rule], given: GivenOptions) -> None:
    """Raises InputError for the first rule that these options break."""
    there = {name: value for name, value in given.items() if _is_there(value)}
    for rule in rules:
        problem = rule.problem(there)
        if problem is not None:
            raise InputError(problem)


def _is_there(value: object) -> bool:
    return value is not None and value is not False and value not in ([], ())
