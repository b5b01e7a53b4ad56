"""A partition's log start and end, and a group's unread part of it, as some source reported them.

The values that `kgroup.log` and live connections produce and `kgroup.group` computes lag from; here because
neither imports the other.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from kgroup.protocol.records.entries import TransactionOutcome
from kgroup.protocol.topic_id import TopicId


class LogEndSource(StrEnum):
    """The source of a log end.

    `SEGMENTS`: the log end offset of a replica, from its files. `CHECKPOINT`: the high watermark that the
    broker wrote down last, every 5 s by default and when it stops. `RECORDED`: that in the newest sample of
    `kgroup record`.
    """

    FILE = "file"
    LIVE = "live"
    SEGMENTS = "segments"
    CHECKPOINT = "checkpoint"
    RECORDED = "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLog:
    """One partition: the first offset it still has and the offset its next record gets; None is unknown."""

    topic: str
    partition: int
    source: LogEndSource
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    topic_id: TopicId = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstUnread:
    """The first data record at or after a committed offset.

    `timestamp_ms` is epoch ms, -1 if the record has none (message format 0). `outcome` is that of the
    transaction that it was written in: None if in none, or if that was not looked into.
    """

    offset: int
    timestamp_ms: int
    outcome: TransactionOutcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTransaction:
    """A transaction that has written to a partition and not ended, and its first offset there.

    `since_ms` is the time of its first record there (epoch ms). None is what nobody could say.
    """

    first_offset: int
    since_ms: int | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None


class LogEndAt(NamedTuple):
    """A log end offset and the time at which the log ended there, in epoch ms."""

    offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogListing:
    """All that one source said. `complete`: a topic that is not named here does not exist in the cluster.

    `hidden` are topics that the user may not describe, whether or not they exist (Kafka:
    TOPIC_AUTHORIZATION_FAILED); `unsure` those of which the source could not say.
    """

    logs: tuple[PartitionLog, ...]
    complete: bool = False
    hidden: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()
