"""The mutants written by hand: `written/PACKAGE.toml`, a table of which is one mutant.

[heartbeat_keeps_no_session]
file = "classic/rules.py"       # below the package's folder
find = '''text that occurs once'''
replace = '''what stands there instead'''
wrong = "a sentence on the behaviour"
tests = ["tests/…"]             # if not the package's own
equivalent = "why it cannot be seen"
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.mutants.mutant import PACKAGES, Mutant, MutantError

WRITTEN: Final = Path(__file__).parent / "written"
_NEEDED: Final = {"file", "find", "replace", "wrong"}
_KEYS: Final = _NEEDED | {"tests", "equivalent"}


def written(package: str) -> Iterator[Mutant]:
    """The package's mutants, in the order of the file. Raises MutantError for an entry that is none."""
    path = WRITTEN / f"{package}.toml"
    if not path.exists():
        return
    folder, tests = PACKAGES[package]
    for name, entry in tomllib.loads(path.read_text()).items():
        odd = sorted((_NEEDED - entry.keys()) | (entry.keys() - _KEYS))
        if odd:
            raise MutantError(f"{package}/{name}: lacks or does not know {', '.join(odd)}")
        yield Mutant(
            package=package,
            name=name,
            file=f"{folder}/{entry['file']}",
            find=entry["find"],
            replace=entry["replace"],
            wrong=entry["wrong"],
            tests=tuple(entry.get("tests", tests)),
            equivalent=entry.get("equivalent", ""),
        )
