"""`python -m tests.drawn_tables [FOLDER]`: draw the tables in docs/ that come from code, between markers.

A test fails when a page is not what this draws.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kgroup.lag.status.rules import STATUS_RULES, Clause, StatusRule

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


TABLES: Final[dict[str, dict[str, Callable[[], Iterator[str]]]]] = {
    "lag_status.md": {"status rules": status_rules},
}
"""Of each page its tables by the names in their markers."""


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
