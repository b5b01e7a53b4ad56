"""Edges between groups and topics, and what is known about a topic's writers. Values only."""

from dataclasses import dataclass
from enum import StrEnum

from kgroup.history.timeline.model import Grade


class FeedKind(StrEnum):
    """The connection between a group and a topic.

    `READS`: the group has committed offsets on the topic. `WRITES`: a producer that commits the group's
    offsets in its transactions writes to the topic. `DECLARED`: the topology of a streams group names the
    topic (record type 23, KIP-1071); whether anything was written is not said.
    """

    READS = "reads"
    WRITES = "writes"
    DECLARED = "declared"


class MatchedBy(StrEnum):
    """The evidence that commits and records are of one transaction.

    `EPOCH`: producer id and epoch are those of no other transaction, as since KIP-890 (Kafka 4.0) the epoch
    rises with each. `TIME`: the producer had both under way at one time, by its own clock and the brokers'.
    """

    EPOCH = "epoch"
    TIME = "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """An edge. Of a READS edge the direction is topic to group, of the others group to topic, unless a
    DECLARED one `is_source`.

    `partitions` are those of the topic. `transactions` are the committed ones that commit the group's
    offsets and write to the topic, `aborted` and `open` those that ended otherwise or not yet; `records` what
    the committed ones wrote; `beside` are transactions of the same producers that write to the topic and
    commit nothing of the group. All are counts of what the logs still hold. Times are epoch ms: of the first
    and the last transaction's end, or of READS the newest commit. None where the kind of edge has no such.
    """

    group: str
    topic: str
    kind: FeedKind
    grade: Grade
    partitions: tuple[int, ...] = ()
    is_source: bool = False
    transactions: int | None = None
    aborted: int | None = None
    open: int | None = None
    beside: int | None = None
    records: int | None = None
    first_ms: int | None = None
    last_ms: int | None = None
    producer_ids: tuple[int, ...] = ()
    matched_by: MatchedBy | None = None

    @property
    def is_into_group(self) -> bool:
        """Whether what is in the topic goes to the group."""
        return self.kind is FeedKind.READS or self.is_source


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicWriters:
    """The writers of the records still in a topic's log.

    `by_groups` are records of transactions that commit some group's offsets, `in_others` of transactions that
    do not, `outside` those of no transaction: of these nobody can say what they were made from.
    """

    topic: str
    by_groups: int = 0
    in_others: int = 0
    outside: int = 0
