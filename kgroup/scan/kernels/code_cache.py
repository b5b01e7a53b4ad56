"""Where the machine code of kernels is kept: a folder of the user's own, with a file for each kernel.

Never next to the sources: an install may be read-only. What is loaded from the folder runs, so nobody else
may write there. The folder's name is a digest of all that the code follows from: the sources of all kernels,
the versions of numba and LLVM, the CPU, and numba's variables. So code for anything else is never met. A file
that is cut off or rotten is as none, and is made again.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Final

import google_crc32c

from kgroup.private_folder import is_private
from kgroup.scan.kernels import native
from kgroup.scan.kernels.native import Code

_CHECKSUM_BYTES: Final = 4


def read_code(name: str) -> Code | None:
    """The code that was written by this name; None if there is none, or no more."""
    folder = _folder()
    if folder is None:
        return None
    try:
        raw = (folder / name).read_bytes()
    except OSError:
        return None
    checked, checksum = raw[:-_CHECKSUM_BYTES], raw[-_CHECKSUM_BYTES:]
    if google_crc32c.value(checked).to_bytes(_CHECKSUM_BYTES, "big") != checksum:
        return None
    head, _, image = checked.partition(b"\n")
    return Code(**json.loads(head), image=image)


@cache
def has_code() -> bool:
    """Whether there was code of any kernel when this process asked first."""
    folder = _folder()
    return folder is not None and any(folder.iterdir())


def write_code(name: str, code: Code) -> None:
    """Keep it, if there is a place; several processes may do so at the same time."""
    folder = _folder()
    if folder is None:
        return
    import tempfile

    facts = asdict(code)
    image = facts.pop("image")
    checked = json.dumps(facts).encode() + b"\n" + image
    with suppress(OSError):  # a full disk: then it is compiled the next time, too
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            written = Path(file.name)
        try:
            written.write_bytes(checked + google_crc32c.value(checked).to_bytes(_CHECKSUM_BYTES, "big"))
            written.replace(folder / name)
        except OSError:
            written.unlink(missing_ok=True)
            raise


def cache_folder() -> Path | None:
    """The folder for this version of the kernels on this CPU; None if the user can write nowhere."""
    for base in _cache_bases():
        folder = base / _digest()
        if _is_ours(folder):
            return folder
    return None


@cache
def _folder() -> Path | None:
    return cache_folder()


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
    if not (is_private(folder.parent) and is_private(folder)):
        return False
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _digest() -> str:
    from importlib import metadata, resources

    numbas = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    versions = [metadata.version(name) for name in ("numba", "llvmlite")]
    digest = hashlib.sha256(repr((versions, native.cpu(), numbas)).encode())
    package = resources.files(__package__ or "kgroup.scan.kernels")
    sources = [source for source in package.iterdir() if source.name.endswith(".py")]
    for source in sorted(sources, key=attrgetter("name")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
