"""Packages whose `__init__` runs on first use of an attribute, not when one of their modules is imported.

`import kafka.protocol` runs kafka's own `__init__`, which imports its clients: a third of what a short
command takes, for parts that no offline command uses. A package that is deferred is there with its path, so
that its modules can be imported; the first attribute that it lacks runs its `__init__`.

For a process of ours alone: in somebody's program `kafka` is what it is.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    Loader = MetaPathFinder = object  # importlib.abc brings importlib.resources: a tenth of `kgroup --help`

DEFERRED: Final = frozenset({"kafka", "kafka.protocol.consumer", "wcwidth"})
"""Packages of kafka-python with modules that are needed without the rest; what tabulate imports in case."""

_ASKED_BY_USERS: Final = ("__all__", "__version__")


def defer() -> None:
    """Defer imports of these packages from now on; modules that are already loaded stay as they are."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class DeferredPackage(ModuleType):
    """A package that is not run yet. It becomes a plain module when it is."""

    def __getattr__(self, name: str) -> object:
        """Run the package for what it lacks; but not for what Python itself looks for."""
        if name.startswith("__") and name not in _ASKED_BY_USERS:
            raise AttributeError(name)
        spec = self.__spec__
        assert spec is not None
        assert isinstance(spec.loader, _Deferring)
        self.__class__ = ModuleType  # type: ignore[assignment]  # as importlib.util.LazyLoader does it
        self.__loader__ = spec.loader = spec.loader.loader
        spec.loader.exec_module(self)
        return getattr(self, name)


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in DEFERRED:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Deferring(spec.loader)
        return spec


class _Deferring(Loader):
    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = DeferredPackage
