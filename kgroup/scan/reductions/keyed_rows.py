"""Rows key by key, in a form that can be cut between keys and joined again.

`last_commits` leaves the last commits of a log sorted by key; no key's rows need those of another.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.scan.kernels.gather import numbers, values_of
from kgroup.scan.reductions.last_commits import LastPart, times_of

Int64s = NDArray[np.int64]

_KEY: Final = ("group", "topic", "partition", "offsets_partition")


class CommitKey(NamedTuple):
    """A group's partition. `offsets_partition` is where it commits: it may have changed, so it may be two."""

    group: str
    topic: str
    partition: int
    offsets_partition: int


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Keys and their rows, `counts` of them per key, one key's after the other's. Sorted by key."""

    keys: Sequence[CommitKey]
    counts: Int64s
    rows: pa.Table

    @classmethod
    def joined(cls, parts: "Sequence[KeyedRows]") -> "KeyedRows":
        """The rows of several parts, at least one; no key is in two of them."""
        if len(parts) == 1:
            return parts[0]
        keys = [key for part in parts for key in part.keys]
        counts = np.concatenate([part.counts for part in parts])
        whole = cls(keys, counts, pa.concat_tables([part.rows for part in parts]))
        return whole.at(sorted(range(len(keys)), key=keys.__getitem__))

    def at(self, indexes: Sequence[int]) -> "KeyedRows":
        """The keys at these indexes, whose order stays that of the keys."""
        chosen = np.array(indexes, np.int64)
        counts = self.counts[chosen]
        begins = (np.cumsum(self.counts) - self.counts)[chosen]
        # Row after row of each: from where its key's begin, by its number among them.
        rows = np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return KeyedRows([self.keys[index] for index in indexes], counts, self.rows.take(numbers(rows)))

    def between(self, start: int, stop: int) -> "KeyedRows":
        """The keys from one place up to another; shares their rows."""
        first, counts = int(self.counts[:start].sum()), self.counts[start:stop]
        return KeyedRows(self.keys[start:stop], counts, self.rows.slice(first, int(counts.sum())))

    def parted(self, part_of: Callable[[CommitKey], int]) -> "Iterator[tuple[int, KeyedRows]]":
        """The rows of each part, by its number."""
        numbered = sorted((part_of(key), index) for index, key in enumerate(self.keys))
        for number, of_part in groupby(numbered, key=lambda pair: pair[0]):
            yield number, self.at([index for _, index in of_part])


@dataclass(frozen=True, slots=True)
class KeyedCommits:
    """The commits and tombstones that count, and when groups changed, by offsets partition and group.

    The rows have `offset`, `timestamp` (epoch ms; a tombstone's is its record's), `log_offset` and
    `is_tombstone`, of each key in the order of the part that they are from.
    """

    commits: KeyedRows
    membership_changes: Mapping[tuple[int, str], tuple[int, ...]]

    @classmethod
    def of(cls, part: LastPart, is_wanted: Callable[[str, str], bool]) -> "KeyedCommits":
        """The rows that count in whole offsets partitions, of wanted groups and topics that commit there."""
        rows = part.settled
        columns = [values_of(rows[name]) for name in _KEY]
        begins = np.ones(rows.num_rows, np.bool_)
        begins[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
        starts = np.flatnonzero(begins)
        groups, topics = _names(rows["group"]), _names(rows["topic"])
        firsts = zip(*(column[starts].tolist() for column in columns), strict=True)
        keys = [CommitKey(groups[group], topics[topic], *partitions) for group, topic, *partitions in firsts]
        is_tombstone = values_of(rows["value_version"]) < 0
        commits = pa.table(
            {
                "offset": rows["offset"],
                "timestamp": numbers(times_of(rows)),
                "log_offset": rows["log_offset"],
                "is_tombstone": numbers(is_tombstone),
            }
        )
        whole = KeyedRows(keys, np.diff(starts, append=rows.num_rows), commits)
        has_commit = np.logical_or.reduceat(~is_tombstone, starts).tolist() if keys else []
        chosen = [
            index for index, key in enumerate(keys) if has_commit[index] and is_wanted(key.group, key.topic)
        ]
        changes = {key: changed.log_offsets for key, changed in part.memberships.items()}
        # Rows come sorted, but one offsets partition after the other.
        in_order = sorted(chosen, key=keys.__getitem__)
        return cls(whole if in_order == list(range(len(keys))) else whole.at(in_order), changes)

    @classmethod
    def joined(cls, parts: "Iterable[KeyedCommits]") -> "KeyedCommits":
        """The commits of several parts, at least one; no key is in two of them."""
        parts = list(parts)
        changes = {key: log_offsets for part in parts for key, log_offsets in part.membership_changes.items()}
        return cls(KeyedRows.joined([part.commits for part in parts]), changes)

    def parted(self, part_of: Callable[[CommitKey], int]) -> "Iterator[tuple[int, KeyedCommits]]":
        """The commits of each part, by its number."""
        for number, commits in self.commits.parted(part_of):
            groups = dict.fromkeys((key.offsets_partition, key.group) for key in commits.keys)
            changes = {key: self.membership_changes[key] for key in groups if key in self.membership_changes}
            yield number, KeyedCommits(commits, changes)

    def blocks(self, keys_max: int) -> Iterator[KeyedRows]:
        """The commits, a block of keys at a time."""
        for start in range(0, len(self.commits.keys), keys_max):
            yield self.commits.between(start, min(start + keys_max, len(self.commits.keys)))


def _names(column: "pa.ChunkedArray[Any]") -> list[str]:
    """The names behind a dictionary column's numbers."""
    if not column.num_chunks:
        return []
    array = column.chunk(0)
    assert isinstance(array, pa.DictionaryArray)
    names: list[str] = array.dictionary.to_pylist()
    return names
