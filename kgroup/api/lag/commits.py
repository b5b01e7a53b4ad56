"""The commits that rows are made of, in whichever form a reading of the log has left them."""

from collections.abc import Iterator
from typing import Protocol, TypeAlias
from uuid import UUID

from kgroup.lag.measures.rows import Commit

PartitionOfGroup: TypeAlias = tuple[str, str, int]
"""Group, topic, partition."""


class Commits(Protocol):
    """Living commits, sorted by group, topic, partition."""

    def __len__(self) -> int:
        """Their number."""

    def __iter__(self) -> Iterator[Commit]:
        """Each of them, made as it is asked for."""

    def names(self, column: str) -> list[str]:
        """The names in a column, `group` or `topic`, each once and in order."""

    def named_topic_ids(self) -> dict[UUID, str]:
        """Topic id to name, as commits of value version 4 carry both."""

    def made_since(self, time_ms: int) -> Iterator[Commit]:
        """Those made at this time (epoch ms) or later."""
