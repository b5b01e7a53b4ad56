"""The contents of one offsets partition's log, folded by independent rules: the truth for coordinators.

No rule is shared with the coordinator's way of applying records, so that a fault there shows as a difference.
Source of the rules: Kafka 4.3's OffsetMetadataManager and GroupMetadataManager, `replay`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kgroup.log.format.batch import decode_batch
from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.consumer_group import (
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupRegularExpressionValue,
)
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.records.keys import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupRegularExpressionKey,
    GroupMetadataKey,
    OffsetCommitKey,
)
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue, Value
from kgroup.sim.watch.tallies import GroupPartition

_COMMIT: Final = 1


@dataclass(frozen=True, slots=True)
class Kept:
    """A commit and the offset of its record."""

    value: OffsetCommitValue
    record_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A record or marker as it came: `before` is the commit or group that its key had until then.

    `value` None: it deletes. `producer_id` None: it is of no transaction. `was_pending`: an open transaction
    would have changed this offset.
    """

    key: OffsetCommitKey | GroupMetadataKey
    value: OffsetCommitValue | GroupMetadataValue | None
    before: Kept | GroupMetadataValue | None
    producer_id: int | None
    was_pending: bool = False


_Reads = ConsumerGroupMemberMetadataKey | ConsumerGroupRegularExpressionKey


class LogModel:
    """Committed and pending offsets, and groups, after every batch that it was given."""

    def __init__(self, batches: Iterable[bytes] = ()) -> None:
        self.committed: dict[GroupPartition, Kept] = {}
        self.pending: dict[int, dict[GroupPartition, Kept]] = {}
        self.groups: dict[str, GroupMetadataValue] = {}
        self.consumer_groups: dict[str, dict[_Reads, tuple[str, ...]]] = {}
        """Those of the consumer protocol: the topics of each member and each expression."""
        self.markers: dict[int, bool] = {}
        """By producer id: whether its last marker commits."""
        self.deleted_offsets: set[GroupPartition] = set()
        self.tombstones: dict[str, int] = {}
        """The offset of a group's last tombstone."""
        self.untold: set[str] = set()
        """Those of whose tombstone no coordinator has told yet; they may have been founded again since."""
        for batch in batches:
            for _ in self.take(batch):
                pass

    def take(self, raw: bytes) -> Iterator[Written]:
        """Fold one batch in, record by record: what each did is given out before the next is read."""
        batch = decode_batch(raw)
        if batch.control:
            for record in batch.records():
                self._end(batch.producer_id, int.from_bytes((record.key or b"")[2:4], "big") == _COMMIT)
            return
        producer_id = batch.producer_id if batch.transactional else None
        for record in batch.records():
            entry = decode_entry(record.key, record.value)
            if not isinstance(entry, OffsetsEntry):
                continue
            key, value = entry.key, entry.value
            if isinstance(key, OffsetCommitKey):
                assert value is None or isinstance(value, OffsetCommitValue)
                place = (key.group, (key.topic, key.partition))
                before, was_pending = self.committed.get(place), self.is_pending(place)
                self._commit(place, value, producer_id, record.offset)
                yield Written(
                    key=key, value=value, before=before, producer_id=producer_id, was_pending=was_pending
                )
            elif isinstance(key, GroupMetadataKey):
                assert value is None or isinstance(value, GroupMetadataValue)
                group = self.groups.pop(key.group, None)
                if value is None:
                    self._delete_group(key.group, record.offset)
                else:
                    self.groups[key.group] = value
                yield Written(key=key, value=value, before=group, producer_id=None)
            elif isinstance(key, ConsumerGroupMetadataKey):
                if value is None:
                    self.consumer_groups.pop(key.group_id, None)
                    self._delete_group(key.group_id, record.offset)
                else:
                    self.consumer_groups.setdefault(key.group_id, {})
            elif isinstance(key, _Reads):
                self._reads(key, value)

    def topics_of(self, group_id: str) -> frozenset[str] | None:
        """The topics that a group of the consumer protocol reads; None: there is no such group."""
        reads = self.consumer_groups.get(group_id)
        return None if reads is None else frozenset(topic for topics in reads.values() for topic in topics)

    def is_pending(self, place: GroupPartition) -> bool:
        """Whether an open transaction would change this offset."""
        return any(place in offsets for offsets in self.pending.values())

    def _delete_group(self, group_id: str, offset: int) -> None:
        self.tombstones[group_id] = offset
        self.untold.add(group_id)

    def _reads(self, key: _Reads, value: Value | None) -> None:
        if isinstance(value, ConsumerGroupMemberMetadataValue):
            self.consumer_groups.setdefault(key.group_id, {})[key] = value.subscribed_topic_names
        elif isinstance(value, ConsumerGroupRegularExpressionValue):
            self.consumer_groups.setdefault(key.group_id, {})[key] = value.topics
        else:
            self.consumer_groups.get(key.group_id, {}).pop(key, None)

    def _commit(
        self, place: GroupPartition, value: OffsetCommitValue | None, producer_id: int | None, offset: int
    ) -> None:
        if value is None:
            self.committed.pop(place, None)
            self.deleted_offsets.add(place)
            for offsets in self.pending.values():
                offsets.pop(place, None)
        elif producer_id is None:
            self.committed[place] = Kept(value, offset)
            self.deleted_offsets.discard(place)
        else:
            self.pending.setdefault(producer_id, {})[place] = Kept(value, offset)

    def _end(self, producer_id: int, committed: bool) -> None:
        self.markers[producer_id] = committed
        for place, kept in self.pending.pop(producer_id, {}).items():
            current = self.committed.get(place)
            if committed and (current is None or current.record_offset < kept.record_offset):
                self.committed[place] = kept
                self.deleted_offsets.discard(place)
