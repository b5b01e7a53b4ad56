"""The undo file: a journal on the disk, whole before the first request, and synced at each mark."""

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Final, Self

from kgroup.errors import InputError, RefusedError, SourceError
from kgroup.input_files import OFFSETS_BYTES_MAX, read_input_file
from kgroup.log.store.atomic_file import replace_text
from kgroup.operations.journal import (
    Journal,
    JournalHead,
    Step,
    applied_line,
    begun_line,
    parse_journal,
    plan_text,
)
from kgroup.private_folder import is_private
from kgroup.protocol.topic_partition import TopicPartition

SUFFIX: Final = ".undo"
_NAME_MAX: Final = 60
_ROOM: Final = 8
"""A letter has four bytes at most, and the marks are shorter than the plan."""


class UndoFile:
    """A journal that is being written."""

    def __init__(self, path: Path, file: IO[str]) -> None:
        self.path = path
        self._file = file
        self._lock = threading.Lock()  # marks come from several threads

    @classmethod
    def create(cls, path: Path, head: JournalHead, steps: tuple[Step, ...]) -> Self:
        """Write the plan, and bring it and its name to the disk. Raises SourceError; never overwrites.

        Of several that want the same name at the same moment one gets it. Raises RefusedError for a plan so
        large that its file could not be read again.
        """
        text = plan_text(head, steps)
        if len(text) > OFFSETS_BYTES_MAX // _ROOM:
            raise RefusedError(
                "too many offsets for one undo file, so nothing is changed: do some groups at a time"
            )
        try:
            path.open("x").close()  # from here on the name is ours, whatever else wants it
        except FileExistsError:
            raise SourceError(
                f"{path}: there is such a file already, and an undo file is never overwritten"
            ) from None
        except OSError as error:
            raise _no_file(path, error) from error
        try:
            replace_text(path, text, durable=True)
            path.chmod(0o600)
            return cls(path, path.open("a", encoding="utf-8"))
        except OSError as error:
            with suppress(OSError):
                path.unlink()
            raise _no_file(path, error) from error

    def begin(self, step: int) -> None:
        """Mark a step as begun, before its request. Raises SourceError if the disk fails."""
        self._write(begun_line(step))

    def applied(self, step: int, failed: Mapping[TopicPartition, str]) -> None:
        """Mark a step as applied, after its answer, which refused what is in `failed`. Raises as `begin`."""
        self._write(applied_line(step, failed))

    def close(self) -> None:
        """Close the file: there are no more marks."""
        self._file.close()

    def _write(self, line: str) -> None:
        try:
            with self._lock:
                self._file.write(line)
                self._file.flush()
                os.fsync(self._file.fileno())
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror or error}") from error


def _no_file(path: Path, error: OSError) -> SourceError:
    return SourceError(f"{path}: no undo file, so nothing is changed: {error.strerror or error}")


class NoUndoFile:
    """A stand-in for the undo file where there is to be none."""

    def begin(self, step: int) -> None:
        """Nothing."""

    def applied(self, step: int, failed: Mapping[TopicPartition, str]) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def default_path(folder: Path, command: str, group: str, time_text: str) -> Path:
    """A name in this folder that nothing has. Raises SourceError if others may write to the folder."""
    if not is_private(folder):
        raise SourceError(f"{folder}: no private folder for undo files")
    name = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "_" for char in group)
    if name != group or len(name) > _NAME_MAX:
        # Groups that look alike then must differ: their files may be made at the same moment.
        name = f"{name[:_NAME_MAX]}-{sha256(group.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    stem = f"{time_text}-{command}-{name}"
    number, path = 1, folder / f"{stem}{SUFFIX}"
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}{SUFFIX}"
    return path


def read_undo_file(path: Path) -> Journal:
    """The journal in a file. Raises SourceError if it cannot be read, InputError for what is no journal."""
    content = read_input_file(path, kind="undo file", bytes_max=OFFSETS_BYTES_MAX)
    try:
        return parse_journal(content.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from error
