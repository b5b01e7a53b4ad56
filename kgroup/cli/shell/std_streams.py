"""Replaces standard streams missing at the start (`<&-`, `>&-`, `2>&-`, some schedulers)."""

import io
import os
import sys
from typing import TYPE_CHECKING

from kgroup.errors import SourceError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


def open_missing_streams() -> None:
    """Fill the places of standard streams that are closed.

    Otherwise the next file or socket gets the number of one, and what is printed goes into it. Reading and
    writing fail with a reason; what would be said on standard error goes nowhere. As `stdopen` in gnulib.
    """
    # A file takes the lowest number that is free, so each of these takes the one that was tried.
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)
    # The interpreter leaves None for what it found closed; typeshed does not know.
    missing = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    if "stdin" in missing:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_ClosedInput()))
    if "stdout" in missing:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)  # open for reading: writes fail
    if "stderr" in missing:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


class _ClosedInput(io.RawIOBase):
    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        raise SourceError("standard input is closed: nothing can be read from it")
