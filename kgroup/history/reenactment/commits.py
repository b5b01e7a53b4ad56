"""A group's commits with their times, collected in log order."""

from typing import NamedTuple

from kgroup.history.timeline.model import Partition
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue


class SeenCommit(NamedTuple):
    """One commit: epoch ms, the offset of its record in the log, and what it committed."""

    at_ms: int
    log_offset: int
    partition: Partition
    offset: int


class CommitsSeen:
    """Keeps the commits of every group that passes by, in log order."""

    def __init__(self) -> None:
        self.by_group: dict[str, list[SeenCommit]] = {}

    def begin(self) -> None:
        """All entries come now, or once more from the start."""
        self.by_group.clear()

    def add(self, logged: LoggedEntry) -> None:
        """The next entry."""
        entry = logged.entry
        if not isinstance(entry, OffsetsEntry) or not isinstance(entry.key, OffsetCommitKey):
            return
        if not isinstance(entry.value, OffsetCommitValue):
            return
        key = entry.key
        seen = SeenCommit(
            entry.value.commit_timestamp,
            logged.offset,
            Partition(key.topic, key.partition),
            entry.value.offset,
        )
        self.by_group.setdefault(key.group, []).append(seen)
