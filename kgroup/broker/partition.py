"""One partition of a topic: its log, its leader, its producers."""

from collections.abc import Callable, Iterator
from typing import Protocol

from kgroup.broker.offsets_log import encode_marker, is_commit_marker
from kgroup.broker.produced_batch import BatchRules, Refusal, checked_batch
from kgroup.broker.producers import Producers
from kgroup.log.format.batch import decode_batch
from kgroup.log.format.batch_header import BatchHeader, read_header
from kgroup.log.store.record_log import RecordLog
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import TransactionMarker

NO_LEADER = -1


class Replicas(Protocol):
    """The copies that are not level with the leader's."""

    def may_lead(self, node_id: int) -> bool:
        """Whether a node's copy has all that lies below the high watermark."""

    def lead(self, node_id: int) -> int:
        """The log ends where this node's copy does from now on; the high watermark that the node knows of."""


class Partition:
    """The copy that all nodes share: a leader's successor has all that the leader acknowledged.

    `replicas_apart`: the copies are not the same, so that another leader may cut the log.
    """

    def __init__(self, topic: str, index: int, replicas: tuple[int, ...], log: RecordLog) -> None:
        self.topic = topic
        self.index = index
        self.replicas = replicas
        self.log = log
        self.leader = NO_LEADER
        self.leader_epoch = -1
        self.epoch_starts: list[tuple[int, int]] = []  # (leader epoch, first offset), oldest first
        self.producers = Producers()
        self.leads_from = log.end_offset
        """Where the log ended when its present leader began."""
        self.replicas_apart: Replicas | None = None
        self._replicated_to: int | None = None
        self.on_append: Callable[[Partition], None] = lambda partition: None
        self._replay_all()

    def _replay_all(self) -> None:
        for raw in self.log.batches(self.log.start_offset):
            self._replay(raw)

    def _replay(self, raw: bytes) -> None:
        header = read_header(raw)
        if not self.epoch_starts or self.epoch_starts[-1][0] < header.leader_epoch:
            self.epoch_starts.append((header.leader_epoch, header.base_offset))
            self.leader_epoch = max(self.leader_epoch, header.leader_epoch)  # elections do not go back
        if header.control:
            self.producers.ended(header, committed=is_commit_marker(decode_batch(raw)))
        else:
            self.producers.appended(header)

    def lead(self, node_id: int) -> None:
        """Make `node_id` the leader (`NO_LEADER`: nobody can), under a new epoch."""
        self.leader = node_id
        self.leader_epoch += 1
        if self.replicas_apart is not None and node_id != NO_LEADER:
            self._replicated_to = self.replicas_apart.lead(node_id)
            self._replay_anew()
        self.leads_from = self.log.end_offset

    def may_lead(self, node_id: int) -> bool:
        """Whether nothing that counts would be lost with this node as the leader."""
        return self.replicas_apart is None or self.replicas_apart.may_lead(node_id)

    def check_epoch(self, leader_epoch: int) -> ErrorCode:
        """Check what a client believes about the leader (KIP-320); -1: it does not know."""
        if leader_epoch in (-1, self.leader_epoch):
            return ErrorCode.NONE
        if leader_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH

    @property
    def high_watermark(self) -> int:
        """The offset below which all replicas in sync have the records: readers see none from it on."""
        if self._replicated_to is None:
            return self.log.end_offset
        return min(self._replicated_to, self.log.end_offset)

    @property
    def is_end_known(self) -> bool:
        """Whether its leader knows a high watermark that no leader before it has been beyond (KIP-207)."""
        return self.high_watermark >= self.leads_from

    def replicate_to(self, offset: int | None) -> None:
        """The position of the slowest in-sync replica, which never decreases; None: as far as the leader."""
        if offset is not None and self._replicated_to is not None:
            offset = max(offset, self._replicated_to)
        self._replicated_to = offset

    @property
    def last_stable_offset(self) -> int:
        """Records from here on belong to, or lie behind, an open transaction, or are not everywhere yet."""
        stable = self.producers.last_stable_offset(self.log.end_offset)
        return stable if self._replicated_to is None else min(stable, self.high_watermark)

    def produce(self, batch: bytes, rules: BatchRules, now_ms: int) -> Refusal | int:
        """Append a client's batch; the offset of its first record. Raises SourceError as `append`."""
        checked = checked_batch(batch, rules, now_ms)
        if isinstance(checked, Refusal):
            return checked
        check = self.producers.check(read_header(checked))
        if check.error:
            return Refusal(error=check.error)
        if check.duplicate_offset is not None:
            return check.duplicate_offset
        return self.append(checked).base_offset

    def append(self, batch: bytes) -> BatchHeader:
        """Append a batch that needs no checks. Raises SourceError if the log cannot take it."""
        header = self.log.append(batch, self.leader_epoch)
        if not self.epoch_starts or self.epoch_starts[-1][0] < header.leader_epoch:
            self.epoch_starts.append((header.leader_epoch, header.base_offset))
        if header.control:
            self.producers.ended(header, committed=is_commit_marker(decode_batch(batch)))
        else:
            self.producers.appended(header)
        self.on_append(self)
        return header

    def revert(self) -> None:
        """Forget what was appended since the log was last synced. Raises SourceError."""
        self.log.revert()
        self._replay_anew()

    def _replay_anew(self) -> None:
        self.epoch_starts, self.producers = [], Producers()
        self._replay_all()

    def append_marker(self, marker: TransactionMarker, now_ms: int) -> None:
        """Append the end of a transaction. Raises SourceError if the log cannot take it."""
        self.append(encode_marker(marker, now_ms))

    def batches(self) -> Iterator[bytes]:
        """Everything in the log."""
        return self.log.batches(self.log.start_offset)

    def end_of_epoch(self, leader_epoch: int) -> tuple[int, int]:
        """The newest epoch up to `leader_epoch`, and the offset where the next one starts (KIP-101)."""
        later = [start for epoch, start in self.epoch_starts if epoch > leader_epoch]
        up_to = [epoch for epoch, _ in self.epoch_starts if epoch <= leader_epoch]
        if not up_to or leader_epoch > self.leader_epoch:
            return -1, -1
        return up_to[-1], later[0] if later else self.log.end_offset
