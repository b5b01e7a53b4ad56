"""The source to believe about a partition's log, and whether a committed topic still exists.

Precedence, for each number by itself: the first listing given that knows it. Callers give what the user
wrote (`--log-ends`) or a live cluster first, then the data topics' own segments, then checkpoints.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from uuid import UUID

from kgroup.protocol.log_listing import LogEndSource, LogListing, PartitionLog
from kgroup.protocol.topic_id import TopicId


class TopicState(StrEnum):
    """The fate of the topic that an offset was committed for, as far as the sources can tell.

    `RECREATED`: there is a topic of that name, but not the one that the offset was committed for.
    `NOT_AUTHORIZED`: the user may not describe a topic of that name, so it may be there or not.
    `UNKNOWN`: no source knows the topic, and none claims to know them all.
    """

    EXISTS = "exists"
    DELETED = "deleted"
    RECREATED = "recreated"
    NOT_AUTHORIZED = "not-authorized"
    UNKNOWN = "unknown"


class LogEnds:
    """The log starts and ends of a cluster's partitions, gathered from listings in order of precedence."""

    def __init__(self, listings: Iterable[LogListing] = ()) -> None:
        self._logs: dict[tuple[str, int], PartitionLog] = {}
        self._topic_ids: dict[str, TopicId] = {}
        self._partition_complete: set[str] = set()
        self._complete = False
        self._of_topics: dict[str, list[PartitionLog]] | None = None
        self._hidden: set[str] = set()
        self._unsure: set[str] = set()
        for listing in listings:
            self._add(listing)

    def _add(self, listing: LogListing) -> None:
        self._complete = self._complete or listing.complete
        self._hidden |= listing.hidden
        self._unsure |= listing.unsure
        for log in _furthest(listing.logs):
            preferred = self._logs.get((log.topic, log.partition))
            self._logs[log.topic, log.partition] = log if preferred is None else _fill(preferred, log)
            if self._topic_ids.get(log.topic) is None:
                self._topic_ids[log.topic] = log.topic_id
            if listing.complete:
                self._partition_complete.add(log.topic)

    def find(self, topic: str, partition: int) -> PartitionLog | None:
        """The log of a partition, None if no source named it."""
        return self._logs.get((topic, partition))

    def of_topic(self, topic: str) -> Sequence[PartitionLog]:
        """The logs of all partitions of a topic that a source named, in no order."""
        if self._of_topics is None:
            self._of_topics = {}
            for log in self._logs.values():
                self._of_topics.setdefault(log.topic, []).append(log)
        return self._of_topics.get(topic, ())

    def topic_state(self, topic: str, partition: int, committed_topic_id: TopicId = None) -> TopicState:
        """Judge a topic that an offset was committed for.

        A topic never loses partitions, so one that has become smaller is another topic of that name. Without
        both topic ids (value version 4, Kafka 4.x) a topic remade with as many partitions goes unnoticed.
        """
        if topic not in self._topic_ids:
            if topic in self._hidden:
                return TopicState.NOT_AUTHORIZED
            is_gone = self._complete and topic not in self._unsure
            return TopicState.DELETED if is_gone else TopicState.UNKNOWN
        topic_id = self._topic_ids[topic]
        if topic_id is not None and committed_topic_id is not None and topic_id != committed_topic_id:
            return TopicState.RECREATED
        if (topic, partition) not in self._logs and topic in self._partition_complete:
            return TopicState.RECREATED
        return TopicState.EXISTS

    def topic_names(self) -> Mapping[UUID, str]:
        """Topic id to name, of every topic whose id a source gave."""
        return {
            topic_id: topic for topic, topic_id in sorted(self._topic_ids.items()) if topic_id is not None
        }

    def hidden(self) -> set[str]:
        """The topics that the user may not describe, and that no source knows."""
        return self._hidden - self._topic_ids.keys()

    def sources(self) -> set[LogEndSource]:
        """The sources that gave at least one log end."""
        return {log.source for log in self._logs.values() if log.log_end_offset is not None}


def _furthest(logs: Iterable[PartitionLog]) -> Iterable[PartitionLog]:
    """One log per partition: of several replicas' folders or checkpoints, the one that got furthest."""
    furthest: dict[tuple[str, int], PartitionLog] = {}
    for log in logs:
        furthest_yet = furthest.get((log.topic, log.partition))
        if furthest_yet is None or _end(log) > _end(furthest_yet):
            furthest[log.topic, log.partition] = log
    return furthest.values()


def _end(log: PartitionLog) -> int:
    return -1 if log.log_end_offset is None else log.log_end_offset


def _fill(preferred: PartitionLog, other: PartitionLog) -> PartitionLog:
    """`preferred`, completed from a source of lower precedence; `source` is the one of the log end."""
    if None not in (preferred.topic_id, other.topic_id) and preferred.topic_id != other.topic_id:
        return preferred  # logs of two topics of one name
    if preferred.log_end_offset is None:
        source, log_end_offset = other.source, other.log_end_offset
    else:
        source, log_end_offset = preferred.source, preferred.log_end_offset
    return PartitionLog(
        topic=preferred.topic,
        partition=preferred.partition,
        source=source,
        log_start_offset=other.log_start_offset
        if preferred.log_start_offset is None
        else preferred.log_start_offset,
        log_end_offset=log_end_offset,
        topic_id=other.topic_id if preferred.topic_id is None else preferred.topic_id,
    )
