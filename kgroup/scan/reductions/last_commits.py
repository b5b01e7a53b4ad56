"""The last commits of every key, found while scanning: the commits that make up windows.

A log may be read in parts, by several processes: `last_part` reads one, `merge_last` puts parts together,
and `counting` picks the rows that count in the whole.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.protocol.records.consumer_group import ConsumerGroupMetadataValue
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker
from kgroup.protocol.records.keys import ConsumerGroupMetadataKey, GroupMetadataKey
from kgroup.protocol.records.values import GroupMetadataValue
from kgroup.scan.kernels.gather import no_rows, values_of
from kgroup.scan.kernels.keys import capacity
from kgroup.scan.kernels.last_rows import (
    COUNT,
    HAS_TOMBSTONE,
    KEPT_COLUMNS,
    LONGEST,
    add_last,
    new_last_rows,
    put_out,
    with_key_capacity,
)
from kgroup.scan.kernels.rows import (
    COMMIT,
    COMMIT_TIMESTAMP,
    KEY_ID,
    KIND,
    LOG_OFFSET,
    OFFSET,
    PRODUCER_ID,
    RECORD_TIMESTAMP,
    VALUE_VERSION,
    Rows,
)
from kgroup.scan.reading.arrow import schema_of
from kgroup.scan.reading.order import begins_of, ordered_by, ranks
from kgroup.scan.reading.reader import RowReader, Slice
from kgroup.scan.reading.taken import taken
from kgroup.scan.reductions.by_partition import by_partition
from kgroup.scan.reductions.key_order import KeyOrder
from kgroup.scan.reductions.leaps import last_moves, leaps_of, longest_steps, merge_leaps, no_leaps
from kgroup.scan.reductions.newest import FirstMarker, settle
from kgroup.scan.reductions.rows_read import RowsRead, rows_in_order

LAST_COLUMNS: Final = (
    "offsets_partition",
    "log_offset",
    "record_timestamp",
    "producer_id",
    "group",
    "topic",
    "partition",
    "offset",
    "commit_timestamp",
    "value_version",  # -1 is a tombstone
)
COUNTING_COLUMNS: Final = (
    "offsets_partition",
    "log_offset",
    "group",
    "topic",
    "partition",
    "offset",
    "commit_timestamp",
)
"""Those that windows are made of."""
_NUMBERS: Final = ("log_offset", "offset", "commit_timestamp")
_ROWS_AT_ONCE: Final = 500_000  # waiting for the ends of their transactions before they are reduced
_PUT_OUT: Final = 16_384  # rows of periods that ended, at once
_NEEDED: Final = max(KEPT_COLUMNS) + 1  # columns of a waiting row


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The rows kept of each group, topic and partition: the last `slots` commits.

    With `period_ms`, the last ones of each period of that length, counted from the epoch: a commit is of the
    period of its own timestamp, a tombstone of its record's. So many of the `longest` steps of each key are
    kept.
    """

    slots: int
    period_ms: int | None = None
    longest: int = LONGEST


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCommits:
    """The last commits that count of each group, topic and partition, no more than were asked for.

    `commits` has COUNTING_COLUMNS, with periods LAST_COLUMNS, and each name one dictionary; it is sorted by
    offsets partition, group, topic, partition, period if there are any, and log offset. Commits before a
    tombstone are left out, and so are those of aborted and of open transactions. With periods tombstones stay
    (`value_version` -1), and with them what they ended.
    `membership_changes`: by (offsets partition, group), the log offsets of records with another generation or
    group epoch than the record before them.
    """

    commits: pa.Table
    membership_changes: Mapping[tuple[int, str], tuple[int, ...]]
    longest: pa.Table = field(default_factory=no_leaps)
    """The longest steps forward of each key and its first commit, with LEAP_SCHEMA; none with periods."""
    moves: pa.Table = field(default_factory=no_leaps)
    """The last step of each key that moved it, likewise."""

    @classmethod
    def joined(cls, parts: "Sequence[LastCommits]") -> "LastCommits":
        """The commits of several offsets partitions, each by itself and in their order; without periods.

        The numbers that windows are made of are one chunk each: then their arrays are not a second copy.
        """

        def together(nothing: pa.Table, tables: Iterable[pa.Table]) -> pa.Table:
            return pa.concat_tables([nothing, *tables]).unify_dictionaries()

        commits = together(no_rows(schema_of(COUNTING_COLUMNS)), (part.commits for part in parts))
        for name in _NUMBERS:
            at = commits.schema.get_field_index(name)
            commits = commits.set_column(at, commits.schema.field(at), commits[name].combine_chunks())
        return cls(
            commits=commits,
            membership_changes=dict(chain.from_iterable(part.membership_changes.items() for part in parts)),
            longest=together(no_leaps(), (part.longest for part in parts)),
            moves=together(no_leaps(), (part.moves for part in parts)),
        )


@dataclass(frozen=True, slots=True)
class MembershipChanges:
    """A group's generations or epochs in a part of a log; None is a tombstone.

    `log_offsets` are those of the first record, and of each with another generation than the one before it.
    """

    first: int | None
    newest: int | None
    log_offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LastPart:
    """The last commits of a part of a log, in a form in which parts can be merged.

    `settled` are rows outside transactions and of those committed within the part, tombstones included;
    `waiting` are the rows of transactions whose marker is not in it. `first_markers` is by offsets partition
    and producer id, `memberships` by offsets partition and group. `problems` say what could not be read, and
    where.
    """

    settled: pa.Table
    waiting: pa.Table
    first_markers: Mapping[tuple[int, int], FirstMarker]
    memberships: Mapping[tuple[int, str], MembershipChanges]
    leaps: pa.Table = field(default_factory=no_leaps)
    problems: tuple[str, ...] = ()


def last_commits(
    slices: Iterable[Slice], slots: int, advance: Callable[[int], None] = lambda size: None
) -> LastCommits:
    """Read slices, those of one offsets partition in log order, for the last `slots` commits of each key.

    `advance` is called with the size of each slice once it is read. Memory is bounded by the number of keys
    times `slots`, what transactions leave open, and a number per generation. Raises SourceError if a file
    cannot be read.
    """
    keep = Keep(slots=slots)
    return counting(last_part(slices, keep, advance), keep)


def last_part(
    slices: Iterable[Slice], keep: Keep, advance: Callable[[int], None] = lambda size: None
) -> LastPart:
    """Read slices, those of one offsets partition in log order. The rest is as with `last_commits`."""
    reader = LastReader(keep)
    for read in rows_in_order(slices, advance):
        reader.add(read)
    return reader.part()


class LastReader:
    """Takes what is read of slices, all of an offsets partition one after the other and in log order."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._parts: list[LastPart] = []
        self._reading: _PartitionPart | None = None

    def add(self, read: RowsRead) -> None:
        """Keep what may count of it."""
        if self._reading is None or self._reading.reader is not read.reader:
            self._finish()
            self._reading = _PartitionPart(read.reader, read.partition, self._keep)
        self._reading.add(read)

    def part(self) -> LastPart:
        """The last commits in all blocks so far."""
        self._finish()
        return merge_last(self._parts, self._keep)

    def _finish(self) -> None:
        if self._reading is not None:
            self._parts.append(self._reading.part())
            self._reading = None


def merge_last(parts: Iterable[LastPart], keep: Keep) -> LastPart:
    """Put together the parts of a log. The parts of an offsets partition must come in log order."""
    parts = list(parts)
    settled, waiting, first_markers = settle(
        (part.settled, part.waiting, part.first_markers) for part in parts
    )
    memberships: dict[tuple[int, str], MembershipChanges] = {}
    for part in parts:
        for key, changes in part.memberships.items():
            memberships[key] = _followed(memberships[key], changes) if key in memberships else changes
    return LastPart(
        settled=_reduced_together(settled, keep),
        waiting=_reduced_together(waiting, keep, per_producer=True),
        first_markers=first_markers,
        memberships=memberships,
        leaps=merge_leaps([part.leaps for part in parts], [part.settled for part in parts], keep.longest),
        problems=tuple(line for part in parts for line in part.problems),
    )


def counting(part: LastPart, keep: Keep) -> LastCommits:
    """The last commits that count in a whole log."""
    commits = part.settled
    if keep.period_ms is None:
        is_commit = values_of(commits["value_version"]) >= 0
        commits = commits.select(COUNTING_COLUMNS)
        if not is_commit.all():
            commits = _chosen(commits, is_commit)
    changes = {key: changes.log_offsets for key, changes in part.memberships.items()}
    return LastCommits(
        commits=commits,
        membership_changes=changes,
        longest=longest_steps(part.leaps, keep.longest),
        moves=last_moves(part.leaps),
    )


def times_of(rows: pa.Table) -> NDArray[np.int64]:
    """The time at which each row with LAST_COLUMNS was made (epoch ms); it sets the period."""
    is_tombstone = values_of(rows["value_version"]) < 0
    return np.where(is_tombstone, values_of(rows["record_timestamp"]), values_of(rows["commit_timestamp"]))


def _followed(before: MembershipChanges, after: MembershipChanges) -> MembershipChanges:
    # The first record of a part is a change for want of knowledge; with the part before it is known.
    log_offsets = after.log_offsets[1:] if after.first == before.newest else after.log_offsets
    return MembershipChanges(before.first, after.newest, before.log_offsets + log_offsets)


@dataclass(slots=True)
class _Generations:
    first: int | None
    newest: int | None
    log_offsets: list[int]


class _Membership:
    """The changes of generations and epochs. A group's first record counts: what was before is unknown."""

    def __init__(self) -> None:
        self.groups: dict[str, _Generations] = {}

    def add(self, others: Iterable[LoggedEntry]) -> None:
        for logged in others:
            match logged.entry:
                case OffsetsEntry(key=GroupMetadataKey(group=group), value=GroupMetadataValue() as value):
                    self._note(group, value.generation, logged.offset)
                case OffsetsEntry(
                    key=ConsumerGroupMetadataKey(group_id=group), value=ConsumerGroupMetadataValue() as value
                ):
                    self._note(group, value.epoch, logged.offset)
                case OffsetsEntry(
                    key=GroupMetadataKey(group=group) | ConsumerGroupMetadataKey(group_id=group), value=None
                ):
                    self._note(group, None, logged.offset)
                case _:
                    pass

    def _note(self, group: str, generation: int | None, log_offset: int) -> None:
        generations = self.groups.get(group)
        if generations is None:
            self.groups[group] = _Generations(generation, generation, [log_offset])
        elif generations.newest != generation:
            generations.newest = generation
            generations.log_offsets.append(log_offset)


class _PartitionPart:
    """The last rows of one offsets partition, and what its open transactions hold."""

    def __init__(self, reader: RowReader, partition: int, keep: Keep) -> None:
        self.reader = reader
        self._partition = partition
        self._keep = keep
        self._rows = new_last_rows(keep.slots, longest=keep.longest)
        self._out: list[NDArray[np.int64]] = []
        self._open: list[Rows] = []
        self._first_markers: dict[tuple[int, int], FirstMarker] = {}
        self._membership = _Membership()
        self._problems: list[str] = []

    def add(self, read: RowsRead) -> None:
        self._membership.add(read.others)
        self._problems += read.problems()
        rows, count = read.block.rows, read.block.count
        # A tombstone acts at once, even inside a transaction.
        waits = (rows[KIND, :count] == COMMIT) & (rows[PRODUCER_ID, :count] >= 0)
        if waits.any():
            rows = rows[:_NEEDED, :count]
            self._open.append(np.compress(waits, rows, axis=1))
            rows = np.compress(~waits, rows, axis=1)
            count = rows.shape[1]
        self._take(rows, count)
        markers = [
            (logged.entry.producer_id, logged.offset, logged.entry.committed)
            for logged in read.others
            if isinstance(logged.entry, TransactionMarker)
        ]
        for producer_id, log_offset, committed in markers:
            self._first_markers.setdefault(
                (self._partition, producer_id), FirstMarker(committed=committed, log_offset=log_offset)
            )
        if markers and self._open:
            waiting = np.concatenate(self._open, axis=1)
            ended, is_committed = _outcomes(waiting, markers)
            counting = np.compress(is_committed, waiting, axis=1)
            self._take(counting, counting.shape[1])
            self._open = [np.compress(~ended, waiting, axis=1)]
        if sum(part.shape[1] for part in self._open) > _ROWS_AT_ONCE:
            self._open = [_last_per_producer(np.concatenate(self._open, axis=1), self._keep)]

    def _take(self, rows: Rows, count: int) -> None:
        """Take in rows that count, of which the first `count` are good."""
        self._rows = with_key_capacity(self._rows, capacity(self.reader.keys))
        period_ms = self._keep.period_ms or 0
        room = self._keep.slots + _PUT_OUT if period_ms else 0
        row = 0
        while row < count:
            out = np.empty((room, len(KEPT_COLUMNS)), np.int64)
            row, written = add_last(self._rows, rows, row, count, period_ms, out)
            if written:
                self._out.append(out[:written].copy())

    def part(self) -> LastPart:
        keyed = KeyOrder(self.reader.keys, self._partition)
        settled = [_table(keyed, out.T) for out in (*self._out, self._kept(keyed))]
        waiting = np.concatenate([np.empty((_NEEDED, 0), np.int64), *self._open], axis=1)
        return LastPart(
            settled=_reduced(settled, self._keep) if self._out else settled[0],
            leaps=leaps_of(self._rows, keyed),
            waiting=_reduced([_table(keyed, waiting[list(KEPT_COLUMNS)])], self._keep, per_producer=True),
            first_markers=self._first_markers,
            memberships={
                (self._partition, group): MembershipChanges(
                    generations.first, generations.newest, tuple(generations.log_offsets)
                )
                for group, generations in self._membership.groups.items()
            },
            problems=tuple(self._problems),
        )

    def _kept(self, keyed: KeyOrder) -> NDArray[np.int64]:
        """The rows of all rings, sorted by key and log offset."""
        heads = self._rows.heads
        sizes = heads[:, COUNT] + heads[:, HAS_TOMBSTONE]
        kept = np.empty((int(sizes.sum()), len(KEPT_COLUMNS)), np.int64)
        put_out(self._rows, keyed.sorted(np.flatnonzero(sizes)), kept)
        return kept


def _table(keyed: KeyOrder, kept: NDArray[np.int64]) -> pa.Table:
    """Rows with KEPT_COLUMNS, which are the first index, as LAST_COLUMNS."""
    of_column = dict(zip(KEPT_COLUMNS, kept, strict=True))
    columns = {
        "log_offset": of_column[LOG_OFFSET],
        "record_timestamp": of_column[RECORD_TIMESTAMP],
        "producer_id": of_column[PRODUCER_ID],
        "offset": of_column[OFFSET],
        "commit_timestamp": of_column[COMMIT_TIMESTAMP],
        "value_version": of_column[VALUE_VERSION],
    }
    return keyed.table(of_column[KEY_ID], columns, schema_of(LAST_COLUMNS))


def _outcomes(
    waiting: Rows, markers: Sequence[tuple[int, int, bool]]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The rows that a (producer id, log offset, committed) marker ends, and those of them that it commits.

    It is the producer's first marker after the row.
    """
    ordered = np.array(sorted(markers), np.int64)
    # One number for producer and offset together, in the same order.
    producers = ordered[begins_of([ordered[:, 0]]), 0]
    row_producers, row_offsets = waiting[PRODUCER_ID], waiting[LOG_OFFSET]
    first = min(int(ordered[:, 1].min()), int(row_offsets.min(initial=ordered[0, 1])))
    span = max(int(ordered[:, 1].max()), int(row_offsets.max(initial=ordered[0, 1]))) - first + 1
    marker_keys = np.searchsorted(producers, ordered[:, 0]) * span + (ordered[:, 1] - first)
    numbered = np.searchsorted(producers, row_producers)
    has_markers = producers[np.minimum(numbered, len(producers) - 1)] == row_producers
    marker = np.searchsorted(marker_keys, numbered * span + (row_offsets - first), side="right")
    marker = np.minimum(marker, len(ordered) - 1)
    ended = has_markers & (ordered[marker, 0] == row_producers) & (ordered[marker, 1] > row_offsets)
    return ended, ended & (ordered[marker, 2] == 1)


def _last_per_producer(waiting: Rows, keep: Keep) -> Rows:
    """The last rows of each key and producer, in log order."""
    keys = [waiting[KEY_ID], waiting[PRODUCER_ID]]
    keys += [waiting[COMMIT_TIMESTAMP] // keep.period_ms] if keep.period_ms is not None else []
    order = ordered_by(*keys, waiting[LOG_OFFSET])
    kept = order[_places_from_end([key[order] for key in keys]) <= keep.slots]
    return waiting.take(np.sort(kept), axis=1)


def _places_from_end(keys: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Of each of the sorted rows, how many of its key come from it on."""
    begins = begins_of(keys)
    ends = np.append(np.flatnonzero(begins)[1:], len(begins))
    places: NDArray[np.int64] = ends[np.cumsum(begins) - 1] - np.arange(len(begins))
    return places


def _chosen(table: pa.Table, rows: NDArray[np.bool_]) -> pa.Table:
    return taken(table, np.flatnonzero(rows))


def _reduced_together(tables: Iterable[pa.Table], keep: Keep, *, per_producer: bool = False) -> pa.Table:
    """What is left of tables that were reduced before, with one dictionary for each name."""

    def reduced(of_partition: Sequence[pa.Table]) -> pa.Table:
        if len(of_partition) == 1:
            return of_partition[0]
        return _reduced(of_partition, keep, per_producer=per_producer)

    together = [no_rows(schema_of(LAST_COLUMNS)), *by_partition(tables, reduced)]
    return pa.concat_tables(together).unify_dictionaries()


def _reduced(tables: Iterable[pa.Table], keep: Keep, *, per_producer: bool = False) -> pa.Table:
    """Per key the newest tombstone and the last rows after it, sorted by key and log offset.

    The period is a part of the key where there are periods; with `per_producer` the producer id is, too.
    """
    rows = pa.concat_tables([no_rows(schema_of(LAST_COLUMNS)), *tables]).unify_dictionaries().combine_chunks()
    if not rows.num_rows:
        return rows
    keys = [ranks(rows["group"]), ranks(rows["topic"])]
    keys += [values_of(rows["partition"]), values_of(rows["offsets_partition"])]
    keys += [times_of(rows) // keep.period_ms] if keep.period_ms is not None else []
    keys += [values_of(rows["producer_id"])] if per_producer else []
    order = ordered_by(*keys, values_of(rows["log_offset"]))
    keys = [key[order] for key in keys]
    position = np.arange(len(order))
    begins = begins_of(keys)
    is_tombstone = values_of(rows["value_version"])[order] < 0
    newest = np.maximum.reduceat(np.where(is_tombstone, position, -1), np.flatnonzero(begins))
    tombstone = newest[np.cumsum(begins) - 1]
    kept = (position == tombstone) | ((position > tombstone) & (_places_from_end(keys) <= keep.slots))
    return taken(rows, order[kept])
