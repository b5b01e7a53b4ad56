"""Atomic replacement of small files: a crash leaves the old version or the new one."""

from pathlib import Path
from typing import Final

DRAFT_SUFFIX: Final = ".tmp"


def replace_text(path: Path, text: str) -> None:
    """Write `text` next to `path` and put it in its place. Raises OSError."""
    draft = path.with_name(path.name + DRAFT_SUFFIX)
    draft.write_text(text)
    draft.replace(path)
