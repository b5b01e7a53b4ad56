"""The transaction coordinator: producer ids, epochs, and whom to notify of an outcome (KIP-98)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kgroup.errors import SourceError
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import TransactionMarker
from kgroup.protocol.records.transaction_state import TransactionEntry, TransactionStatus
from kgroup.protocol.topic_partition import TopicPartition

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
_LAST_EPOCH: Final = 2**15 - 2  # the one after it is kept for fencing
_RETRY_MS: Final = 1_000

E = ErrorCode
T = TransactionStatus


class ProducerIdentity(NamedTuple):
    """An error, or the id and epoch that a producer has from now on."""

    error: ErrorCode = ErrorCode.NONE
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


@dataclass(slots=True, kw_only=True)
class Transaction:
    """The current or last transaction of one transactional id."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    status: TransactionStatus = T.EMPTY
    partitions: dict[TopicPartition, None] = field(default_factory=dict)
    last_update_ms: int = -1
    start_ms: int = -1

    def entry(self) -> TransactionEntry:
        """The record that the log shall have of it."""
        return TransactionEntry(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            timeout_ms=self.timeout_ms,
            status=self.status,
            partitions=tuple(self.partitions),
            last_update_ms=self.last_update_ms,
            start_ms=self.start_ms,
        )


class Transactions:
    """All transactional ids of a cluster.

    `log` writes a transaction's state, `mark` a marker to one partition, and both have written when they
    return, or raise SourceError, which `mark` has reported. A decision is logged before its first marker, so
    a crash between them is finished on restart, and a marker that cannot be written is tried again by
    `expire`. What `log` does not write has not happened, as in Kafka's TransactionStateManager.
    """

    def __init__(
        self,
        max_timeout_ms: int,
        new_producer_id: Callable[[], int],
        log: Callable[[TransactionEntry, int], None],
        mark: Callable[[TopicPartition, TransactionMarker, int], None],
    ) -> None:
        self._max_timeout_ms = max_timeout_ms
        self._new_producer_id = new_producer_id
        self._log = log
        self._mark = mark
        self._transactions: dict[str, Transaction] = {}
        self._logged: dict[str, TransactionEntry] = {}
        self._retry_ms: dict[str, int] = {}  # by id: when to try again what could not be written

    def forget_all(self) -> None:
        """Forget all states, before they are restored from the log again."""
        self._transactions.clear()
        self._logged.clear()
        self._retry_ms.clear()

    def restore(self, entry: TransactionEntry) -> None:
        """Take over a logged state; the last one of each id counts."""
        self._logged[entry.transactional_id] = entry
        self._transactions[entry.transactional_id] = Transaction(
            transactional_id=entry.transactional_id,
            producer_id=entry.producer_id,
            producer_epoch=entry.producer_epoch,
            timeout_ms=entry.timeout_ms,
            status=entry.status,
            partitions=dict.fromkeys(entry.partitions),
            last_update_ms=entry.last_update_ms,
            start_ms=entry.start_ms,
        )

    def finish_decided(self, now_ms: int) -> None:
        """Write the markers of every transaction that was decided when the last process died."""
        for transaction in list(self._transactions.values()):
            if _is_decided(transaction):
                self._try_to_finish(transaction, now_ms)

    # ---- requests -----------------------------------------------------------------------------

    def init_producer_id(
        self, transactional_id: str | None, timeout_ms: int, current: tuple[int, int], now_ms: int
    ) -> ProducerIdentity:
        """A producer starts, or asks for a new epoch with the id and epoch it had (KIP-360).

        Whoever had the transactional id before is fenced, and what it left open is aborted.
        """
        if (current[0] == NO_PRODUCER_ID) != (current[1] == NO_PRODUCER_EPOCH):
            return ProducerIdentity(E.INVALID_REQUEST)
        if transactional_id is None:
            return ProducerIdentity(E.NONE, self._new_producer_id(), 0)
        if not transactional_id:
            return ProducerIdentity(E.INVALID_REQUEST)
        if not 0 < timeout_ms <= self._max_timeout_ms:
            return ProducerIdentity(E.INVALID_TRANSACTION_TIMEOUT)
        transaction = self._transactions.get(transactional_id)
        if transaction is None:
            transaction = Transaction(
                transactional_id=transactional_id,
                producer_id=self._new_producer_id(),
                producer_epoch=NO_PRODUCER_EPOCH,
                timeout_ms=timeout_ms,
            )
            self._transactions[transactional_id] = transaction
        elif current[0] != NO_PRODUCER_ID and (
            current[0] != transaction.producer_id or current[1] != transaction.producer_epoch
        ):
            return ProducerIdentity(E.PRODUCER_FENCED)
        if _is_decided(transaction):
            return ProducerIdentity(E.CONCURRENT_TRANSACTIONS)
        if transaction.status is T.ONGOING:
            self._fence(transaction, now_ms)
            transaction = self._transactions[transactional_id]
            if _is_decided(transaction):  # markers are missing: the producer asks again
                return ProducerIdentity(E.CONCURRENT_TRANSACTIONS)
        transaction.timeout_ms = timeout_ms
        self._next_epoch(transaction)
        transaction.status = T.EMPTY
        transaction.partitions = {}
        transaction.start_ms = -1
        self._save(transaction, now_ms)
        return _identity(transaction)

    def add_partitions(
        self, transactional_id: str, producer: tuple[int, int], partitions: list[TopicPartition], now_ms: int
    ) -> ErrorCode:
        """Let partitions take part; the first ones begin the transaction."""
        transaction = self._transactions.get(transactional_id)
        error = _check(transaction, producer)
        if error or transaction is None:
            return error
        if transaction.status is T.ONGOING and all(
            partition in transaction.partitions for partition in partitions
        ):
            return E.NONE
        if transaction.status is not T.ONGOING:
            transaction.status = T.ONGOING
            transaction.partitions = {}
            transaction.start_ms = now_ms
        transaction.partitions |= dict.fromkeys(partitions)
        self._save(transaction, now_ms)
        return E.NONE

    def verify(
        self,
        transactional_id: str,
        producer: tuple[int, int],
        partition: TopicPartition,
        *,
        knows_abortable: bool,
    ) -> ErrorCode:
        """Whether records of this producer may go to `partition` now (KIP-890, part 1).

        `knows_abortable`: the client understands TRANSACTION_ABORTABLE.
        """
        transaction = self._transactions.get(transactional_id)
        error = _check(transaction, producer)
        if error is E.PRODUCER_FENCED:
            return E.INVALID_PRODUCER_EPOCH  # what clients expect from produce and commit
        if error or transaction is None:
            return error
        if transaction.status is not T.ONGOING or partition not in transaction.partitions:
            return E.TRANSACTION_ABORTABLE if knows_abortable else E.INVALID_TXN_STATE
        return E.NONE

    def end(
        self,
        transactional_id: str,
        producer: tuple[int, int],
        *,
        committed: bool,
        bump_epoch: bool,
        now_ms: int,
    ) -> ProducerIdentity:
        """Commit or abort; with `bump_epoch` the producer continues under a new epoch (KIP-890, part 2)."""
        transaction = self._transactions.get(transactional_id)
        done = T.COMPLETE_COMMIT if committed else T.COMPLETE_ABORT
        if transaction is not None and bump_epoch and _is_retry(transaction, producer):
            error = E.NONE if transaction.status is done else E.INVALID_TXN_STATE
            return ProducerIdentity(error) if error else _identity(transaction)
        error = _check(transaction, producer)
        if error or transaction is None:
            return ProducerIdentity(error)
        if transaction.status is not T.ONGOING:
            if not bump_epoch and transaction.status is done:
                return _identity(transaction)
            # An abort of nothing is fine for clients that bump epochs, and a new epoch like any other.
            if committed or not bump_epoch:
                return ProducerIdentity(E.INVALID_TXN_STATE)
        if bump_epoch:
            transaction.producer_epoch += 1  # that of the markers, too
        self._decide(transaction, committed=committed, now_ms=now_ms)
        if transaction.producer_epoch > _LAST_EPOCH and not _is_decided(transaction):
            self._next_epoch(transaction)
            self._save(transaction, now_ms)
        return _identity(transaction)

    # ---- time ---------------------------------------------------------------------------------

    def next_deadline_ms(self) -> int | None:
        """The time at which the next open transaction times out; None without one."""
        if not self._transactions:
            return None
        deadlines = [
            max(_due_ms(transaction), self._retry_ms.get(transaction.transactional_id, 0))
            for transaction in self._transactions.values()
            if transaction.status is T.ONGOING or _is_decided(transaction)
        ]
        return min(deadlines, default=None)

    def expire(self, now_ms: int) -> None:
        """Abort what has taken too long and fence its producer; end what was decided and is not written yet.

        Raises SourceError if a decision cannot be written, after all have had their turn; it is tried again
        later, as a marker is.
        """
        failure: SourceError | None = None
        for transaction in list(self._transactions.values()):
            id_ = transaction.transactional_id
            retry_ms = self._retry_ms.get(id_, 0)
            if retry_ms > now_ms + _RETRY_MS:  # the clock was set back; Kafka's retries do not follow it
                self._retry_ms[id_] = now_ms + _RETRY_MS
            if max(_due_ms(transaction), retry_ms) > now_ms:
                continue
            self._retry_ms.pop(id_, None)
            if _is_decided(transaction):
                self._try_to_finish(transaction, now_ms)
            elif transaction.status is T.ONGOING:
                try:
                    self._fence(transaction, now_ms)
                except SourceError as error:
                    self._retry_ms[id_] = now_ms + _RETRY_MS
                    failure = failure or error
        if failure is not None:
            raise failure

    def all_entries(self) -> list[TransactionEntry]:
        """Every transactional id's state."""
        return [transaction.entry() for transaction in self._transactions.values()]

    # ---- pieces -------------------------------------------------------------------------------

    def _fence(self, transaction: Transaction, now_ms: int) -> None:
        transaction.producer_epoch += 1  # so that the old producer's late requests are refused
        self._decide(transaction, committed=False, now_ms=now_ms)

    def _decide(self, transaction: Transaction, *, committed: bool, now_ms: int) -> None:
        transaction.status = T.PREPARE_COMMIT if committed else T.PREPARE_ABORT
        self._save(transaction, now_ms)
        self._try_to_finish(transaction, now_ms)

    def _try_to_finish(self, transaction: Transaction, now_ms: int) -> None:
        """Write the markers of a decision; where one cannot be, later, as Kafka's marker channel does."""
        try:
            self._complete(transaction, committed=transaction.status is T.PREPARE_COMMIT, now_ms=now_ms)
        except SourceError:
            self._retry_ms[transaction.transactional_id] = now_ms + _RETRY_MS

    def _complete(self, transaction: Transaction, *, committed: bool, now_ms: int) -> None:
        marker = TransactionMarker(
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            committed=committed,
            coordinator_epoch=0,
        )
        failure: SourceError | None = None
        for partition in list(transaction.partitions):
            try:
                self._mark(partition, marker, now_ms)
            except SourceError as error:
                failure = failure or error
            else:
                del transaction.partitions[partition]
        if failure is not None:
            raise failure
        transaction.status = T.COMPLETE_COMMIT if committed else T.COMPLETE_ABORT
        transaction.partitions = {}
        self._save(transaction, now_ms)

    def _next_epoch(self, transaction: Transaction) -> None:
        if transaction.producer_epoch >= _LAST_EPOCH:
            transaction.producer_id = self._new_producer_id()
            transaction.producer_epoch = 0
        else:
            transaction.producer_epoch += 1

    def _save(self, transaction: Transaction, now_ms: int) -> None:
        transaction.last_update_ms = now_ms
        entry = transaction.entry()
        try:
            self._log(entry, now_ms)
        except SourceError:
            self._take_back(transaction.transactional_id)
            raise
        self._logged[transaction.transactional_id] = entry

    def _take_back(self, transactional_id: str) -> None:
        """Be as the log says: what could not be written has not happened."""
        logged = self._logged.get(transactional_id)
        if logged is None:
            self._transactions.pop(transactional_id, None)
        else:
            self.restore(logged)


def _check(transaction: Transaction | None, producer: tuple[int, int]) -> ErrorCode:
    if transaction is None or transaction.producer_id != producer[0]:
        return E.INVALID_PRODUCER_ID_MAPPING
    if transaction.producer_epoch != producer[1]:
        return E.PRODUCER_FENCED
    if transaction.status in (T.PREPARE_COMMIT, T.PREPARE_ABORT):
        return E.CONCURRENT_TRANSACTIONS
    return E.NONE


def _is_decided(transaction: Transaction) -> bool:
    """Whether its outcome is in the log while its markers may not be."""
    return transaction.status in (T.PREPARE_COMMIT, T.PREPARE_ABORT)


def _due_ms(transaction: Transaction) -> int:
    """The time at which the transaction needs work without a request; 0: at once, whatever the clock says."""
    return transaction.start_ms + transaction.timeout_ms if transaction.status is T.ONGOING else 0


def _is_retry(transaction: Transaction, producer: tuple[int, int]) -> bool:
    """Whether the producer has not heard that its transaction has ended, and the epoch to continue under."""
    before = (transaction.producer_id, transaction.producer_epoch - 1)
    return transaction.status in (T.COMPLETE_COMMIT, T.COMPLETE_ABORT) and producer == before


def _identity(transaction: Transaction) -> ProducerIdentity:
    return ProducerIdentity(E.NONE, transaction.producer_id, transaction.producer_epoch)
