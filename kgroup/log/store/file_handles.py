"""Open files of many logs, limited in number: the most recently used stay open."""

import errno
import os
from collections import OrderedDict
from pathlib import Path
from typing import Final
from weakref import finalize

OPEN_MAX: Final = 256
_NO_MORE_FILES: Final = (errno.EMFILE, errno.ENFILE)


class FileHandles:
    """File descriptors by path, for reading or for reading and appending.

    A file that stays open can be read when the process has no descriptor left for another one. Where that
    is so for a new file, the one that was used longest ago makes room. Who is given up without a word lets go
    of all.
    """

    def __init__(self, open_max: int = OPEN_MAX) -> None:
        self._open_max = open_max
        self._open: OrderedDict[Path, tuple[int, bool]] = OrderedDict()
        finalize(self, _close_all, self._open)

    def __len__(self) -> int:
        return len(self._open)

    def reading(self, path: Path) -> int:
        """A descriptor to read `path`; good until the next call. Raises OSError."""
        return self._get(path, writable=False)

    def appending(self, path: Path) -> int:
        """A descriptor to append to `path`, which is there; good until the next call. Raises OSError."""
        return self._get(path, writable=True)

    def close(self, path: Path) -> None:
        """Let go of a file: it was closed, replaced or removed."""
        number, _ = self._open.pop(path, (None, False))
        if number is not None:
            os.close(number)

    def _get(self, path: Path, *, writable: bool) -> int:
        number, can_write = self._open.get(path, (None, False))
        if number is not None and (can_write or not writable):
            self._open.move_to_end(path)
            return number
        self.close(path)
        while len(self._open) >= self._open_max:
            self._close_oldest()
        number = self._opened(path, os.O_RDWR | os.O_APPEND if writable else os.O_RDONLY)
        self._open[path] = number, writable
        return number

    def _opened(self, path: Path, flags: int) -> int:
        try:
            return os.open(path, flags)
        except OSError as error:
            if error.errno not in _NO_MORE_FILES or not self._open:
                raise
        self._close_oldest()
        return os.open(path, flags)

    def _close_oldest(self) -> None:
        _, (number, _) = self._open.popitem(last=False)
        os.close(number)


def _close_all(files: OrderedDict[Path, tuple[int, bool]]) -> None:
    while files:
        _, (number, _) = files.popitem()
        os.close(number)
