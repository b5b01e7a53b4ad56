"""Partitions a leader assigns twice because members claim some that it has not heard of."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from kgroup.assignors.registry import CLIENT_ASSIGNORS
from kgroup.errors import DecodeError
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import MetadataResponse
from kgroup.protocol.requests.coordinator import JoinGroupResponse, SyncGroup
from kgroup.protocol.sticky_user_data import decode_sticky
from kgroup.protocol.subscription import assigned_partitions, decode_subscription, partitions_of
from kgroup.protocol.topic_partition import TopicPartition

_COOPERATIVE_STICKY: Final = CLIENT_ASSIGNORS["cooperative-sticky"].name
_STICKY: Final = CLIENT_ASSIGNORS["sticky"].name


class Leading:
    """One process's view: the metadata that it has, and what the members of its generation claim.

    Kafka's two sticky assignors (`AbstractStickyAssignor` of 4.3.1, asked the same question) hand partitions
    out twice when a member owns a partition that the leader's metadata do not have yet. This tells that case
    from every other one in which two members have the same: the claim has to be there, and beyond the
    leader's own count.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._claims: frozenset[TopicPartition] = frozenset()

    def heard(self, body: object) -> None:
        """An answer reaches the process."""
        match body:
            case MetadataResponse():
                for topic in body.topics:
                    if topic.error_code is ErrorCode.NONE:
                        self._counts[topic.name] = len(topic.partitions)
            case JoinGroupResponse(error_code=ErrorCode.NONE, protocol_name=str(name)):
                self._claims = frozenset(
                    partition for member in body.members for partition in _claims(name, member.metadata)
                )
            case _:
                pass

    def hands_out_twice(self, body: SyncGroup) -> frozenset[TopicPartition]:
        """The partitions that the leader's assignment has twice for that reason."""
        if not any(number >= self._counts.get(topic, 0) for topic, number in self._claims):
            return frozenset()
        times = Counter(
            partition for _, assignment in body.assignments for partition in assigned_partitions(assignment)
        )
        return frozenset(partition for partition, count in times.items() if count > 1)


def _claims(assignor: str, metadata: bytes) -> Iterable[TopicPartition]:
    """The partitions that this assignor takes a member to have had; those of others do not look."""
    subscription = decode_subscription(metadata)
    if assignor == _COOPERATIVE_STICKY:
        return partitions_of(subscription.owned_partitions)
    if assignor != _STICKY or not subscription.user_data:
        return ()
    try:
        return decode_sticky(subscription.user_data).partitions
    except DecodeError:
        return ()
