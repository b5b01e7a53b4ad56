"""Modules that take less of a start: run on first use of an attribute, or without what nobody asks them for.

`import kafka.protocol` runs kafka's own `__init__`, which imports its clients: a third of what a short
command takes, for parts that no offline command uses. A package that is deferred is there with its path, so
that its modules can be imported; the first attribute that it lacks runs its `__init__`. Of wcwidth, tables
that have wide letters need one function alone, which is a module's by itself.

tabulate asks `importlib.metadata` for its own version, which nobody here reads: that imports packages for
mails and archives, and takes as long as all else of tabulate. So tabulate, and nobody else, gets one that
knows no version, as long as nobody has imported the real one.

Arrow looks for pandas when it is first handed a list, in case it is one of pandas; ours never are. Where
pandas is installed, as it is with Spark, that takes 0.2 s and 60 MB. So Arrow gets to look where pandas
cannot be found, unless it or Spark is there already.

For a process of ours alone: in somebody's program `kafka` and `tabulate` are what they are. What is deferred
is first used by the main thread: a second one might find it half run.
"""

import builtins
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    Loader = MetaPathFinder = object  # importlib.abc brings importlib.resources: a tenth of `kgroup --help`

_BY_ITSELF: Final = {("wcwidth", "wcswidth"): "wcwidth._wcwidth_c"}
"""Where a package has taken a name from, if this module of it is there, which needs none of the others."""
_WITHOUT_ITS_C: Final = "WCWIDTH_PYTHON"
"""A variable by which users have wcwidth do without that module."""
_PANDAS: Final = "pandas"
_ITS_USERS: Final = frozenset({_PANDAS, "pyspark"})
_METADATA: Final = "importlib.metadata"
_ASKED_BY_USERS: Final = ("__all__", "__version__")


def defer() -> None:
    """Defer imports of these packages from now on; modules that are already loaded stay as they are."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class DeferredPackage(ModuleType):
    """A package or module that is not run yet. It becomes a plain module when it is."""

    def __getattr__(self, name: str) -> object:
        """Run it for what it lacks; but not for what Python itself looks for."""
        if name.startswith("__") and name not in _ASKED_BY_USERS:
            raise AttributeError(name)
        found = _by_itself(self.__name__, name)
        if found is not None:
            setattr(self, name, found)
            return found
        spec = self.__spec__
        assert spec is not None
        assert isinstance(spec.loader, _Deferring)
        self.__class__ = ModuleType  # type: ignore[assignment]  # as importlib.util.LazyLoader does it
        self.__loader__ = spec.loader = spec.loader.loader
        spec.loader.exec_module(self)
        return getattr(self, name)


def _by_itself(package: str, name: str) -> object:
    """What the package calls so, from the one module that has it; None where only the package itself says."""
    module = _BY_ITSELF.get((package, name))
    if module is None or os.environ.get(_WITHOUT_ITS_C):
        return None
    try:
        return getattr(import_module(module), name, None)
    except ImportError:
        return None


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        around = _LOADERS.get(fullname)
        if around is None:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = around(spec.loader)
        return spec


class _Around(Loader):
    """A loader that loads in another way than `loader`."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)


class _Deferring(_Around):
    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = DeferredPackage


class _WithoutVersion(_Around):
    def exec_module(self, module: ModuleType) -> None:
        # An import statement asks for `__import__` where the module has its built-in names.
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _import}
        self.loader.exec_module(module)


class _WithoutPandas(_Around):
    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        if sys.modules.keys() & _ITS_USERS:
            return
        nowhere = _Nowhere()
        sys.meta_path.insert(0, nowhere)
        try:
            module.array([])  # for which it looks, once and for all
        finally:
            sys.meta_path.remove(nowhere)


class _Nowhere(MetaPathFinder):
    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == _PANDAS:
            raise ModuleNotFoundError(fullname, name=fullname)


_LOADERS: Final[Mapping[str, type[_Around]]] = {
    # Packages of kafka-python with modules that are needed without the rest.
    "kafka": _Deferring,
    "kafka.protocol.consumer": _Deferring,
    # What tabulate imports in case.
    "wcwidth": _Deferring,
    # What Typer imports to open a browser, which nobody asks it for.
    "subprocess": _Deferring,
    "platform": _Deferring,
    "tabulate": _WithoutVersion,
    "pyarrow": _WithoutPandas,
}


def _import(
    name: str,
    globals_: Mapping[str, object] | None = None,
    locals_: Mapping[str, object] | None = None,
    fromlist: Sequence[str] = (),
    level: int = 0,
) -> object:
    if name == _METADATA and fromlist:
        return sys.modules.get(_METADATA, _NO_METADATA)
    return __import__(name, globals_, locals_, fromlist, level)


def _no_version(package: str) -> str:
    raise ModuleNotFoundError(package)


_NO_METADATA: Final = SimpleNamespace(version=_no_version, PackageNotFoundError=ModuleNotFoundError)
