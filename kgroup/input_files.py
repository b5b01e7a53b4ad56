"""Input files named by the user besides the logs: read whole, bounded in size, never endless."""

import os
import stat
from io import FileIO
from pathlib import Path
from typing import BinaryIO, Final

from kgroup.errors import InputError, SourceError

SETTINGS_BYTES_MAX: Final = 1 << 20
"""Of properties and scenarios."""
LIST_BYTES_MAX: Final = 64 << 20
"""Of lists of topics, partitions or members: a million partitions fit."""
OFFSETS_BYTES_MAX: Final = 1 << 30
"""Of lists of commits and undo files: some 200 bytes a commit, and 8 KB with the longest metadata."""

_READ_BYTES: Final = 1 << 20
# A pipe must not be waited for before it is known whether it may be read; Windows has neither.
_OPEN_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def read_input_file(path: Path | str, *, kind: str, bytes_max: int, named: str | None = None) -> bytes:
    """The content of a regular file, of a pipe without a name, as `<(...)` makes it, or of /dev/null.

    `kind` is what it should be, `named` what to call it in errors, by default its path. Raises SourceError
    for what cannot be read or may have no end, InputError for more than `bytes_max` bytes.
    """
    shown = str(path) if named is None else named
    try:
        _refuse(shown, path, Path(path).stat().st_mode)
        with FileIO(path, opener=_open_at_once) as file:
            _refuse(shown, path, os.fstat(file.fileno()).st_mode)
            os.set_blocking(file.fileno(), True)
            return read_input_stream(file, kind=kind, bytes_max=bytes_max, named=shown)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise SourceError(f"{shown}: {getattr(error, 'strerror', None) or error}") from error


def read_input_stream(stream: BinaryIO, *, kind: str, bytes_max: int, named: str) -> bytes:
    """The rest of a stream such as standard input. Raises InputError for more than `bytes_max` bytes."""
    content = bytearray()
    while chunk := stream.read(min(_READ_BYTES, bytes_max + 1 - len(content))):
        content += chunk
        if len(content) > bytes_max:
            raise InputError(f"{named}: more than {bytes_max} bytes, so no {kind}")
    return bytes(content)


def endless(path: Path | str, mode: int) -> str | None:
    """The reason a file of this mode could be read for ever; None for a file or a pipe made for this process.

    Such a pipe has no name in any folder, or only the one that /dev/fd gives it.
    """
    if stat.S_ISFIFO(mode):
        real = Path(os.path.realpath(path))
        named = real.exists() and str(real.parent) != "/dev/fd"
        return "a named pipe, not a file" if named else None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    return "a device or socket, not a file"


def _open_at_once(path: str, _: int) -> int:
    return os.open(path, _OPEN_FLAGS)


def _refuse(shown: str, path: Path | str, mode: int) -> None:
    if (why := endless(path, mode)) is not None and os.path.realpath(path) != os.devnull:
        raise SourceError(f"{shown}: {why}")
