"""A group's log, written record by record for a test."""

from dataclasses import dataclass, field
from uuid import UUID

from kgroup.history.timeline.model import Timeline
from kgroup.history.timeline.replay import replay
from kgroup.protocol.records.entries import (
    LoggedEntry,
    OffsetGap,
    OffsetsEntry,
    RecordType,
    TransactionMarker,
)
from kgroup.protocol.records.keys import GroupMetadataKey, Key, OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, MemberMetadata, OffsetCommitValue, Value
from kgroup.protocol.subscription import (
    Assignment,
    NamedTopicPartitions,
    Subscription,
    encode_assignment,
    encode_subscription,
)

GROUP = "orders"
SESSION_MS = 10_000
REBALANCE_MS = 300_000


def member(
    name: str,
    *partitions: int,
    topics: tuple[str, ...] = ("t",),
    instance: str | None = None,
    host: str = "/10.0.0.1",
    client: str | None = None,
    session_ms: int = SESSION_MS,
    rebalance_ms: int = REBALANCE_MS,
    had: tuple[int, ...] = (),
) -> MemberMetadata:
    """A classic member that subscribes to `topics` and owns partitions of the first.

    `had` are those that it said it had when it joined the round.
    """
    owned = (NamedTopicPartitions(topic=topics[0], partitions=partitions),) if partitions else ()
    owned_before = (NamedTopicPartitions(topic=topics[0], partitions=had),) if had else ()
    return MemberMetadata(
        member_id=f"{name}-id",
        group_instance_id=instance,
        client_id=client or name,
        client_host=host,
        session_timeout=session_ms,
        rebalance_timeout=rebalance_ms,
        subscription=encode_subscription(Subscription(topics=topics, owned_partitions=owned_before)),
        assignment=encode_assignment(Assignment(assigned_partitions=owned)),
    )


@dataclass
class GroupLog:
    """Records of GROUP in offsets partition 0. Times are seconds."""

    entries: list[LoggedEntry | OffsetGap] = field(default_factory=list)
    leader_epoch: int = 0
    next_offset: int = 0

    def generation(
        self,
        at: float,
        number: int,
        *members: MemberMetadata,
        protocol: str = "range",
        leader: str | None = None,
        protocol_type: str = "consumer",
    ) -> None:
        value = GroupMetadataValue(
            protocol_type=protocol_type,
            generation=number,
            protocol=protocol if members else None,
            leader=leader or (members[0].member_id if members else None),
            current_state_timestamp=_ms(at),
            members=members,
        )
        self._write(at, RecordType.GROUP_METADATA, GroupMetadataKey(group=GROUP), value)

    def commit(
        self,
        at: float,
        partition: int,
        offset: int,
        *,
        producer: int | None = None,
        topic_id: UUID | None = None,
    ) -> None:
        value = OffsetCommitValue(offset=offset, metadata="", commit_timestamp=_ms(at), topic_id=topic_id)
        self._write(at, RecordType.OFFSET_COMMIT, _commit_key(partition), value, producer)

    def commits(self, first: float, last: float, every: float, *partitions: int) -> None:
        """Commits in a rhythm, each a little further."""
        number = 0
        while (at := first + number * every) <= last:
            for partition in partitions:
                self.commit(at, partition, round(at * 10))
            number += 1

    def end_transaction(self, at: float, producer: int, *, committed: bool) -> None:
        marker = TransactionMarker(
            producer_id=producer, producer_epoch=0, committed=committed, coordinator_epoch=0
        )
        self.entries.append(self._logged(at, marker, producer))

    def remove_commit(self, at: float, partition: int, topic: str = "t") -> None:
        self._write(at, RecordType.OFFSET_COMMIT, _commit_key(partition, topic), None)

    def remove_group(self, at: float) -> None:
        self._write(at, RecordType.GROUP_METADATA, GroupMetadataKey(group=GROUP), None)

    def gap(self) -> None:
        """Offsets that compaction took."""
        self.entries.append(
            OffsetGap(partition=0, first_offset=self.next_offset, last_offset=self.next_offset + 9)
        )
        self.next_offset += 10

    def timeline(self) -> Timeline:
        return replay(self.entries, {})[GROUP]

    def _write(
        self, at: float, record_type: RecordType, key: Key, value: Value | None, producer: int | None = None
    ) -> None:
        version = None if value is None else 3
        entry = OffsetsEntry(type=record_type, key=key, value=value, value_version=version)
        self.entries.append(self._logged(at, entry, producer))

    def _logged(
        self, at: float, entry: OffsetsEntry | TransactionMarker, producer: int | None
    ) -> LoggedEntry:
        self.next_offset += 1
        return LoggedEntry(
            partition=0,
            offset=self.next_offset - 1,
            timestamp_ms=_ms(at),
            leader_epoch=self.leader_epoch,
            producer_id=producer,
            entry=entry,
        )


def _commit_key(partition: int, topic: str = "t") -> OffsetCommitKey:
    return OffsetCommitKey(group=GROUP, topic=topic, partition=partition)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
