"""Read-committed consumers that wait at an open transaction: they are fine, its producer is not.

Such a reader gets no further than the last stable offset (KIP-98), so it is as silent as one that hangs. Who
reads uncommitted data goes past a transaction's beginning, and is never blocked.
"""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Final

from kgroup.durations import lasting
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.group_standstill import Standings, are_read, transaction_of
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, PartitionFacts
from kgroup.lag.findings.standstill import has_unread
from kgroup.lag.findings.text import counted, listed
from kgroup.lag.status.window_evidence import SHORTEST_MS

_TRY: Final = (
    "The readers are healthy, and a restart changes nothing. Find the producer: kafka-transactions.sh"
    " describe-producers --topic T --partition P, or find-hanging. The transaction ends when its producer"
    " commits or aborts it, or after transaction.timeout.ms. If it does not, use kafka-transactions.sh abort"
    " --topic T --partition P --start-offset OFFSET."
)


def may_be_blocked(facts: GroupFacts) -> Iterator[PartitionFacts]:
    """Partitions to check for an open transaction: they have a reader, and nothing moves."""
    for partition in compress(facts.partitions, are_read(facts)):
        silent_ms = facts.now_ms - partition.last_ms
        repeats = partition.commits > 1 and partition.first_offset == partition.last_offset
        if partition.commits and has_unread(partition) and (repeats or silent_ms >= SHORTEST_MS):
            yield partition


def blocked_readers(facts: GroupFacts, standings: Standings) -> Iterator[Finding]:
    """A finding for each producer whose open transaction a group that stands still waits for."""
    by_transaction: dict[object, list[PartitionFacts]] = {}
    for partition in standings.blocked:
        by_transaction.setdefault(transaction_of(partition), []).append(partition)
    for partitions in by_transaction.values():
        yield _blocked(facts, partitions)


def _blocked(facts: GroupFacts, partitions: Sequence[PartitionFacts]) -> Finding:
    topics = {partition.row.topic for partition in partitions}
    only = partitions[0].row if len(partitions) == 1 else None
    transactions = [partition.open_transaction for partition in partitions]
    first = transactions[0]
    assert first is not None, "that is what blocks it"
    begun = [one.since_ms for one in transactions if one is not None and one.since_ms is not None]
    since_ms = min(*begun, facts.now_ms) if begun else None
    lag = sum(partition.row.lag or 0 for partition in partitions)
    lasts = f" for {lasting(facts.now_ms - since_ms)}" if since_ms is not None else ""
    producer = (
        f"producer id {first.producer_id}, epoch {first.producer_epoch}"
        if first.producer_id is not None
        else "its producer is unknown"
    )
    places = listed(
        [
            f"{partition.row.topic}-{partition.row.partition} from offset {transaction.first_offset} on"
            for partition, transaction in zip(partitions, transactions, strict=True)
            if transaction is not None
        ]
    )
    silent_ms = facts.now_ms - max(partition.last_ms for partition in partitions)
    return Finding(
        kind=FindingKind.OPEN_TRANSACTION,
        group=facts.group.group_id,
        topic=topics.pop() if len(topics) == 1 else None,
        partition=only.partition if only else None,
        since_ms=since_ms,
        # A log does not say what a reader's isolation.level is.
        grade=Grade.INFERRED,
        evidence=f"blocked by an open transaction{lasts}: {producer}; {places}; all {lag:,} unread on"
        f" {counted(len(partitions), 'partition')} lie behind it, and the last commit is"
        f" {lasting(max(silent_ms, 0))} ago",
        numbers={
            "producer_id": first.producer_id,
            "producer_epoch": first.producer_epoch,
            "first_offset": first.first_offset,
            "open_ms": None if since_ms is None else facts.now_ms - since_ms,
            "total_lag": lag,
            "partitions": len(partitions),
        },
        try_this=_TRY,
    )
