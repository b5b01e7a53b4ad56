"""Checks that transactions end, and that their commits count as decided (KIP-98, KIP-447)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kgroup.log.format.batch import Batch, decode_batch
from kgroup.protocol.records.transaction_state import (
    TransactionEntry,
    TransactionStatus,
    decode_transaction,
)
from kgroup.sim.watch.log_model import LogModel
from kgroup.sim.watch.result import TRANSACTIONS_END

T = TransactionStatus
_CLOCKS_APART_MS: Final = 50_000
"""A transaction's time is taken by the clocks of the nodes, which may jump."""
_TO_FINISH_MS: Final = 25_000
"""The time that markers may take: a failed append is tried again."""


@dataclass(slots=True)
class _Known:
    entry: TransactionEntry
    since_ms: int


class TransactionsEnd:
    """Listens to the log of transactions, and to transactional batches of the offsets topic."""

    def __init__(self, report: Callable[[str, str], None]) -> None:
        self._report = report
        self._known: dict[str, _Known] = {}
        self._of_producer: dict[int, str] = {}
        self._ending: set[int] = set()

    def restart(self, batches: Iterable[bytes], now_ms: int) -> None:
        """Nodes begin again from these batches of the transactions' log."""
        self._known = {}
        for raw in batches:
            self.logged(raw, now_ms, is_new=False)

    def logged(self, raw: bytes, now_ms: int, *, is_new: bool = True) -> None:
        """Batches of `__transaction_state`; not new: they are read once more."""
        for record in decode_batch(raw).records():
            entry = decode_transaction(record.key or b"", record.value)
            if entry is not None:
                known = self._known.get(entry.transactional_id)
                is_same = known is not None and known.entry.status is entry.status
                if known is not None and is_new:
                    self._changed(known.entry, entry)
                since_ms = known.since_ms if known is not None and is_same else now_ms
                self._known[entry.transactional_id] = _Known(entry, since_ms)
                self._of_producer[entry.producer_id] = entry.transactional_id

    def ends(self, producer_id: int) -> None:
        """A producer asks for the end of its transaction."""
        self._ending.add(producer_id)

    def _changed(self, before: TransactionEntry, entry: TransactionEntry) -> None:
        if before.status is T.ONGOING and entry.status is T.PREPARE_ABORT:
            is_fenced = entry.producer_epoch > before.producer_epoch
            if not is_fenced and entry.producer_id not in self._ending:
                self._say(f"{entry.transactional_id}: aborted for its producer, which is not fenced")
        if entry.status not in (T.ONGOING, T.PREPARE_COMMIT, T.PREPARE_ABORT):
            self._ending.discard(entry.producer_id)

    def written(self, raw: bytes) -> None:
        """Batches of the offsets topic: a transaction's come only while it is open, its marker at its end."""
        batch = decode_batch(raw)
        if not batch.transactional:
            return
        known = self._known.get(self._of_producer.get(batch.producer_id, ""))
        if known is None:
            self._say(f"producer {batch.producer_id} has no transaction")
            return
        entry = known.entry
        name = entry.transactional_id
        # What was let in before the decision may be written after it, for the marker comes later still.
        is_decided = entry.status in (T.PREPARE_COMMIT, T.PREPARE_ABORT)
        is_newest = batch.producer_epoch == entry.producer_epoch and batch.producer_id == entry.producer_id
        if not is_newest and (batch.control or not is_decided):
            self._say(
                f"{name}: epoch {batch.producer_epoch} writes, and {entry.producer_epoch} is the newest"
            )
        elif not batch.control and entry.status is not T.ONGOING and not is_decided:
            self._say(f"{name}: offsets are written in {entry.status.name}")
        elif batch.control and entry.status is not (T.PREPARE_COMMIT if _commits(batch) else T.PREPARE_ABORT):
            self._say(
                f"{name}: a marker that {'commits' if _commits(batch) else 'aborts'} in {entry.status.name}"
            )

    def ended(self, producer_id: int, committed: bool, models: Mapping[int, LogModel]) -> None:
        """A producer was told this end of its transaction, which had offsets."""
        known = self._known.get(self._of_producer.get(producer_id, ""))
        if known is not None and known.entry.status is (T.PREPARE_COMMIT if committed else T.PREPARE_ABORT):
            return
        for model in models.values():
            if producer_id in model.pending:
                self._say(f"producer {producer_id}: its transaction has ended, and offsets are pending")
        markers = [model.markers[producer_id] for model in models.values() if producer_id in model.markers]
        if committed not in markers:
            self._say(f"producer {producer_id}: no marker says that its transaction has ended so")

    def look(self, now_ms: int, models: Mapping[int, LogModel]) -> None:
        """Decided ones are finished, old ones are aborted, and nothing is pending for ever."""
        for name, known in self._known.items():
            entry, age_ms = known.entry, now_ms - known.since_ms
            if entry.status in (T.PREPARE_COMMIT, T.PREPARE_ABORT) and age_ms > _TO_FINISH_MS:
                self._say(f"{name}: {entry.status.name} for {age_ms} ms")
                known.since_ms = now_ms
            if entry.status is T.ONGOING and age_ms > entry.timeout_ms + _CLOCKS_APART_MS:
                self._say(f"{name}: open for {age_ms} ms")
                known.since_ms = now_ms
        for model in models.values():
            for producer_id in model.pending:
                known_ = self._known.get(self._of_producer.get(producer_id, ""))
                is_open = known_ is not None and known_.entry.status in (
                    T.ONGOING,
                    T.PREPARE_COMMIT,
                    T.PREPARE_ABORT,
                )
                if not is_open:
                    self._say(f"producer {producer_id}: offsets are pending, and its transaction is over")

    def _say(self, what: str) -> None:
        self._report(TRANSACTIONS_END, what)


def _commits(batch: Batch) -> bool:
    key = batch.records()[0].key or b""
    return int.from_bytes(key[2:4], "big") == 1
