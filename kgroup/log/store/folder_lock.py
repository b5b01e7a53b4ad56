"""A lock that lets only one process append to a log directory."""

import os
import sys
from pathlib import Path
from typing import Final
from weakref import finalize

from kgroup.errors import SourceError

LOCK_FILE: Final = ".lock"
"""As Kafka's LogManager calls it. It stays there; what counts is who holds a lock on it."""


class FolderLock:
    """Holds a folder until `release`, or until this or the process is gone, however it ends.

    A Kafka broker holds its log directories in the same way. Raises SourceError if another process does.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK_FILE
        try:
            number = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from error
        self.release = finalize(self, os.close, number)
        if sys.platform == "win32":
            return
        import fcntl

        try:
            fcntl.lockf(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError) as error:  # POSIX allows either
            raise SourceError(
                f"{folder}: another process writes there; does a kgroup serve, a recorder or a broker"
                " run on it already?"
            ) from error
        except OSError as error:
            raise SourceError(f"{path}: cannot be locked: {error.strerror or error}") from error
