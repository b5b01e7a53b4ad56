"""A coordinator with two topics and a clock, asked with values, whose whole log can be loaded again."""

from itertools import count
from typing import Any
from uuid import UUID

from kgroup.group.coordinator.coordinator import GroupCoordinator
from kgroup.group.coordinator.events import GroupEvent
from kgroup.group.coordinator.metadata_image import FixedImage, TopicImage
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import NO_PRODUCER_ID, Request, Step
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import LoggedEntry, TransactionMarker
from kgroup.protocol.requests.consumer_group import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumerGroup,
)
from kgroup.protocol.requests.coordinator import (
    CommitPartition,
    CommitTopic,
    Heartbeat,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeavingMember,
    OffsetCommit,
    SyncGroup,
    TxnOffsetCommit,
)
from kgroup.protocol.subscription import (
    Subscription,
    decode_assignment,
    encode_subscription,
    named_partitions,
)

GROUP = "g"
ORDERS, PAYMENTS = UUID(int=11), UUID(int=12)
NAMES = {ORDERS: "orders", PAYMENTS: "payments"}
IDS = {name: topic_id for topic_id, name in NAMES.items()}
Owned = dict[str, list[int]]


class ConsumerWorld:
    """Answers come with the step that they are asked in: nobody waits in a consumer group."""

    def __init__(self, **settings: Any) -> None:
        self.now_ms = 1_000_000
        self.image = FixedImage(
            [
                TopicImage(name="orders", topic_id=ORDERS, partitions=4),
                TopicImage(name="payments", topic_id=PAYMENTS, partitions=2),
            ],
            version=7,
        )
        at_once: dict[str, Any] = {"initial_rebalance_delay_ms": 0, "consumer_assignment_interval_ms": 0}
        self.settings = GroupSettings(**(at_once | settings))
        self.log: list[LoggedEntry] = []
        self.events: list[GroupEvent] = []
        self.owned: dict[str, Owned] = {}
        self.epochs: dict[str, int] = {}
        self._ids = count(1)
        self.answers: dict[int, Any] = {}
        self._uuids = count(1)
        self.coordinator = self.loaded()

    def loaded(self) -> GroupCoordinator:
        """A coordinator that has nothing but the log."""
        coordinator = GroupCoordinator(0, self.settings, lambda: str(UUID(int=next(self._uuids))), self.image)
        for record in self.log:
            coordinator.apply(record)
        coordinator.loaded(self.now_ms)
        return coordinator

    def reload(self) -> None:
        """Another node takes over."""
        self.coordinator = self.loaded()

    # ---- asking -------------------------------------------------------------------------------

    def ask(self, body: Any) -> Any:
        """The answer to a request; None if it has to wait."""
        request = Request(id=next(self._ids), body=body, client_id="app", client_host="/127.0.0.1")
        self._take(self.coordinator.handle(request, self.now_ms))
        self._take(self.coordinator.expire(self.now_ms))
        return self.answers.pop(request.id, None)

    def _take(self, step: Step) -> None:
        for record in step.records():
            transactional = record.producer_id != NO_PRODUCER_ID
            assert not isinstance(record.entry, TransactionMarker)
            self.log.append(
                LoggedEntry(
                    offset=len(self.log),
                    timestamp_ms=record.timestamp_ms,
                    partition=0,
                    entry=record.entry,
                    leader_epoch=0,
                    producer_id=record.producer_id if transactional else None,
                )
            )
        self.answers.update({reply.request_id: reply.body for reply in step.replies})
        self.events += step.events

    def advance(self, ms: int) -> None:
        """Let time pass, through every deadline."""
        until_ms = self.now_ms + ms
        while (due_ms := self.coordinator.next_deadline_ms()) is not None and due_ms <= until_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self._take(self.coordinator.expire(self.now_ms))
        self.now_ms = until_ms

    # ---- members of the consumer protocol -----------------------------------------------------

    def beat(
        self, member: str, epoch: int | None = None, *, says: Owned | None = None, **fields: Any
    ) -> ConsumerGroupHeartbeatResponse:
        """A heartbeat with the member's own epoch, or another; `says` is what it claims to have."""
        body = ConsumerGroupHeartbeat(
            group_id=GROUP,
            member_id=member,
            member_epoch=self.epochs.get(member, 0) if epoch is None else epoch,
            topic_partitions=None
            if says is None
            else tuple((IDS[name], tuple(numbers)) for name, numbers in says.items()),
            **fields,
        )
        answer = self.ask(body)
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        if not answer.error_code:
            self.epochs[member] = answer.member_epoch
            if answer.assignment is not None:
                self.owned[member] = given(answer) or {}
        return answer

    def join(self, member: str, *topics: str, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        """Come in, or come back with nothing."""
        wish = {"rebalance_timeout_ms": 5_000, "subscribed_topic_names": topics} | fields
        return self.beat(member, 0, says={}, **wish)

    def settle(self, *members: str) -> dict[str, Owned]:
        """Heartbeats all round, each with what the member was last given, until nothing moves."""
        for _ in range(20):
            before = dict(self.epochs), dict(self.owned)
            for member in members:
                answer = self.beat(member, says=self.owned.get(member, {}))
                assert not answer.error_code, answer
            if (dict(self.epochs), dict(self.owned)) == before:
                return {member: self.owned[member] for member in members}
        raise AssertionError("the group does not come to rest")

    # ---- classic members ----------------------------------------------------------------------

    def classic_join(self, member_id: str = "", *, owned: Owned | None = None, **fields: Any) -> Any:
        """A JoinGroup that says what it has; with no id of its own it is asked to come again with one."""
        claims = [(name, number) for name, numbers in (owned or {}).items() for number in numbers]
        return self.ask(classic_join(member_id, claims, **fields))

    def classic_member(self, **fields: Any) -> JoinGroupResponse:
        """Both steps of a new member's join."""
        first = self.classic_join(**fields)
        assert first.error_code is ErrorCode.MEMBER_ID_REQUIRED
        answer = self.classic_join(first.member_id, **fields)
        assert isinstance(answer, JoinGroupResponse)
        return answer

    def sync(self, member_id: str, generation: int, **shares: bytes) -> Any:
        """A SyncGroup; its answer's assignment as topics and partitions is `partitions_of` it."""
        return self.ask(
            SyncGroup(
                group_id=GROUP,
                generation_id=generation,
                member_id=member_id,
                group_instance_id=None,
                protocol_type="consumer",
                protocol_name="range",
                assignments=tuple(shares.items()),
            )
        )

    def classic_heartbeat(self, member_id: str, generation: int) -> ErrorCode:
        """The error of a Heartbeat."""
        error: ErrorCode = self.ask(
            Heartbeat(group_id=GROUP, generation_id=generation, member_id=member_id, group_instance_id=None)
        ).error_code
        return error

    def leave(self, *member_ids: str) -> list[ErrorCode]:
        """The error for each."""
        members = tuple(LeavingMember(member_id=id_, group_instance_id=None) for id_ in member_ids)
        answer = self.ask(LeaveGroup(group_id=GROUP, members=members))
        return [member.error_code for member in answer.members]

    # ---- offsets and looking ------------------------------------------------------------------

    def commit(
        self, member: str, epoch: int, partition: int = 0, *, offset: int = 5, is_old: bool = False
    ) -> ErrorCode:
        """Commit one offset of orders; `is_old`: by an api that knows no epochs."""
        return self._commit(
            OffsetCommit(
                group_id=GROUP,
                generation_id=epoch,
                member_id=member,
                group_instance_id=None,
                retention_time_ms=-1,
                topics=_offset_of_orders(partition, offset),
                knows_group_not_found=not is_old,
            )
        )

    def commit_in_transaction(self, member: str, epoch: int, *, instance_id: str | None = None) -> ErrorCode:
        """The same as a producer commits it, which may name no member."""
        return self._commit(
            TxnOffsetCommit(
                group_id=GROUP,
                producer_id=9,
                producer_epoch=0,
                generation_id=epoch,
                member_id=member,
                group_instance_id=instance_id,
                topics=_offset_of_orders(0),
            )
        )

    def _commit(self, body: OffsetCommit | TxnOffsetCommit) -> ErrorCode:
        error: ErrorCode = self.ask(body).topics[0].partitions[0].error_code
        return error

    def described(self) -> DescribedConsumerGroup:
        """The group as ConsumerGroupDescribe shows it."""
        return self.coordinator.describe_consumer_group(GROUP)

    def state(self) -> str:
        """Its state alone."""
        return str(self.described().group_state)

    def types(self) -> list[str]:
        """The types of the records in the log, in their order."""
        return [
            record.entry.type.name.removeprefix("CONSUMER_GROUP_")
            + ("" if record.entry.value is not None else " tombstone")
            for record in self.log
            if not isinstance(record.entry, TransactionMarker) and hasattr(record.entry, "type")
        ]


def _offset_of_orders(partition: int, offset: int = 5) -> tuple[CommitTopic, ...]:
    committed = CommitPartition(
        partition_index=partition, committed_offset=offset, committed_leader_epoch=-1, committed_metadata=""
    )
    return (CommitTopic(name="orders", topic_id=ORDERS, partitions=(committed,)),)


def classic_join(member_id: str, claims: list[tuple[str, int]], **fields: Any) -> JoinGroup:
    """A JoinGroup for orders by range."""
    topics = fields.pop("topics", ("orders",))
    subscription = Subscription(topics=topics, owned_partitions=named_partitions(claims))
    values: dict[str, Any] = {
        "group_instance_id": None,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 20_000,
        "protocol_type": "consumer",
        "protocols": (("range", encode_subscription(subscription, 1)),),
        "needs_known_id": True,
    }
    return JoinGroup(group_id=GROUP, member_id=member_id, **(values | fields))


def given(answer: ConsumerGroupHeartbeatResponse) -> Owned | None:
    """The partitions in an answer by topic; None if it does not say."""
    if answer.assignment is None:
        return None
    return {NAMES[topic.topic_id]: topic.partitions for topic in answer.assignment.topic_partitions}


def partitions_of(assignment: bytes) -> Owned:
    """The partitions in a classic assignment."""
    return {each.topic: list(each.partitions) for each in decode_assignment(assignment).assigned_partitions}
