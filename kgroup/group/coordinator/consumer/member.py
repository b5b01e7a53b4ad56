"""A member of a consumer group, as the log has it: a value that each heartbeat may replace."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Final
from uuid import UUID

from kgroup.protocol.records.consumer_group import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    TopicPartitions,
)

JOINING: Final = 0
"""The epoch a member sends to join, and to come back after it was fenced."""
LEAVING: Final = -1
AWAY: Final = -2
"""The epoch of a static member that left and will be back (KIP-848)."""

Owned = Mapping[UUID, Mapping[int, int]]
"""Topic id -> partition -> the epoch at which the member was given it (KIP-1251)."""
Target = Mapping[UUID, frozenset[int]]
"""Topic id -> partitions that a member shall own."""


class MemberState(IntEnum):
    """A member's state on the way to its target; the numbers are those of the log."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127

    @classmethod
    def of(cls, number: int) -> "MemberState":
        """The state of a record; UNKNOWN for one that a later version of Kafka has added."""
        return cls(number) if number in (0, 1, 2) else cls.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    """One member. `assigned` is its own, `revoking` what it still has to give up.

    `classic` is set for a member that speaks the classic protocol in a consumer group.
    """

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()
    regex: str | None = ""
    assignor: str | None = None
    assigned: Owned = field(default_factory=dict)
    revoking: Owned = field(default_factory=dict)
    classic: ClassicMemberMetadata | None = None

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """The member has all of its target of this epoch, and nothing else."""
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch

    def at_epoch(self, epoch: int, state: MemberState, assigned: Owned, revoking: Owned) -> "ConsumerMember":
        """The member with the next assignment; its present epoch becomes the previous one."""
        return replace(
            self,
            member_epoch=epoch,
            previous_member_epoch=self.member_epoch,
            state=state,
            assigned=assigned,
            revoking=revoking,
        )

    def described_by(self, value: ConsumerGroupMemberMetadataValue) -> "ConsumerMember":
        """The member with what its metadata record says."""
        return replace(
            self,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            client_id=value.client_id,
            client_host=value.client_host,
            topics=frozenset(value.subscribed_topic_names),
            regex=value.subscribed_topic_regex,
            assignor=value.server_assignor,
            classic=value.classic_member_metadata,
        )

    def assigned_by(self, value: ConsumerGroupCurrentMemberAssignmentValue) -> "ConsumerMember":
        """The member with what its record of the current assignment says."""
        return replace(
            self,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=MemberState.of(value.state),
            assigned=_owned(value.assigned_partitions, value.member_epoch),
            revoking=_owned(value.partitions_pending_revocation, value.member_epoch),
        )

    def given_since(self, topic_id: UUID | None, partition: int) -> int | None:
        """The epoch at which it was given a partition it has or still has to give up; None: neither."""
        if topic_id is None:
            return None
        for owned in (self.assigned, self.revoking):
            epoch = owned.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None


def _owned(topics: Iterable[TopicPartitions], member_epoch: int) -> Owned:
    """Logs before 4.3 have no epochs of partitions: the member's own counts, but never one below 0."""
    owned: dict[UUID, Mapping[int, int]] = {}
    for topic in topics:
        if topic.topic_id is None:
            continue
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = (max(member_epoch, 0),) * len(topic.partitions)
        owned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return owned
