"""The table of `conditions.toml`: which answers name what was wrong with a group."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).parent / "conditions.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition of a diary; the fields are those of the table."""

    because: str
    healthy: bool = False
    nameable: bool = True
    names: frozenset[str] = frozenset()
    evidence: tuple[str, ...] = ()
    symptoms: frozenset[str] = frozenset()
    misleads: frozenset[str] = frozenset()
    proof: tuple[str, ...] = ()


@cache
def conditions() -> dict[str, Condition]:
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    sets = ("names", "symptoms", "misleads")
    return {
        name: Condition(
            **{
                key: frozenset(value) if key in sets else tuple(value) if isinstance(value, list) else value
                for key, value in entry.items()
            }
        )
        for name, entry in table.items()
    }
