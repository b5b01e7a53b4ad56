"""The records of an offsets topic that one report reads, by whichever way."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from kgroup.log.format.batch import Damage
from kgroup.scan.reading.arrow import Dictionaries
from kgroup.scan.reading.reader import RowReader
from kgroup.scan.reductions.history import History, HistoryReader
from kgroup.scan.reductions.last_commits import LAST_COLUMNS, Keep, LastCommits, LastReader, counting
from kgroup.scan.reductions.newest import NewestReader
from kgroup.scan.reductions.scan import Newest, Slice, block_of, merge


@dataclass(frozen=True, slots=True)
class Scanned:
    """The newest record of each key; if asked for, its last commits and history."""

    newest: Newest
    last: LastCommits | None = None
    history: History | None = None


def read_all(
    slices: Iterable[Slice],
    slots: int,
    *,
    history: bool = True,
    advance: Callable[[int], None] = lambda size: None,
) -> Scanned:
    """The `newest`, `last_commits` and, if asked for, `read_history` of slices, from reading them once.

    Slices of one offsets partition must be in log order. `advance` is told the size of each slice once it is
    read. Raises SourceError if a file cannot be read.
    """
    keep, past = Keep(slots=slots), HistoryReader() if history else None
    newest_parts, last = [], LastReader(keep)
    ordered = sorted(slices, key=lambda part: part.offsets_partition)
    for partition, of_partition in groupby(ordered, key=lambda part: part.offsets_partition):
        parts, rows, dictionaries = tuple(of_partition), RowReader(), Dictionaries()
        newest = NewestReader(partition, rows)
        for part in parts:
            for item in rows.read(part):
                newest.add(item)
                if isinstance(item, Damage):
                    continue
                block = block_of(item, part, rows, LAST_COLUMNS, dictionaries)
                last.add(partition, block)
                if past is not None:
                    past.add(partition, block)
            advance(part.end - part.start)
        newest_parts.append(newest.newest(parts))
    return Scanned(
        merge(newest_parts), counting(last.part(), keep), past.history() if past is not None else None
    )
