"""The statements of docs/must_hold.md with their tests, and for each the ways in which it was broken.

`broken.toml`:

[[broken]]
statement = "how its row begins"    # of one row alone
file = "kgroup/…"
find = '''text that occurs once'''
replace = '''what stands there instead'''
wrong = "a sentence on the behaviour"
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.mutants.mutant import ROOT, Mutant, MutantError

_TESTS: Final = re.compile(r"`(tests/[^`]+)`")
_KEYS: Final = {"statement", "file", "find", "replace", "wrong"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One row: `text` is its first cell, `tests` are the ids of the tests that it names."""

    text: str
    tests: tuple[str, ...]


def statements(text: str | None = None) -> list[Statement]:
    """Of the page, or of a text like it, in the order of the rows."""
    page = (ROOT / "docs" / "must_hold.md").read_text(encoding="utf-8") if text is None else text
    rows = [line for line in page.splitlines() if line.startswith("| ") and "| statement |" not in line]
    return [
        Statement(text=row.removeprefix("| ").split(" | ")[0], tests=tuple(_TESTS.findall(row)))
        for row in rows
    ]


def broken(text: str | None = None) -> Iterator[tuple[Statement, Mutant]]:
    """Each broken rule with its statement. Raises MutantError for an entry that is none."""
    listed = (Path(__file__).parent / "broken.toml").read_text(encoding="utf-8") if text is None else text
    rows = statements()
    numbers: dict[str, int] = {}
    for entry in tomllib.loads(listed)["broken"]:
        if entry.keys() != _KEYS:
            raise MutantError(f"{entry.get('statement')}: its keys are not {', '.join(sorted(_KEYS))}")
        begins = entry["statement"]
        of_it = [row for row in rows if row.text.startswith(begins)]
        if len(of_it) != 1:
            raise MutantError(f"{begins}: {len(of_it)} statements begin so, not one")
        numbers[begins] = numbers.get(begins, 0) + 1
        yield (
            of_it[0],
            Mutant(
                package="must_hold",
                name=f"{begins} ({numbers[begins]})",
                file=entry["file"],
                find=entry["find"],
                replace=entry["replace"],
                wrong=entry["wrong"],
                tests=of_it[0].tests,
            ),
        )
