"""Partition folders no longer served, under the names Kafka gives them."""

from itertools import count
from pathlib import Path
from typing import Final, Literal
from uuid import NAMESPACE_URL, uuid5

_NAME_MAX: Final = 255

Fate = Literal["stray", "delete"]


def retire(folder: Path, fate: Fate) -> Path:
    """Rename `<topic>-<partition>` to `<topic>-<partition>.<32 hex digits>-<fate>`; returns the new path.

    The form is that of Kafka's UnifiedLog.logStrayDirName and logDeleteDirName, which cut the topic so that
    the name fits a file system. Nothing in the folder changes. Raises OSError.
    """
    topic, _, partition = folder.name.rpartition("-")
    for number in count():  # ends: no folder has all names
        # Any unique digits do: of a number here, so that the same folders get the same names.
        unique = uuid5(NAMESPACE_URL, f"{folder.name}/{number}").hex
        suffix = f"-{partition}.{unique}-{fate}"
        retired = folder.with_name(topic[: _NAME_MAX - len(suffix)] + suffix)
        if not retired.exists():
            folder.rename(retired)
            return retired
    raise AssertionError("counted to the end")  # pragma: no cover
