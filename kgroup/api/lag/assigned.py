"""Partitions that groups could have been assigned: those of subscribed topics, by all available proof."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from kgroup.api.lag.proof import Reaches
from kgroup.errors import SourceError
from kgroup.lag.findings.commit_habits import could_be_idle, could_commit_last
from kgroup.lag.findings.model import GroupFacts, KnownPartition, PartitionFacts
from kgroup.lag.findings.subscribers import is_judged, subscribed_topics
from kgroup.lag.measures.log_ends import LogEnds, TopicState
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.protocol.log_listing import PartitionLog
from kgroup.protocol.topic_partition import TopicPartition

_POINTS: Final = 60  # log ends of the past, as proofs of standstills ask for them: they are kept
_Seen = tuple[int, int]
"""The first and the last time of a commit by anybody, epoch ms."""


class AssignedReader:
    """Completes facts on groups by the partitions that there are, and by records that stand alone unread.

    Only what no member owns is looked at closely. Files that cannot be read prove nothing; other readers of
    them report the error.
    """

    def __init__(self, ends: LogEnds, reaches: Reaches | None, data_logs: DataLogs, *, hygiene: bool) -> None:
        self._ends = ends
        self._reaches = reaches
        self._data_logs = data_logs
        self._hygiene = hygiene
        self._topics: dict[str, Mapping[int, tuple[PartitionLog | None, _Seen | None]]] = {}

    def complete(self, facts: GroupFacts) -> GroupFacts:
        """The facts with the counts of subscribed topics, and what of these nobody owns."""
        group = facts.group
        if is_judged(group):
            counts, unowned = dict[str, int](), list[KnownPartition]()
            owned: dict[str, set[int]] = {}
            for member in group.members:
                for each in member.owned:
                    owned.setdefault(each.topic, set()).add(each.partition)
            for topic in subscribed_topics(group):
                there, of_topic = self._of_topic(topic), owned.get(topic, set())
                count = max(max(there, default=-1), max(of_topic, default=-1)) + 1
                if not there.keys() <= of_topic:
                    unowned += (
                        self._known(facts, (topic, partition), *there[partition])
                        for partition in there
                        if partition not in of_topic
                    )
                if count:
                    counts[topic] = count
            facts = replace(facts, counts=counts, unowned=tuple(unowned))
        if waiting := could_commit_last(facts):
            left = (partition.topic_partition for partition in waiting if self._was_read(partition))
            facts = replace(facts, one_record_left=frozenset(left))
        if self._hygiene and self._reaches is not None and (idle := could_be_idle(facts)):
            reached = {
                partition.topic_partition: next(
                    (
                        end.timestamp
                        for end in self._reaches.of_row(partition.row)
                        if end.offset >= partition.last_offset and end.timestamp is not None
                    ),
                    partition.first_ms,
                )
                for partition in idle
            }
            facts = replace(facts, reached_ms=reached)
        return facts

    def _of_topic(self, topic: str) -> Mapping[int, tuple[PartitionLog | None, _Seen | None]]:
        if topic not in self._topics:
            seen = self._reaches.times(topic) if self._reaches is not None else {}
            logs = {log.partition: log for log in self._ends.of_topic(topic)}
            self._topics[topic] = {
                partition: (logs.get(partition), seen.get(partition))
                for partition in sorted(logs.keys() | seen.keys())
                if self._ends.topic_state(topic, partition) in (TopicState.EXISTS, TopicState.UNKNOWN)
            }
        return self._topics[topic]

    def _known(
        self,
        facts: GroupFacts,
        topic_partition: TopicPartition,
        log: PartitionLog | None,
        seen: _Seen | None,
    ) -> KnownPartition:
        topic, partition = topic_partition
        row = next((one.row for one in facts.partitions if one.topic_partition == topic_partition), None)
        times = [] if seen is None else [seen[0]]
        if log is not None:
            times += self._first_record(topic, partition)
        unread = None
        if log is not None and log.log_end_offset is not None:
            committed = row.current_offset if row is not None else None
            begin = log.log_start_offset or 0
            unread = max(log.log_end_offset - max(committed or 0, begin), 0)
        return KnownPartition(
            topic=topic,
            partition=partition,
            since_ms=min(times, default=None),
            seen_ms=None if log is not None or seen is None else seen[1],
            unread=unread,
        )

    def _first_record(self, topic: str, partition: int) -> list[int]:
        try:
            ends = self._data_logs.history(topic, partition, _POINTS)
        except SourceError:
            return []
        return [ends[0].timestamp_ms] if ends else []

    def _was_read(self, partition: PartitionFacts) -> bool:
        """Whether all that is left is one record, and it was there before its offset was committed.

        By the record's own time: a producer whose clock is behind makes a group that stands no healthier.
        """
        (topic, number), offset = partition.topic_partition, partition.last_offset
        try:
            parts = self._data_logs.parts(topic, number, offset)
            record = self._data_logs.first_unread(topic, number, offset)
        except SourceError:
            return False
        is_one = parts is not None and (parts.records, parts.markers, parts.gaps) == (1, 0, 0)
        return is_one and record is not None and 0 <= record.timestamp_ms <= partition.last_ms
