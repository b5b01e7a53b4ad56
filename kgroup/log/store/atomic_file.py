"""Small files that are replaced in one go: a crash leaves the old version or the new one."""

import os
from pathlib import Path
from typing import Final

DRAFT_SUFFIX: Final = ".tmp"


def replace_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Write `text` next to `path` and put it in its place; `durable`: on the disk itself, under its name.

    Raises OSError, and then the file is as it was. As Kafka's CheckpointFile does it.
    """
    draft = path.with_name(path.name + DRAFT_SUFFIX)
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    draft.replace(path)
    if durable:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk: what was made, renamed or removed there. Raises OSError."""
    sync_path(folder)


def sync_path(path: Path) -> None:
    """Bring a file or a folder to the disk. Raises OSError."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
