"""A member of the consumer protocol, and a coordinator whose answers are said by hand."""

from typing import Any

from kgroup.group.member.consumer.member import ConsumerMember
from kgroup.group.member.settings import GroupProtocol, MemberSettings
from kgroup.group.member.step import MemberStep, Poll, Send
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import Fetch, MemberResponse, Metadata, MetadataResponse
from kgroup.protocol.requests.consumer_group import (
    AssignedTopic,
    ConsumerAssignment,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kgroup.protocol.topic_partition import TopicPartition, group_by_topic
from tests.group.member.member_world import BOOTSTRAP, TOPIC_IDS, MemberWorld

INTERVAL_MS = 5000


def answer(
    epoch: int, *partitions: TopicPartition, keeps: bool = False, interval_ms: int = INTERVAL_MS
) -> ConsumerGroupHeartbeatResponse:
    """What a coordinator says: an epoch, and the whole assignment unless the member `keeps` what it has."""
    topics = [
        AssignedTopic(topic_id=TOPIC_IDS[topic], partitions=list(numbers))
        for topic, numbers in group_by_topic(sorted(partitions)).items()
    ]
    return ConsumerGroupHeartbeatResponse(
        member_epoch=epoch,
        heartbeat_interval_ms=interval_ms,
        assignment=None if keeps else ConsumerAssignment(topic_partitions=topics),
    )


def refusal(error_code: ErrorCode) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error_code, error_message="for a reason")


class ConsumerWorld(MemberWorld):
    """`hidden` are topics that metadata does not show yet."""

    def __init__(self, **settings: Any) -> None:
        given = {"group_protocol": GroupProtocol.CONSUMER} | settings
        super().__init__(4, **given)
        self.member: ConsumerMember = ConsumerMember(
            MemberSettings(**{"group_id": "g", "enable_auto_commit": False} | given), [BOOTSTRAP], lambda: 0.5
        )
        self.hidden: set[str] = set()

    def usual_answer(self, send: Send) -> MemberResponse:
        if isinstance(send.body, ConsumerGroupHeartbeat):
            return answer(2, *[("orders", number) for number in range(self.topics["orders"])])
        usual = super().usual_answer(send)
        if isinstance(usual, MetadataResponse) and isinstance(send.body, Metadata):
            shown = tuple(topic for topic in usual.topics if topic.name not in self.hidden)
            return MetadataResponse(nodes=usual.nodes, topics=shown)
        return usual

    def poll(self) -> MemberStep:
        return self.do(Poll())

    @property
    def heartbeats(self) -> list[ConsumerGroupHeartbeat]:
        return self.waiting(ConsumerGroupHeartbeat)

    @property
    def heartbeat(self) -> ConsumerGroupHeartbeat:
        [only] = self.heartbeats
        return only

    def told(self, said: ConsumerGroupHeartbeatResponse) -> MemberStep:
        """The heartbeat under way is answered, or the next one when it is due."""
        if not self.heartbeats:
            self.advance(INTERVAL_MS)
        return self.answer(ConsumerGroupHeartbeat, said)

    def seen(self) -> list[tuple[str, tuple[TopicPartition, ...]]]:
        """The callbacks since the last look."""
        seen, self.callbacks = self.callbacks, []
        return [(each.kind.value.removeprefix("on_partitions_"), each.partitions) for each in seen]


def joined(*partitions: int, **settings: Any) -> ConsumerWorld:
    """A member that has these partitions of `orders` at epoch 2, and has acknowledged them."""
    world = ConsumerWorld(**settings)
    world.subscribe("orders")
    world.poll()
    world.answer_usually(ConsumerGroupHeartbeat)
    world.told(answer(2, *orders(*partitions)))
    world.poll()
    world.told(answer(2, keeps=True))
    world.settle(Fetch, ConsumerGroupHeartbeat)
    world.seen()
    return world


def orders(*numbers: int) -> list[TopicPartition]:
    return [("orders", number) for number in numbers]
