"""The state at the end of a small log, read record by record: what `inputs` asks of it.

NumPy and Arrow take longer to import than this takes to read a megabyte.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final
from uuid import UUID

from kgroup.api.lag.commits import PartitionOfGroup
from kgroup.history.groups.newest import NewestEntries
from kgroup.lag.measures.rows import Commit, commit_of
from kgroup.log.files.small import SmallLog

_BY_KEY: Final = attrgetter("group", "topic", "partition", "offsets_partition")


@dataclass(frozen=True, slots=True)
class PlainCommits:
    """Living commits, one after the other."""

    commits: tuple[Commit, ...]

    def __len__(self) -> int:
        return len(self.commits)

    def __iter__(self) -> Iterator[Commit]:
        return iter(self.commits)

    def names(self, column: str) -> list[str]:
        """See `Commits`."""
        return sorted(set(map(attrgetter(column), self.commits)))

    def named_topic_ids(self) -> dict[UUID, str]:
        """See `Commits`."""
        return {commit.topic_id: commit.topic for commit in self.commits if commit.topic_id is not None}

    def made_since(self, time_ms: int) -> Iterator[Commit]:
        """See `Commits`."""
        return (commit for commit in self.commits if commit.commit_timestamp >= time_ms)


class PlainNewest:
    """What `scan.reductions.newest.Newest` says of a log without anything odd."""

    def __init__(self, log: SmallLog) -> None:
        self._newest = NewestEntries()
        for logged in log.commits:
            self._newest.add(logged)
        self.others = tuple(sorted(log.others, key=attrgetter("partition", "offset")))
        self.damage = ()

    def living_commits(self, wanted: Callable[[str], bool]) -> PlainCommits:
        """The commits that count of the groups that are `wanted`, asked once for each group."""
        commits = list(map(commit_of, self._newest.commits()))
        chosen = {group for group in {commit.group for commit in commits} if wanted(group)}
        return PlainCommits(
            tuple(sorted((commit for commit in commits if commit.group in chosen), key=_BY_KEY))
        )

    def pending_commits(self) -> set[PartitionOfGroup]:
        """Partitions with a commit in an open transaction newer than what counts, tombstones included."""
        pending = map(commit_of, self._newest.pending())
        return {(commit.group, commit.topic, commit.partition) for commit in pending}

    def newest_time(self) -> int | None:
        """As `scan.reductions.newest.newest_time`."""
        commits = (*self._newest.commits(), *self._newest.open())
        times = (commit_of(logged).commit_timestamp for logged in commits)
        newest_ms = max((-1, *times, *(logged.timestamp_ms for logged in self.others)))
        return newest_ms if newest_ms >= 0 else None
