"""Commits in Arrow's columns, as a scan leaves them: what `inputs` asks of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.api.lag.commits import PartitionOfGroup
from kgroup.lag.measures.rows import Commit
from kgroup.scan.kernels.gather import numbers, values_of
from kgroup.scan.reading.order import ordered_by, ranks
from kgroup.scan.reductions.scan import Newest

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class ArrowCommits:
    """The commits of `living_commits`."""

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[Commit]:
        return iterate_commits(self.table)

    def names(self, column: str) -> list[str]:
        """See `Commits`."""
        return names_in(self.table, column)

    def named_topic_ids(self) -> dict[UUID, str]:
        """See `Commits`."""
        return named_topic_ids(self.table)

    def made_since(self, time_ms: int) -> Iterator[Commit]:
        """See `Commits`."""
        is_since = values_of(self.table["commit_timestamp"]) >= time_ms
        return iterate_commits(self.table.take(numbers(np.flatnonzero(is_since))))


def living_commits(commits: pa.Table, wanted: Callable[[str], bool]) -> pa.Table:
    """The commits that count of the groups that are `wanted`, sorted by group, topic, partition.

    Tombstones are left out. One chunk; `group` and `topic` as dictionaries.
    """
    table = commits.unify_dictionaries().combine_chunks()
    names, codes = dictionary_of(table, "group")
    chosen = np.array([wanted(name) for name in names], np.bool_)[codes]
    chosen &= np.asarray(values_of(table["value_version"]), np.int64) >= 0  # a tombstone has none
    order = ordered_by(ranks(table["group"]), ranks(table["topic"]), values_of(table["partition"]))
    return table.take(numbers(order[chosen[order]])).combine_chunks()


def dictionary_of(commits: pa.Table, column: str) -> tuple[list[str], NDArray[np.int64]]:
    """The names in a column of commits in one chunk, and by row the place of its name among them."""
    if not commits.num_rows:
        return [], np.empty(0, np.int64)
    array = commits[column].chunk(0)
    assert isinstance(array, pa.DictionaryArray)
    return array.dictionary.to_pylist(), values_of(commits[column])


def names_in(commits: pa.Table, column: str) -> list[str]:
    """The groups, or topics, of commits in one chunk, in order."""
    names, codes = dictionary_of(commits, column)
    return sorted(names[code] for code in np.flatnonzero(np.bincount(codes)))


def named_topic_ids(commits: pa.Table) -> dict[UUID, str]:
    """Topic id to name, as commits of value version 4 carry both."""
    names: dict[UUID, str] = {}
    for batch in commits.select(["topic_id", "topic"]).to_batches(max_chunksize=_ROWS_AT_ONCE):
        # Not by Arrow's group_by: loading its engine takes more memory than all the rest of a report.
        pairs = set(zip(batch["topic_id"].to_pylist(), batch["topic"].to_pylist(), strict=True))
        names |= {UUID(bytes=raw): str(topic) for raw, topic in pairs if raw is not None and any(raw)}
    return names


def iterate_commits(commits: pa.Table) -> Iterator[Commit]:
    """Each row of a commits table as a value; a few thousand are held at a time."""
    for batch in commits.to_batches(max_chunksize=_ROWS_AT_ONCE):
        columns = [
            batch[name].to_pylist()
            for name in (
                "group",
                "topic",
                "partition",
                "offset",
                "leader_epoch",
                "metadata",
                "commit_timestamp",
                "expire_timestamp",
                "topic_id",
                "offsets_partition",
                "log_offset",
            )
        ]
        for (
            group,
            topic,
            partition,
            offset,
            epoch,
            metadata,
            time,
            expires,
            topic_id,
            offsets_partition,
            log_offset,
        ) in zip(*columns, strict=True):
            yield Commit(
                group=group,
                topic=topic,
                partition=partition,
                offset=offset,
                leader_epoch=epoch if epoch >= 0 else None,
                metadata=metadata or "",
                commit_timestamp=time,
                expire_timestamp=expires if expires >= 0 else None,
                topic_id=_topic_id(topic_id),
                offsets_partition=offsets_partition,
                log_offset=log_offset,
            )


@lru_cache(maxsize=4096)  # a report has few topics, and a commit for each group of each partition
def _topic_id(raw: bytes | None) -> UUID | None:
    return UUID(bytes=raw) if raw and any(raw) else None


def pending_commits(newest: Newest) -> set[PartitionOfGroup]:
    """Partitions with a commit in an open transaction newer than what counts, tombstones included."""
    if not newest.pending.num_rows:
        return set()
    settled = {
        (commit.offsets_partition, commit.group, commit.topic, commit.partition): commit.log_offset
        for commit in iterate_commits(newest.commits)
    }
    return {
        (commit.group, commit.topic, commit.partition)
        for commit in iterate_commits(newest.pending)
        if commit.log_offset
        > settled.get((commit.offsets_partition, commit.group, commit.topic, commit.partition), -1)
    }
