"""The unread offsets that cannot be read: behind an open transaction, or removed by compaction."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from kgroup.api.lag.time_columns import note
from kgroup.errors import SourceError
from kgroup.lag.findings.blocked import may_be_blocked
from kgroup.lag.findings.model import GroupFacts, PartitionFacts
from kgroup.lag.findings.standstill import has_unread
from kgroup.lag.measures.rows import LagRow
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.protocol.log_listing import OpenTransaction


class TransactionSource(Protocol):
    """Knows what keeps readers of committed data from what is unread."""

    def ask(self, rows: Sequence[LagRow]) -> None:
        """Find out at once what `blocking` will be asked of these rows."""

    def blocking(self, row: LagRow) -> OpenTransaction | None:
        """The open transaction that all that is unread lies behind; None if there is none, or unknown."""

    @property
    def problems(self) -> Sequence[str]:
        """Read errors, as far as the logs have been read."""


@dataclass(frozen=True, slots=True)
class TransactionsInLogs:
    """Open transactions by the partition's own log, if that is here."""

    logs: DataLogs
    problems: list[str] = field(default_factory=list)

    def ask(self, rows: Sequence[LagRow]) -> None:
        """Files are asked when they are needed."""

    def blocking(self, row: LagRow) -> OpenTransaction | None:
        """None if the log is not here, or damaged."""
        assert row.current_offset is not None, "something is committed where nothing moves"
        try:
            return self.logs.blocking_transaction(row.topic, row.partition, row.current_offset)
        except SourceError as error:
            note(self.problems, error)
            return None


def with_transactions(groups: Sequence[GroupFacts], source: TransactionSource) -> list[GroupFacts]:
    """The facts on some groups, with the transactions that are open where nothing moves."""
    still = [list(may_be_blocked(facts)) for facts in groups]
    source.ask([partition.row for of_group in still for partition in of_group])
    return [
        _with_transactions(facts, of_group, source) for facts, of_group in zip(groups, still, strict=True)
    ]


def with_records(groups: Sequence[GroupFacts], logs: DataLogs, problems: list[str]) -> list[GroupFacts]:
    """The facts on some groups, with the records that are left of what compacted partitions have unread."""
    if not logs.has_cleaned:
        return list(groups)
    return [replace(facts, partitions=tuple(_counted(facts.partitions, logs, problems))) for facts in groups]


def _counted(
    partitions: Sequence[PartitionFacts], logs: DataLogs, problems: list[str]
) -> Iterator[PartitionFacts]:
    for partition in partitions:
        row, records = partition.row, None
        if has_unread(partition) and row.current_offset is not None:
            try:
                records = logs.unread_records(row.topic, row.partition, row.current_offset)
            except SourceError as error:
                note(problems, error)
        yield partition if records is None else replace(partition, unread_records=records)


def _with_transactions(
    facts: GroupFacts, still: Sequence[PartitionFacts], source: TransactionSource
) -> GroupFacts:
    found = {
        partition.topic_partition: blocking
        for partition in still
        if (blocking := source.blocking(partition.row)) is not None
    }
    if not found:  # nearly always
        return facts
    return replace(
        facts,
        partitions=tuple(
            replace(partition, open_transaction=found[partition.topic_partition])
            if partition.topic_partition in found
            else partition
            for partition in facts.partitions
        ),
    )
