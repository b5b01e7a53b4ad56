"""Commits in Arrow's columns, as a scan leaves them: what `inputs` asks of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.api.lag.commits import PartitionOfGroup
from kgroup.lag.measures.rows import Commit
from kgroup.scan.kernels.gather import values_of
from kgroup.scan.reading.order import ordered_by, ranks
from kgroup.scan.reading.taken import ids_of, taken
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
        return iterate_commits(taken(self.table, np.flatnonzero(is_since)))


def living_commits(commits: pa.Table, wanted: Callable[[str], bool]) -> pa.Table:
    """The commits that count of the groups that are `wanted`, sorted by group, topic, partition.

    Tombstones are left out. One chunk; `group` and `topic` as dictionaries.
    """
    table = commits.unify_dictionaries().combine_chunks()
    names, codes = dictionary_of(table, "group")
    chosen = np.array([wanted(name) for name in names], np.bool_)[codes]
    chosen &= np.asarray(values_of(table["value_version"]), np.int64) >= 0  # a tombstone has none
    order = ordered_by(ranks(table["group"]), ranks(table["topic"]), values_of(table["partition"]))
    return taken(table, order[chosen[order]])


def dictionary_of(commits: pa.Table, column: str) -> tuple[list[str], NDArray[np.int64]]:
    """The names in a column of commits in one chunk, and by row the place of its name among them."""
    if not commits.num_rows:
        return [], np.empty(0, np.int64)
    return _names(commits[column].chunk(0)), values_of(commits[column])


def _names(array: object) -> list[str]:
    """What stands behind a dictionary column's numbers."""
    assert isinstance(array, pa.DictionaryArray)
    return cast("list[str]", array.dictionary.to_pylist())


def names_in(commits: pa.Table, column: str) -> list[str]:
    """The groups, or topics, of commits in one chunk, in order."""
    names, codes = dictionary_of(commits, column)
    return sorted(names[code] for code in np.flatnonzero(np.bincount(codes)))


def named_topic_ids(commits: pa.Table) -> dict[UUID, str]:
    """Topic id to name, as commits of value version 4 carry both."""
    names: dict[UUID, str] = {}
    for chunk in commits.select(["topic_id", "topic"]).to_batches():
        ids, topics = _topic_ids(chunk["topic_id"]), _names(chunk["topic"])
        # Not by Arrow's group_by: loading its engine takes more memory than all the rest of a report.
        for topic_id, topic in set(zip(ids, _numbers_in(chunk["topic"]), strict=True)):
            if topic_id is not None:
                names[topic_id] = topics[topic]
    return names


def iterate_commits(commits: pa.Table) -> Iterator[Commit]:
    """Each row of a commits table as a value; a few thousand are held at a time.

    Rows of the same group or topic share one string.
    """
    for chunk in commits.to_batches():
        groups, topics = _names(chunk["group"]), _names(chunk["topic"])
        for start in range(0, chunk.num_rows, _ROWS_AT_ONCE):
            yield from _commits(chunk.slice(start, _ROWS_AT_ONCE), groups, topics)


def _commits(batch: pa.RecordBatch, groups: Sequence[str], topics: Sequence[str]) -> Iterator[Commit]:
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
    ) in zip(
        _numbers_in(batch["group"]),
        _numbers_in(batch["topic"]),
        _numbers_in(batch["partition"]),
        _numbers_in(batch["offset"]),
        _numbers_in(batch["leader_epoch"]),
        batch["metadata"].to_pylist(),
        _numbers_in(batch["commit_timestamp"]),
        _numbers_in(batch["expire_timestamp"]),
        _topic_ids(batch["topic_id"]),
        _numbers_in(batch["offsets_partition"]),
        _numbers_in(batch["log_offset"]),
        strict=True,
    ):
        yield Commit(  # by place, which takes half as long as by name
            groups[group],
            topics[topic],
            partition,
            offset,
            epoch if epoch >= 0 else None,
            metadata,
            time,
            expires if expires >= 0 else None,
            topic_id,
            offsets_partition,
            log_offset,
        )


def _numbers_in(column: "pa.Array[Any]") -> list[int]:
    # Arrow's own to_pylist makes an object of its own for each number first, which takes ten times as long.
    found: list[int] = values_of(pa.chunked_array([column])).tolist()
    return found


def _topic_ids(column: "pa.Array[Any]") -> list[UUID | None]:
    """The topic id of each row, of which there are few in many rows; a row without one may have zeros."""
    of_rows = ids_of(column)
    ids = {raw: UUID(bytes=raw) if any(raw) else None for raw in set(of_rows)}
    return [ids[raw] for raw in of_rows]


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
