"""`python -m tests.mutants.played MODULE SOURCE ANSWER TEST…`: tests, with MODULE made from the file SOURCE.

Only this process sees the bug. Tests of the module itself go first, then those whose files name it. The file
ANSWER gets the id of the first test that fails; it stays away if all pass.
"""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest


class _Planted(SourceFileLoader):
    """Loads a module's file with other code, past the cache of compiled files."""

    source: bytes

    def get_code(self, fullname: str) -> CodeType:
        """The other code, under the file's own name so that tracebacks point there."""
        code: CodeType = compile(self.source, self.path, "exec", dont_inherit=True)
        return code


class Planter(MetaPathFinder):
    """Finds one module as always, and gives it other code."""

    def __init__(self, module: str, source: bytes) -> None:
        self._module = module
        self._source = source

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The module's spec; None for all others, which the usual finders have."""
        if fullname != self._module:
            return None
        spec = PathFinder.find_spec(fullname, path)  # type: ignore[arg-type]
        assert spec is not None and spec.origin is not None
        loader = _Planted(fullname, spec.origin)
        loader.source = self._source
        spec.loader = loader
        return spec


class _Likely:
    """Runs the likely tests first, and notes the first that fails."""

    def __init__(self, module: str, answer: Path) -> None:
        self._module = module
        self._answer = answer

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort the tests by how near their file is to the module."""
        ranks = {path: self._rank(path) for path in {item.path for item in items}}
        items.sort(key=lambda item: ranks[item.path])

    def _rank(self, path: Path) -> int:
        *_, parent, name = self._module.split(".")
        if path.stem == f"test_{name}":
            return 0 if path.parent.name == parent else 1
        return 2 if self._module in path.read_text() else 3

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failing test."""
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot be imported."""
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed and not self._answer.exists():
            self._answer.write_text(report.nodeid)


def main(arguments: list[str]) -> int:
    module, source, answer, *tests = arguments
    sys.meta_path.insert(0, Planter(module, Path(source).read_bytes()))
    likely = _Likely(module, Path(answer))
    # As many seeds as before a merge: some bugs are found by few of them.
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "--swarm-seeds=300"]
    return pytest.main([*options, *tests], plugins=[likely])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
