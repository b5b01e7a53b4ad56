"""What is read of a log of the offsets topic for one report, by whichever way it is read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kgroup.log.scan import Newest, Slice
from kgroup.log.scan_history import History, HistoryReader
from kgroup.log.scan_last import LAST_COLUMNS, Keep, LastCommits, LastReader, blocks_of, counting


@dataclass(frozen=True, slots=True)
class Scanned:
    """The newest record of each key; where they were wanted, last commits, and what was before."""

    newest: Newest
    last: LastCommits | None = None
    history: History | None = None


def read_last_and_history(
    slices: Iterable[Slice], slots: int, advance: Callable[[int], None] = lambda size: None
) -> tuple[LastCommits, History]:
    """What `last_commits` and `read_history` say of slices, from reading them once."""
    keep, history = Keep(slots=slots), HistoryReader()
    last = LastReader(keep)
    for partition, block in blocks_of(slices, LAST_COLUMNS, advance):
        last.add(partition, block)
        history.add(partition, block)
    return counting(last.part(), keep), history.history()
