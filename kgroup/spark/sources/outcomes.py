"""Outcomes of the transactions behind commits, for readers of only a part of the log.

The marker that ends a transaction comes behind its commits, maybe in a later segment. So what is read ahead
is the part itself and, as long as a transaction is open, what follows it.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import TransactionOutcome

if TYPE_CHECKING:
    from kgroup.scan.reductions.scan import Slice

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Outcomes:
    """Looks ahead when it is first asked. A log without transactions is thus read once only.

    `own` are the slices that are read; `following` gives what comes behind them in their partition.
    """

    def __init__(self, own: Iterable["Slice"], following: Callable[[], Iterator["Slice"]]) -> None:
        self._own = tuple(own)
        self._following = following
        self._producers: Ints | None = None
        self._offsets: Ints = np.zeros(0, np.int64)
        self._committed: Bools = np.zeros(0, np.bool_)

    def of(self, producers: Ints, offsets: Ints) -> list[str | None]:
        """The outcome for each record by its producer id, -1 for none, and its offset in the log."""
        answers: list[str | None] = [None] * len(producers)
        if not (producers >= 0).any():
            return answers
        if self._producers is None:
            self._look_ahead()
        assert self._producers is not None
        for producer in np.unique(producers[producers >= 0]).tolist():
            first, last = np.searchsorted(self._producers, [producer, producer + 1]).tolist()
            rows = np.flatnonzero(producers == producer)
            ends = first + np.searchsorted(self._offsets[first:last], offsets[rows], side="right")
            for row, end in zip(rows.tolist(), ends.tolist(), strict=True):
                answers[row] = _outcome(end < last, end < last and bool(self._committed[end])).value
        return answers

    def _look_ahead(self) -> None:
        found: list[tuple[Ints, Ints, Bools]] = []
        is_open: dict[int, bool] = {}
        for part in self._own:
            self._note(part, found, is_open)
        for part in self._following():
            if not any(is_open.values()):
                break
            self._note(part, found, is_open, begins=False)
        producers, offsets, committed = (
            (np.concatenate(columns) for columns in zip(*found, strict=True))
            if found
            else (self._offsets, self._offsets, self._committed)
        )
        order = np.lexsort((offsets, producers))
        self._producers, self._offsets = producers[order], offsets[order]
        self._committed = committed[order].astype(np.bool_)

    def _note(
        self,
        part: "Slice",
        found: list[tuple[Ints, Ints, Bools]],
        is_open: dict[int, bool],
        *,
        begins: bool = True,
    ) -> None:
        """Add the markers of a slice, and note whose transactions are open behind it.

        Transactions that begin behind what is read (not `begins`) are of no interest.
        """
        from kgroup.scan.kernels.rows import ABORTED, COMMITTED, KIND, LOG_OFFSET, PRODUCER_ID
        from kgroup.scan.reading.reader import RowReader

        for block in RowReader().read(part):
            if isinstance(block, Damage):
                continue  # reading the records reports it
            rows = block.rows[:, : block.count]
            is_marker = (rows[KIND] == COMMITTED) | (rows[KIND] == ABORTED)
            markers = rows[:, is_marker]
            producers = markers[PRODUCER_ID].copy()
            found.append((producers, markers[LOG_OFFSET].copy(), markers[KIND] == COMMITTED))
            if not begins:
                is_open.update(dict.fromkeys(producers.tolist(), False))
                continue
            names, last = np.unique(rows[PRODUCER_ID][::-1], return_index=True)
            ended = is_marker[::-1][last]
            is_open.update(
                (name, not done)
                for name, done in zip(names.tolist(), ended.tolist(), strict=True)
                if name >= 0
            )


def _outcome(has_ended: bool, committed: bool) -> TransactionOutcome:
    if not has_ended:
        return TransactionOutcome.PENDING
    return TransactionOutcome.COMMITTED if committed else TransactionOutcome.ABORTED
