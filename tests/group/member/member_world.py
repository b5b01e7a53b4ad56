"""A member and its brokers' side, by hand: what it sends is looked at, what it is answered is said."""

from collections.abc import Iterable
from typing import Any, TypeVar
from uuid import UUID

from kgroup.group.member.classic.member import ClassicMember
from kgroup.group.member.identity import MemberState
from kgroup.group.member.settings import MemberSettings, OffsetReset
from kgroup.group.member.step import (
    Answered,
    Callback,
    Failed,
    MemberInput,
    MemberStep,
    Poll,
    Send,
    Subscribe,
)
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import (
    CommittedOffset,
    Fetch,
    FetchedPartition,
    FetchedRecord,
    FetchResponse,
    FindCoordinator,
    FindCoordinatorResponse,
    ListedOffset,
    ListOffsets,
    ListOffsetsResponse,
    MemberResponse,
    Metadata,
    MetadataResponse,
    Node,
    OffsetFetch,
    OffsetFetchResponse,
    PartitionMetadata,
    TopicMetadata,
)
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroup,
    LeaveGroupResponse,
    OffsetCommit,
    OffsetCommitResponse,
    PartitionResult,
    SyncGroup,
    SyncGroupResponse,
    TopicResult,
)
from kgroup.protocol.subscription import Assignment, NamedTopicPartitions, encode_assignment
from kgroup.protocol.topic_partition import TopicPartition

BROKER = Node(node_id=1, host="broker", port=9092)
BOOTSTRAP = Node(node_id=-1, host="bootstrap", port=9092)
MEMBER_ID = "consumer-1"
TOPIC_IDS = {"orders": UUID(int=1), "returns": UUID(int=2)}
T = TypeVar("T")


def assignment(*partitions: TopicPartition) -> bytes:
    """The blob of an assignment."""
    return encode_assignment(
        Assignment(
            assigned_partitions=tuple(
                NamedTopicPartitions(topic=topic, partitions=(number,)) for topic, number in partitions
            )
        )
    )


class MemberWorld:
    """One member of group `g` on topic `orders`; `sent` are its requests that have no answer yet."""

    def __init__(self, partitions: int = 2, **settings: Any) -> None:
        given = {
            "group_id": "g",
            "enable_auto_commit": False,
            "auto_offset_reset": OffsetReset.EARLIEST,
        } | settings
        self.member = ClassicMember(MemberSettings(**given), [BOOTSTRAP], lambda: 0.5)
        self.now_ms = 1_000_000
        self.topics = {"orders": partitions}
        self.committed: dict[TopicPartition, int] = {}
        self.log_end = 10
        self.generation = 0
        self.sent: list[Send] = []
        self.callbacks: list[Callback] = []
        self.steps: list[MemberStep] = []
        self.records: list[tuple[TopicPartition, int]] = []

    def do(self, event: MemberInput) -> MemberStep:
        return self._take(self.member.handle(event, self.now_ms))

    def _take(self, step: MemberStep) -> MemberStep:
        self.steps.append(step)
        self.sent = [send for send in self.sent if send.connection_id not in step.disconnects]
        self.sent.extend(step.requests)
        self.callbacks.extend(step.callbacks)
        self.records.extend((partition, each.offset) for partition, many in step.records for each in many)
        return step

    def subscribe(self, *topics: str) -> None:
        self.do(Subscribe(topics=topics or ("orders",)))

    def advance(self, ms: int) -> MemberStep:
        self.now_ms += ms
        return self._take(self.member.expire(self.now_ms))

    def waiting(self, kind: type[T]) -> list[T]:
        """Bodies of this kind that have no answer yet."""
        return [send.body for send in self.sent if isinstance(send.body, kind)]

    def answer(self, kind: type[Any], body: MemberResponse) -> MemberStep:
        """Answer the oldest request of this kind."""
        send = next(send for send in self.sent if isinstance(send.body, kind))
        self.sent.remove(send)
        return self.do(Answered(request_id=send.request_id, body=body))

    def break_off(self, kind: type[Any]) -> MemberStep:
        send = next(send for send in self.sent if isinstance(send.body, kind))
        self.sent.remove(send)
        return self.do(Failed(request_id=send.request_id, why="the connection broke"))

    def member_is_told_to_rejoin(self) -> MemberStep:
        """By the answer to its next heartbeat, which is due after 3 s."""
        self.advance(3000)
        return self.answer(Heartbeat, HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))

    def usual_answer(self, send: Send) -> MemberResponse:
        """What a broker that has no trouble says: the member is alone in its group, and leads."""
        match send.body:
            case FindCoordinator():
                return FindCoordinatorResponse(node=BROKER)
            case Metadata() as asked:
                names = sorted(self.topics) if asked.topics is None else asked.topics
                return MetadataResponse(nodes=(BROKER,), topics=tuple(map(self._topic, names)))
            case JoinGroup() as asked:
                if not asked.member_id and asked.group_instance_id is None:
                    return JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=MEMBER_ID)
                self.generation += 1
                name, metadata = asked.protocols[0]
                return JoinGroupResponse(
                    generation_id=self.generation,
                    protocol_name=name,
                    leader=MEMBER_ID,
                    member_id=MEMBER_ID,
                    members=[
                        JoinGroupResponseMember(
                            member_id=MEMBER_ID, group_instance_id=None, metadata=metadata
                        )
                    ],
                )
            case SyncGroup() as asked:
                return SyncGroupResponse(assignment=dict(asked.assignments).get(MEMBER_ID, assignment()))
            case Heartbeat():
                return HeartbeatResponse()
            case LeaveGroup():
                return LeaveGroupResponse()
            case OffsetCommit() as asked:
                return self.commit_answer(asked)
            case OffsetFetch() as asked:
                return OffsetFetchResponse(
                    offsets=tuple(
                        CommittedOffset(
                            partition=(topic, number), offset=self.committed.get((topic, number), -1)
                        )
                        for topic, numbers in asked.topics
                        for number in numbers
                    )
                )
            case ListOffsets() as asked:
                return ListOffsetsResponse(
                    offsets=tuple(ListedOffset(partition=each, offset=0) for each in asked.partitions)
                )
            case Fetch() as asked:
                return FetchResponse(
                    partitions=tuple(self.fetched(each, offset) for each, offset in asked.offsets)
                )

    def commit_answer(
        self, commit: OffsetCommit, error_code: ErrorCode = ErrorCode.NONE
    ) -> OffsetCommitResponse:
        if error_code is ErrorCode.NONE:
            for topic in commit.topics:
                for each in topic.partitions:
                    self.committed[topic.name, each.partition_index] = each.committed_offset
        return OffsetCommitResponse(
            topics=[
                TopicResult(
                    name=topic.name,
                    partitions=[
                        PartitionResult(partition_index=each.partition_index, error_code=error_code)
                        for each in topic.partitions
                    ],
                )
                for topic in commit.topics
            ]
        )

    def fetched(self, partition: TopicPartition, offset: int, count: int = 3) -> FetchedPartition:
        """A batch of up to `count` records, which may begin before the offset asked for."""
        first = max(0, offset - offset % count)
        last = min(first + count, self.log_end)
        records = tuple(
            FetchedRecord(offset=each, timestamp_ms=0, key=None, value=b"") for each in range(first, last)
        )
        return FetchedPartition(
            partition=partition,
            high_watermark=self.log_end,
            log_start_offset=0,
            records=records,
            next_offset=last if records else None,
        )

    def _topic(self, name: str) -> TopicMetadata:
        count = self.topics.get(name, 0)
        return TopicMetadata(
            name=name,
            error_code=ErrorCode.NONE if count else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            is_internal=name.startswith("__"),
            partitions=tuple(PartitionMetadata(partition=each, leader=1) for each in range(count)),
            topic_id=TOPIC_IDS.get(name),
        )

    def answer_usually(self, *but: type[Any]) -> None:
        """Answer everything that waits, except requests of the kinds `but`."""
        for send in [send for send in self.sent if not isinstance(send.body, but)]:
            self.sent.remove(send)
            self.do(Answered(request_id=send.request_id, body=self.usual_answer(send)))

    def settle(self, *but: type[Any], rounds: int = 12) -> None:
        """Poll and answer until the member has what it wants; fetches stay open at the end."""
        for _ in range(rounds):
            self.do(Poll())
            self.answer_usually(*but)

    def partitions(self) -> Iterable[TopicPartition]:
        return self.member.positions.keys()


def stable(**settings: object) -> MemberWorld:
    """A member that has joined and reads."""
    world = MemberWorld(**settings)
    world.subscribe()
    world.settle(Fetch)
    assert world.member.state is MemberState.STABLE
    return world


def wait_ms(world: MemberWorld) -> int | None:
    """How long the member has nothing to do, if nobody asks or answers; None: for ever."""
    due = world.member.next_deadline_ms()
    return None if due is None else due - world.now_ms
