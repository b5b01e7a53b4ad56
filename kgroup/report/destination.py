"""The destination of output: standard output, or a file named in errors; and how wide it may be.

A file gets its name when it is whole: a full disk or a fault on the way leaves what was there before.
"""

import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from itertools import count
from pathlib import Path
from typing import IO, Final

from kgroup.errors import FindingsError, InputError, SourceError

SURROGATES_ESCAPED: Final = "backslashreplace"
"""For `errors=`: a lone surrogate, as in a Java string, has no UTF-8."""


_DRAFTS: Final = count()


def opened(path: Path | None, *, live: bool = False) -> AbstractContextManager[IO[str]]:
    """A file to write text into, or standard output, in UTF-8. `live` and errors are those of `new_file`."""
    if path is not None:
        return _opened_file(path, live=live)
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
def new_file(path: Path, *, live: bool = False) -> Iterator[Path]:
    """The name to write under: a draft next to `path`, which is renamed to it after the block.

    If the block fails, the draft is deleted, and `path` is as it was; FindingsError, which says that the
    result is complete and bad, is no failure. Devices, /dev/stdout and pipes are written themselves, and so
    is a file that is to be read as it grows (`live`). Raises SourceError, which names `path`, for an OSError.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".kgroup-{os.getpid()}-{next(_DRAFTS)}.tmp")
    is_draft = not live and _may_be_replaced(path) and os.access(target.parent, os.W_OK | os.X_OK)
    with _naming(path, draft if is_draft else target):
        if not is_draft:
            yield path
            return
        try:
            yield draft
        except FindingsError:
            _replace(target, draft)
            raise
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        _replace(target, draft)


def check_target(path: Path) -> None:
    """Raises SourceError if no file can be made under this name: said before the work, not after it."""
    with _naming(path, path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists():
            _require(path, os.W_OK)
        else:
            path.parent.stat()
            if not path.parent.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            _require(path.parent, os.W_OK | os.X_OK)


def require_empty(folder: Path, named: str) -> None:
    """Check a folder before writing: InputError if something is there, SourceError if it cannot be seen."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{named} {folder}: not empty; name a new or empty folder")
    except OSError as error:
        raise SourceError(f"{folder}: {error.strerror or error}") from error


def _require(path: Path, mode: int) -> None:
    if not os.access(path, mode):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _may_be_replaced(path: Path) -> bool:
    """False for a path that names an open file, like /dev/stdout: others write to it too."""
    is_name = not path.absolute().is_relative_to("/dev") and not path.absolute().is_relative_to("/proc")
    return is_name and (path.is_file() or not path.exists())


def _replace(target: Path, draft: Path) -> None:
    if not draft.exists():
        return  # nothing was to be written after all
    if target.exists():
        shutil.copymode(target, draft)
    draft.replace(target)


@contextmanager
def _naming(path: Path, *written: Path) -> Iterator[None]:
    """Raise what fails while `path` is written, as which these are, as a SourceError that names it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # One that names another file is of somebody who reads; a write that fails names none.
        names = (None, str(path), str(path.parent), *map(str, written))
        if error.filename not in names:
            raise
        raise SourceError(f"cannot write {path}: {error.strerror or error}") from error


@contextmanager
def _opened_file(path: Path, *, live: bool = False) -> Iterator[IO[str]]:
    with (
        new_file(path, live=live) as name,
        name.open("w", encoding="utf-8", errors=SURROGATES_ESCAPED, newline="") as stream,
    ):
        yield stream


def terminal_width(stream: IO[str]) -> int | None:
    """Columns to fit into: the terminal's, or what `COLUMNS` asks for; None for a pipe or file."""
    if os.environ.get("COLUMNS", "").isdigit() or stream.isatty():
        return shutil.get_terminal_size().columns
    return None
