"""Bugs as data, and the import hook that plants one while its module is loaded."""

import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """`find` stands exactly once in `file`, a path from the root; `wrong` says what breaks.

    `swarm` are the seeds that it is played by.
    """

    name: str
    file: str
    find: str
    replace: str
    wrong: str
    swarm: str = "classic"

    @property
    def module(self) -> str:
        return self.file.removesuffix(".py").replace("/", ".")

    def planted(self, source: str) -> str:
        """The module's text with the bug. Raises ValueError if its place is not there once."""
        if source.count(self.find) != 1:
            raise ValueError(f"{self.name}: its text stands {source.count(self.find)} times in {self.file}")
        return source.replace(self.find, self.replace)


def read_bugs(path: Path) -> list[Bug]:
    return [Bug(**each) for each in tomllib.loads(path.read_text())["mutant"]]


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, bug: Bug) -> None:
        super().__init__(fullname, path)
        self._bug = bug

    def path_stats(self, path: str) -> dict[str, object]:  # type: ignore[override]
        raise OSError("neither reads nor writes compiled code")

    def get_data(self, path: str) -> bytes:
        return self._bug.planted(super().get_data(path).decode()).encode()


class Planter(MetaPathFinder):
    """Loads one module with the bug, and leaves the others alone."""

    def __init__(self, bug: Bug) -> None:
        self._bug = bug

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._bug.module:
            return None
        source = str(ROOT / self._bug.file)
        return spec_from_file_location(fullname, source, loader=_Loader(fullname, source, self._bug))


def plant(bug: Bug) -> None:
    """From now on; its module must not have been imported yet."""
    assert bug.module not in sys.modules, bug.module
    sys.meta_path.insert(0, Planter(bug))
