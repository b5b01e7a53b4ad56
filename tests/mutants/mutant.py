"""A mutant: one module of kgroup with one bug planted in it. The work tree is never written to."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

PACKAGES: Final = {
    "coordinator": ("kgroup/group/coordinator", ("tests/group/coordinator",)),
    "member": ("kgroup/group/member", ("tests/group/member",)),
    "broker": ("kgroup/broker", ("tests/broker",)),
    "history": ("kgroup/history", ("tests/history",)),
    "log": ("kgroup/log", ("tests/log",)),
    "lag": ("kgroup/lag", ("tests/lag",)),
    "scan": ("kgroup/scan", ("tests/scan",)),
    "assignors": ("kgroup/assignors", ("tests/assignors",)),
    "protocol": ("kgroup/protocol", ("tests/protocol",)),
    "wire": ("kgroup/wire", ("tests/wire",)),
    # Not the files of tests/net itself, which are about whole clusters and take minutes.
    "net": (
        "kgroup/net",
        tuple(f"tests/net/{each}" for each in ("admin", "connect", "member", "record", "reenact", "serve")),
    ),
    "sim": ("kgroup/sim", ("tests/sim",)),
    "operations": ("kgroup/operations", ("tests/operations",)),
    "undo": ("kgroup/api/operations", ("tests/api/operations",)),
}
"""Of each package its folder, and the folders of its own tests."""


class MutantError(Exception):
    """A mutant that cannot be planted, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """`find`, which occurs once in `file`, becomes `replace`; `wrong` says what it does then.

    `tests` are the files and folders whose tests may notice. An `equivalent` mutant changes nothing
    that can be seen, for the reason given, and is not played.
    """

    package: str
    name: str
    file: str
    find: str
    replace: str
    wrong: str
    tests: tuple[str, ...]
    equivalent: str = ""

    @property
    def module(self) -> str:
        """The module's dotted name."""
        return self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def source(self) -> str:
        """The module's source with the bug in it.

        Raises MutantError if there is no such place, more than one, or the result is not Python.
        """
        try:
            text = (ROOT / self.file).read_text()
        except OSError as error:
            raise MutantError(f"{self.package}/{self.name}: {self.file}: {error.strerror}") from None
        times = text.count(self.find)
        if times != 1:
            raise MutantError(f"{self.package}/{self.name}: {self.file} has its text {times} times, not once")
        mutated = text.replace(self.find, self.replace)
        try:
            changed = _statements(mutated)
        except SyntaxError as error:
            raise MutantError(f"{self.package}/{self.name}: line {error.lineno}: {error.msg}") from None
        if _are_the_same(_statements_of_file(text), changed):
            raise MutantError(f"{self.package}/{self.name}: changes no code")
        return mutated


_Statements = list[tuple[str, ast.stmt]]
"""A module's statements and the lines of each. Those whose lines are the same need not be compared further:
to write out the tree of a whole module takes many times as long as to parse it."""


def _statements(text: str) -> _Statements:
    lines = text.split("\n")
    found = []
    for node in ast.parse(text).body:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        found.append(("\n".join(lines[first - 1 : node.end_lineno]), node))
    return found


_statements_of_file = cache(_statements)


def _are_the_same(some: _Statements, others: _Statements) -> bool:
    return len(some) == len(others) and all(
        lines == other_lines or ast.dump(node) == ast.dump(other)
        for (lines, node), (other_lines, other) in zip(some, others, strict=True)
    )
