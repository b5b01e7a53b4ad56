"""Functions over arrays, *kernels*: plain Python at first, machine code once there is much to do.

numba takes longer to import than Python takes to go through some thousand records, and seconds to compile
what was never compiled on a machine. So kernels run as they are written until the logs that this process
reads, or has found to read, are larger than `Tier.as_python_bytes`. From then on each is compiled at its next
call. Both work on the same arrays, so a reader may begin with one and continue with the other.

As Python a kernel has memoryviews in place of arrays: their items are Python's integers, at a third of the
cost of numpy's. These do not wrap around, so a kernel says where a number may leave int64
(`bytes_at.wrapped`), and a kernel takes no slices of a table.

The machine code is cached below a folder of the user's, never next to the sources: an install may be
read-only, and numba looks only at the file of the outermost function when it decides whether cached code is
still good, so a change in a helper of another file would go unnoticed. The folder's name is therefore a
digest of every kernel source, of numba's version and of the CPU the code is made for. Each kernel has one
signature, so processes that compile at the same time write the same thing.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from types import FunctionType
from typing import Any, Final, TypeVar

import numpy as np

from kgroup.private_folder import is_private

Function = TypeVar("Function", bound=Callable[..., Any])

# Kernels give up the GIL, do not check array bounds, and divide as numpy does. They make no arrays, so
# nothing in them needs numba's reference counts, which would cost two thirds of the time: an atomic write
# per array access.
_OPTIONS: Final = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}

# What only kernels call needs no way in from Python; making that takes a quarter of the time to compile.
_INNER: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_SOURCES: Final = (
    "bytes_at.py",
    "cells.py",
    "compile.py",
    "crc.py",
    "furthest.py",
    "gather.py",
    "batches.py",
    "keys.py",
    "last_rows.py",
    "layout.py",
    "machine_code.py",
    "newest_rows.py",
    "records.py",
    "rows.py",
    "tally.py",
    "text.py",
)


@dataclass(slots=True)
class Tier:
    """Whether kernels run as Python or as machine code; the answers are the same.

    `found_bytes` are those of segments that were looked for, `read_bytes` of what readers began to read.
    """

    as_python_bytes: int
    """What a process reads at most without machine code: what both take as long for, with numba's import."""
    found_bytes: int = 0
    read_bytes: int = 0

    @property
    def is_compiled(self) -> bool:
        """Whether kernels are compiled at their next call, if they are not yet."""
        return self.found_bytes > self.as_python_bytes or self.read_bytes > self.as_python_bytes


TIER: Final = Tier(as_python_bytes=1_500_000)
"""Of this process."""


_makers: Final[dict[Callable[..., Any], Callable[[], Any]]] = {}
_made: Final[dict[Callable[..., Any], Any]] = {}


def instruction(function: Function) -> Function:
    """Mark a function that kernels replace by the one of its name in `machine_code`."""

    def make() -> Any:
        from kgroup.scan.kernels.machine_code import INSTRUCTIONS

        return INSTRUCTIONS[function.__name__]

    _makers[function] = make
    return function


def helper(function: Function) -> Function:
    """Compile `function` into the kernels that call it."""
    _makers[function] = lambda: _njit(function, forceinline=True, **_INNER)
    return function


def outlined(function: Function) -> Function:
    """Compile `function` for the kernels that call it, which do so seldom: one copy, not inlined."""
    _makers[function] = lambda: _njit(function, **_INNER)
    return function


def kernel(function: Function) -> Function:
    """A function that Python calls, always with arguments of the same types: arrays, tuples of them, numbers.

    Its machine code goes through the cache, if there is a place for one.
    """
    return kernel_of(lambda: function)(function)


def kernel_of(to_compile: Callable[[], Callable[..., Any]]) -> Callable[[Function], Function]:
    """A kernel whose machine code is that of another function, which is asked for when it is compiled."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(*arguments: Any) -> Any:
            if TIER.is_compiled:
                return machine_code(call)(*arguments)
            return function(*map(_as_memory, arguments))

        _makers[call] = lambda: _njit_cached(to_compile())
        return call  # type: ignore[return-value]  # with the signature of `function`

    return decorate


def machine_code(function: Callable[..., Any]) -> Any:
    """The machine code of a kernel or of a function that kernels call, compiled at its first call."""
    made = _made.get(function)
    if made is None:
        from numba.core.compiler_lock import global_compiler_lock

        with global_compiler_lock:  # two threads may come here
            made = _made.get(function)
            if made is None:
                made = _made[function] = _makers[function]()
    return made


def _njit(function: Callable[..., Any], **options: Any) -> Any:
    from numba import njit

    return njit(_calling_machine_code(function), **options, **_OPTIONS)


def _njit_cached(function: Callable[..., Any]) -> Any:
    if function in _makers:
        return machine_code(function)
    folder = _cache()
    if folder is None:
        return _njit(function)
    from numba import config

    before = config.CACHE_DIR
    # Read by numba when the function is decorated; other users of numba in this process keep theirs.
    config.CACHE_DIR = str(folder)
    try:
        return _njit(function, cache=True)
    except RuntimeError:  # "no locator available": the sources are not in a file, for example in a zip
        return _njit(function)
    finally:
        config.CACHE_DIR = before


def _calling_machine_code(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with all that it calls replaced by what numba can compile."""
    assert isinstance(function, FunctionType)
    scope = {"__builtins__": __builtins__, "__name__": function.__module__}
    for name in function.__code__.co_names:
        if name in function.__globals__:
            value = function.__globals__[name]
            is_made = isinstance(value, FunctionType) and value in _makers
            scope[name] = machine_code(value) if is_made else value
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return copy


def _as_memory(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.data
    if isinstance(argument, tuple):
        return type(argument)(*map(_as_memory, argument))  # a named one
    return argument


def cache_folder() -> Path | None:
    """The folder for this version of the kernels on this CPU; None if the user can write nowhere."""
    for base in _cache_bases():
        folder = base / _digest()
        if _is_ours(folder):
            return folder
    return None


def _cache_bases() -> Iterator[Path]:
    import tempfile

    for variable in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]) / "kgroup"
    with suppress(RuntimeError):  # no HOME, and the user id has no entry in the password file
        yield Path.home() / ".cache" / "kgroup"
    user = os.getuid() if hasattr(os, "getuid") else "user"
    for place in (tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR")):
        if place:
            yield Path(place) / f"kgroup-{user}"


def _is_ours(folder: Path) -> bool:
    """Make the folder if need be. What numba loads from it runs, so nobody else may write there."""
    if not (is_private(folder.parent) and is_private(folder)):
        return False
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _digest() -> str:
    import hashlib
    from importlib import resources

    import llvmlite
    import numba

    from kgroup.scan.kernels.machine_code import target

    digest = hashlib.sha256(repr((numba.__version__, llvmlite.__version__, target())).encode())
    package = resources.files(__package__ or "kgroup.scan.kernels")
    for name in _SOURCES:
        digest.update(package.joinpath(name).read_bytes())
    return digest.hexdigest()[:16]


@cache
def _cache() -> Path | None:
    return cache_folder()
