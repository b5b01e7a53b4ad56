"""Compile the scan's kernels with numba and keep the machine code on disk between runs.

The code is cached below a folder of the user's, never next to the sources: an install may be read-only,
and numba looks only at the file of the outermost function when it decides whether cached code is still
good, so a change in a helper of another file would go unnoticed. The folder's name is therefore a digest
of every kernel source, of numba's version and of the CPU the code is made for. Each kernel has one
signature, so processes that compile at the same time write the same thing.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import numba
from numba import config, njit
from numba.core.registry import cpu_target

from kgroup.private_folder import is_private

Function = TypeVar("Function", bound=Callable[..., Any])

# Kernels give up the GIL, do not check array bounds, and divide as numpy does. They make no arrays, so
# nothing in them needs numba's reference counts, which would cost two thirds of the time: an atomic write
# per array access.
_OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}

# What only kernels call needs no way in from Python; making that takes a quarter of the time to compile.
_INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_SOURCES = (
    "bytes_at.py",
    "cells.py",
    "compile.py",
    "crc.py",
    "gather.py",
    "batches.py",
    "keys.py",
    "newest_rows.py",
    "records.py",
    "rows.py",
    "tally.py",
    "text.py",
)


def target() -> tuple[str, str, str]:
    """LLVM's triple, CPU name and feature list of the code numba makes here."""
    triple, cpu, features = cpu_target.target_context.codegen().magic_tuple()
    return str(triple), str(cpu), str(features)


def helper(function: Function) -> Function:
    """Compile `function` into the kernels that call it."""
    return njit(function, forceinline=True, **_INNER, **_OPTIONS)  # type: ignore[no-any-return]  # untyped


def outlined(function: Function) -> Function:
    """Compile `function` for the kernels that call it, which do so seldom: one copy, not inlined."""
    return njit(function, **_INNER, **_OPTIONS)  # type: ignore[no-any-return]  # untyped


def kernel(function: Function) -> Function:
    """Compile `function` on first use, through the cache if there is a place for one.

    For the kernels that Python calls. Python must always call one with arguments of the same types.
    """
    if _CACHE is None:
        return njit(function, **_OPTIONS)  # type: ignore[no-any-return]  # untyped
    before = config.CACHE_DIR
    # Read by numba when the function is decorated; other users of numba in this process keep theirs.
    config.CACHE_DIR = str(_CACHE)
    try:
        return njit(function, cache=True, **_OPTIONS)  # type: ignore[no-any-return]  # untyped
    except RuntimeError:  # "no locator available": the sources are not in a file, for example in a zip
        return njit(function, **_OPTIONS)  # type: ignore[no-any-return]  # untyped
    finally:
        config.CACHE_DIR = before


def cache_folder() -> Path | None:
    """The folder for this version of the kernels on this CPU; None if the user can write nowhere."""
    for base in _cache_bases():
        folder = base / _digest()
        if _is_ours(folder):
            return folder
    return None


def _cache_bases() -> Iterator[Path]:
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
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _digest() -> str:
    digest = hashlib.sha256(repr((numba.__version__, llvmlite.__version__, target())).encode())
    package = resources.files(__package__ or "kgroup.scan.kernels")
    for name in _SOURCES:
        digest.update(package.joinpath(name).read_bytes())
    return digest.hexdigest()[:16]


_CACHE = cache_folder()
