"""One report's reading of an offsets topic's log: here, through Spark, or as the log grows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final

from kgroup.scan.kernels.last_rows import LONGEST
from kgroup.scan.memory import give_back
from kgroup.scan.reading.reader import RowReader
from kgroup.scan.reductions.history import History, HistoryReader
from kgroup.scan.reductions.last_commits import Keep, LastCommits, LastPart, LastReader, counting
from kgroup.scan.reductions.newest import NewestReader
from kgroup.scan.reductions.rows_read import rows_read
from kgroup.scan.reductions.scan import Newest, Slice, merge, newest

_AT_ONCE_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Scanned:
    """The newest record of each key; if asked for, its last commits and history."""

    newest: Newest
    last: LastCommits | None = None
    history: History | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """The reduction of a log for a report, the same for every reader.

    `slots` is how many last commits of each key are kept, None for the newest records alone. With `history`
    what was before is kept, too; it needs slots. What `findings` alone need is the longest steps of each key
    and records of groups that follow each other closely.
    """

    slots: int | None = None
    history: bool = False
    findings: bool = True

    @property
    def keep(self) -> Keep | None:
        """The commits to keep besides the newest; None for none."""
        if self.slots is None:
            return None
        return Keep(slots=self.slots, longest=LONGEST if self.findings else 0)

    def scanned(self, newest: Newest, last: LastPart | None, history: History | None) -> Scanned:
        """The result of the parts that a reading left; those that are not planned are None."""
        if self.keep is None or last is None:
            return Scanned(newest)
        return Scanned(newest, counting(last, self.keep), history)


def read_slices(
    slices: Iterable[Slice], plan: ScanPlan, advance: Callable[[int], None] = lambda size: None
) -> Scanned:
    """The plan's result for slices, read once in this process.

    Slices of one offsets partition must be in log order. `advance` is called with the size of each slice once
    it is read. Raises SourceError if a file cannot be read.
    """
    keep = plan.keep
    if keep is None:
        return Scanned(_newest(slices, advance))
    past = HistoryReader(rounds=plan.findings) if plan.history else None
    newest_of_each, last_of_each = [], []
    ordered = sorted(slices, key=attrgetter("offsets_partition"))
    for partition, of_partition in groupby(ordered, key=attrgetter("offsets_partition")):
        newest_rows, last = _partition(partition, tuple(of_partition), keep, past, advance)
        newest_of_each.append(newest_rows)
        last_of_each.append(last)
    history = past.history() if past is not None else None
    past = None  # what it was made of takes more than all that is put together now
    give_back()
    return Scanned(merge(newest_of_each), LastCommits.joined(last_of_each), history)


def _partition(
    partition: int,
    parts: Sequence[Slice],
    keep: Keep,
    past: HistoryReader | None,
    advance: Callable[[int], None],
) -> tuple[Newest, LastCommits]:
    """What the slices of one offsets partition leave; `past` takes what it keeps of them.

    What parts of a partition would need to be merged goes with each: they take more than what is kept.
    """
    reader = RowReader()
    newest_rows, last = NewestReader(partition, reader), LastReader(keep)
    for part in parts:
        for read in rows_read(part, reader):
            newest_rows.add_damage(read.damage)
            newest_rows.add_decoded(read.others)
            newest_rows.add(read.block)
            last.add(read)
            if past is not None:
                past.add(read)
        advance(part.end - part.start)
    return newest_rows.newest(parts), counting(last.part(), keep)


def _newest(slices: Iterable[Slice], advance: Callable[[int], None]) -> Newest:
    """Some megabytes at a time, so that progress is visible."""
    slices = list(slices)
    if (size := sum(part.end - part.start for part in slices)) <= _AT_ONCE_BYTES:
        reduced = newest(slices)  # what each partition leaves is put together once
        advance(size)
        return reduced
    of_partitions: list[Newest] = []
    for _, of_partition in groupby(slices, key=attrgetter("offsets_partition")):
        so_far: Newest | None = None
        for parts in _together(of_partition):
            scanned = newest(parts)
            so_far = merge([so_far, scanned]) if so_far else scanned
            advance(sum(part.end - part.start for part in parts))
        of_partitions += [so_far] if so_far else []
    return merge(of_partitions)


def _together(slices: Iterable[Slice]) -> Iterator[list[Slice]]:
    """Small slices in one go: what they leave costs as much to put together as that of large ones."""
    together: list[Slice] = []
    size = 0
    for part in slices:
        together.append(part)
        size += part.end - part.start
        if size >= _AT_ONCE_BYTES:
            yield together
            together, size = [], 0
    if together:
        yield together
