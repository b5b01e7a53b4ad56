"""The default folder and names of undo files."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgroup.api.operations.planned import PlannedOperation


def undo_folder() -> Path:
    """`$XDG_STATE_HOME/kgroup/undo`, by default below ~/.local/state."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "kgroup" / "undo"


def default_undo_path(planned: "PlannedOperation", now_ms: int) -> Path:
    """A file there that does not exist. Raises SourceError if others may write to the folder."""
    from kgroup.api.operations.undo_file import default_path

    moment = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    return default_path(undo_folder(), planned.command, next(iter(planned.existed)), moment)
