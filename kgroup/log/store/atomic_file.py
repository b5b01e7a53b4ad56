"""Small files that are replaced as a whole: after a crash, too, there is the old or the new one."""

from pathlib import Path
from typing import Final

DRAFT_SUFFIX: Final = ".tmp"


def replace_text(path: Path, text: str) -> None:
    """Write `text` beside `path` and put it in its place. Raises OSError."""
    draft = path.with_name(path.name + DRAFT_SUFFIX)
    draft.write_text(text)
    draft.replace(path)
