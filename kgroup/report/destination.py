"""The destination of output: standard output, or a file that errors name; and how wide it may be."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import IO, Final

from kgroup.errors import SourceError

SURROGATES_ESCAPED: Final = "backslashreplace"
"""For `errors=`: a lone surrogate, as in a Java string, has no UTF-8."""


def opened(path: Path | None) -> AbstractContextManager[IO[str]]:
    """A file to write text into, or standard output, in UTF-8. Raises as `naming_the_file`."""
    if path is not None:
        return _opened_file(path)
    # Output is UTF-8 whatever the locale says: it is read by programs, and elsewhere.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors=SURROGATES_ESCAPED)
    return nullcontext(sys.stdout)


@contextmanager
def printing_to(path: Path | None) -> Iterator[None]:
    """Have what is printed go into a file, for reports of several tables; None is standard output."""
    if path is None:
        yield
        return
    with _opened_file(path) as stream, redirect_stdout(stream):
        yield


@contextmanager
def naming_the_file(path: Path) -> Iterator[None]:
    """Raise what fails while `path` is opened or written as a SourceError that names it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # One that names another file is of somebody who reads; a write that fails names none.
        if error.filename not in (None, str(path)):
            raise
        raise SourceError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def _opened_file(path: Path) -> Iterator[IO[str]]:
    with (
        naming_the_file(path),
        path.open("w", encoding="utf-8", errors=SURROGATES_ESCAPED, newline="") as stream,
    ):
        yield stream


def terminal_width(stream: IO[str]) -> int | None:
    """Columns to fit into: the terminal's, or what `COLUMNS` asks for; None for a pipe or file."""
    if os.environ.get("COLUMNS", "").isdigit() or stream.isatty():
        return shutil.get_terminal_size().columns
    return None
