"""The last commits of every key, found while scanning: the commits that make up windows.

A log may be read in parts, by several processes: `last_part` reads one, `merge_last` puts parts together,
and `counting` picks the rows that count in the whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.protocol.records.consumer_group import ConsumerGroupMetadataValue
from kgroup.protocol.records.entries import OffsetsEntry, TransactionMarker
from kgroup.protocol.records.keys import ConsumerGroupMetadataKey, GroupMetadataKey
from kgroup.protocol.records.values import GroupMetadataValue
from kgroup.scan.kernels.gather import no_rows, numbers, values_of
from kgroup.scan.reading.arrow import schema_of
from kgroup.scan.reading.order import begins_of, ordered_by, ranks
from kgroup.scan.reductions.leaps import leaps_of, merge_leaps, no_leaps
from kgroup.scan.reductions.newest import settle
from kgroup.scan.reductions.scan import FirstMarker, ScanBlock, Slice, scan

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
_ROWS_AT_ONCE: Final = 500_000  # gathered before they are reduced


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """The rows kept of each group, topic and partition: the last `slots` commits.

    With `period_ms`, the last ones of each period of that length, counted from the epoch: a commit is of the
    period of its own timestamp, a tombstone of its record's.
    """

    slots: int
    period_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCommits:
    """The last commits that count of each group, topic and partition, no more than were asked for.

    `commits` has columns of COMMIT_SCHEMA, sorted by group, topic, partition, offsets partition, period if
    there are any, and log offset. Commits before a tombstone are left out, and so are those of aborted and of
    open transactions. With periods tombstones stay (`value_version` -1), and with them what they ended.
    `membership_changes`: by (offsets partition, group), the log offsets of records with another generation or
    group epoch than the record before them.
    """

    commits: pa.Table
    membership_changes: Mapping[tuple[int, str], tuple[int, ...]]
    leaps: pa.Table = field(default_factory=no_leaps)
    """The longest steps of each key, with LEAP_SCHEMA; none with periods."""


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
    for partition, block in blocks_of(slices, LAST_COLUMNS, advance):
        reader.add(partition, block)
    return reader.part()


def blocks_of(
    slices: Iterable[Slice], columns: Sequence[str], advance: Callable[[int], None]
) -> Iterator[tuple[int, ScanBlock]]:
    """Scan slices one offsets partition after the other, which comes with each block.

    `advance` is called with the size of each slice once it is read. Raises SourceError if a file cannot be
    read.
    """
    for part in sorted(slices, key=lambda part: part.offsets_partition):
        for block in scan([part], columns=columns):
            yield part.offsets_partition, block
        advance(part.end - part.start)


class LastReader:
    """Takes the blocks of slices, all of an offsets partition one after the other and in log order."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._parts: list[LastPart] = []
        self._reading: _PartitionPart | None = None

    def add(self, partition: int, block: ScanBlock) -> None:
        """Keep what may count of a block with LAST_COLUMNS."""
        if self._reading is None or self._reading.partition != partition:
            self._finish()
            self._reading = _PartitionPart(partition, self._keep)
        self._reading.add(block)

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
        settled=_reduced(settled, keep),
        waiting=_reduced(waiting, keep, per_producer=True),
        first_markers=first_markers,
        memberships=memberships,
        leaps=merge_leaps([part.leaps for part in parts], [part.settled for part in parts]),
        problems=tuple(line for part in parts for line in part.problems),
    )


def counting(part: LastPart, keep: Keep) -> LastCommits:
    """The last commits that count in a whole log."""
    commits = part.settled
    if keep.period_ms is None:
        commits = _chosen(commits, values_of(commits["value_version"]) >= 0)
    changes = {key: changes.log_offsets for key, changes in part.memberships.items()}
    return LastCommits(commits=commits, membership_changes=changes, leaps=part.leaps)


def times_of(rows: pa.Table) -> NDArray[np.int64]:
    """The time at which each row of a `LastPart` or `LastCommits` was made (epoch ms); it sets the period."""
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

    def add(self, block: ScanBlock) -> None:
        for logged in block.others:
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


@dataclass(slots=True)
class _PartitionPart:
    """The last rows of one offsets partition, and what its open transactions hold."""

    partition: int
    keep: Keep
    _tables: list[pa.Table] = field(default_factory=list)
    _gathered: int = 0
    _kept: int = 0
    _open: list[pa.Table] = field(default_factory=list)
    _first_markers: dict[tuple[int, int], FirstMarker] = field(default_factory=dict)
    _membership: _Membership = field(default_factory=_Membership)
    _problems: list[str] = field(default_factory=list)
    _leaps: list[pa.Table] = field(default_factory=list)

    def add(self, block: ScanBlock) -> None:
        self._membership.add(block)
        self._problems += block.problems()
        table = pa.Table.from_batches([block.commits])
        # A tombstone acts at once, even inside a transaction.
        waits = (values_of(table["producer_id"]) >= 0) & (values_of(table["value_version"]) >= 0)
        if waits.any():
            self._open.append(_chosen(table, waits))
            table = _chosen(table, ~waits)
        self._keep(table)
        markers = [
            (logged.entry.producer_id, logged.offset, logged.entry.committed)
            for logged in block.others
            if isinstance(logged.entry, TransactionMarker)
        ]
        for producer_id, log_offset, committed in markers:
            self._first_markers.setdefault(
                (self.partition, producer_id), FirstMarker(committed=committed, log_offset=log_offset)
            )
        if markers and self._open:
            waiting = pa.concat_tables(self._open)
            ended, is_committed = _outcomes(waiting, markers)
            self._keep(_chosen(waiting, is_committed))
            self._open = [_chosen(waiting, ~ended)]
        if sum(part.num_rows for part in self._open) > _ROWS_AT_ONCE:
            self._open = [_reduced(self._open, self.keep, per_producer=True)]

    def part(self) -> LastPart:
        settled = _reduced(self._tables, self.keep, leaps=self._leaps)
        return LastPart(
            settled=settled,
            leaps=merge_leaps(self._leaps),
            waiting=_reduced(self._open, self.keep, per_producer=True),
            first_markers=self._first_markers,
            memberships={
                (self.partition, group): MembershipChanges(
                    generations.first, generations.newest, tuple(generations.log_offsets)
                )
                for group, generations in self._membership.groups.items()
            },
            problems=tuple(self._problems),
        )

    def _keep(self, table: pa.Table) -> None:
        self._tables.append(table)
        self._gathered += table.num_rows
        if self._gathered > max(_ROWS_AT_ONCE, 2 * self._kept):
            self._tables = [_reduced(self._tables, self.keep, leaps=self._leaps)]
            self._leaps = [merge_leaps(self._leaps)]
            self._gathered = self._kept = self._tables[0].num_rows


def _outcomes(
    waiting: pa.Table, markers: Sequence[tuple[int, int, bool]]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The rows that a (producer id, log offset, committed) marker ends, and those of them that it commits.

    It is the producer's first marker after the row.
    """
    ordered = np.array(sorted(markers), np.int64)
    # One number for producer and offset together, in the same order.
    producers = np.unique(ordered[:, 0])
    row_producers, row_offsets = values_of(waiting["producer_id"]), values_of(waiting["log_offset"])
    first = min(int(ordered[:, 1].min()), int(row_offsets.min(initial=ordered[0, 1])))
    span = max(int(ordered[:, 1].max()), int(row_offsets.max(initial=ordered[0, 1]))) - first + 1
    marker_keys = np.searchsorted(producers, ordered[:, 0]) * span + (ordered[:, 1] - first)
    numbered = np.searchsorted(producers, row_producers)
    has_markers = producers[np.minimum(numbered, len(producers) - 1)] == row_producers
    marker = np.searchsorted(marker_keys, numbered * span + (row_offsets - first), side="right")
    marker = np.minimum(marker, len(ordered) - 1)
    ended = has_markers & (ordered[marker, 0] == row_producers) & (ordered[marker, 1] > row_offsets)
    return ended, ended & (ordered[marker, 2] == 1)


def _chosen(table: pa.Table, rows: NDArray[np.bool_]) -> pa.Table:
    return table.take(numbers(np.flatnonzero(rows)))


def _reduced(
    tables: Iterable[pa.Table],
    keep: Keep,
    *,
    per_producer: bool = False,
    leaps: list[pa.Table] | None = None,
) -> pa.Table:
    """Per key the newest tombstone and the last rows after it, sorted by key and log offset.

    The period is a part of the key where there are periods; with `per_producer` the producer id is, too. The
    steps between the rows are put to `leaps`, where there are no periods.
    """
    rows = pa.concat_tables([no_rows(schema_of(LAST_COLUMNS)), *tables]).unify_dictionaries().combine_chunks()
    if not rows.num_rows:
        return rows
    keys = [ranks(rows["group"]), ranks(rows["topic"])]
    keys += [values_of(rows["partition"]), values_of(rows["offsets_partition"])]
    keys += [times_of(rows) // keep.period_ms] if keep.period_ms is not None else []
    keys += [values_of(rows["producer_id"])] if per_producer else []
    order = ordered_by(*keys, values_of(rows["log_offset"]))
    position = np.arange(len(order))
    begins = begins_of([key[order] for key in keys])
    starts = np.flatnonzero(begins)
    number = np.cumsum(begins) - 1
    end = np.append(starts[1:], len(order))[number]
    is_tombstone = values_of(rows["value_version"])[order] < 0
    if leaps is not None and keep.period_ms is None:
        leaps.append(leaps_of(rows, order, begins, is_tombstone))
    tombstone = np.maximum.reduceat(np.where(is_tombstone, position, -1), starts)[number]
    kept = (position == tombstone) | ((position > tombstone) & (end - position <= keep.slots))
    return rows.take(numbers(order[kept])).combine_chunks()
