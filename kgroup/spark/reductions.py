"""Reductions of log slices by executors, and the merging of their parts.

The parts come back as Arrow bytes (`kgroup.spark.parts`). Importing this module imports neither PySpark nor
the scan.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from kgroup.scan.reductions.history import History
    from kgroup.scan.reductions.last_commits import Keep, LastPart
    from kgroup.scan.reductions.scan import Newest, Slice

Part = TypeVar("Part")
First = TypeVar("First")
Second = TypeVar("Second")


class Reduction(Protocol[Part]):
    """Slices -> a part, parts -> a part; slices and parts of an offsets partition come in log order."""

    def reduce(self, slices: "Iterable[Slice]") -> Part:
        """Read slices. Raises SourceError if one cannot be read."""
        ...

    def merge(self, parts: Iterable[Part]) -> Part:
        """Put parts together; of none at all comes what an empty log leaves."""
        ...


@dataclass(frozen=True, slots=True)
class NewestRecords:
    """The newest record of each key."""

    def reduce(self, slices: "Iterable[Slice]") -> "Newest":
        """See `kgroup.scan.reductions.scan.newest`."""
        from kgroup.scan.reductions.scan import newest

        return newest(slices)

    def merge(self, parts: "Iterable[Newest]") -> "Newest":
        """See `kgroup.scan.reductions.scan.merge`."""
        from kgroup.scan.reductions.scan import merge

        return merge(parts)


@dataclass(frozen=True, slots=True)
class LastCommitsOfEach:
    """The last commits of each key, or of each key and period."""

    keep: "Keep"

    def reduce(self, slices: "Iterable[Slice]") -> "LastPart":
        """See `kgroup.scan.reductions.last_commits.last_part`."""
        from kgroup.scan.reductions.last_commits import last_part

        return last_part(slices, self.keep)

    def merge(self, parts: "Iterable[LastPart]") -> "LastPart":
        """See `kgroup.scan.reductions.last_commits.merge_last`."""
        from kgroup.scan.reductions.last_commits import merge_last

        return merge_last(parts, self.keep)


@dataclass(frozen=True, slots=True)
class ReachAndRounds:
    """The furthest commits by time, of any group, and rebalances in a row where `rounds` are wanted."""

    rounds: bool = True

    def reduce(self, slices: "Iterable[Slice]") -> "History":
        """See `kgroup.scan.reductions.history.read_history`."""
        from kgroup.scan.reductions.history import read_history

        return read_history(slices, rounds=self.rounds)

    def merge(self, parts: "Iterable[History]") -> "History":
        """See `kgroup.scan.reductions.history.merge_histories`."""
        from kgroup.scan.reductions.history import merge_histories

        return merge_histories(parts)


@dataclass(frozen=True, slots=True)
class Both(Generic[First, Second]):
    """Two reductions in one job; the second finds in memory what the first has read from disk."""

    first: Reduction[First]
    second: Reduction[Second]

    def reduce(self, slices: "Iterable[Slice]") -> tuple[First, Second]:
        """Each reads the slices once."""
        slices = tuple(slices)
        return self.first.reduce(slices), self.second.reduce(slices)

    def merge(self, parts: Iterable[tuple[First, Second]]) -> tuple[First, Second]:
        """Each merges its own."""
        parts = tuple(parts)
        return self.first.merge(part for part, _ in parts), self.second.merge(part for _, part in parts)
