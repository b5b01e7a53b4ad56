"""Offset requests on their way to coordinators: commits, transactional ones, reads and deletions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from kgroup.broker.apis.coordination import ask_coordinator
from kgroup.broker.cluster import OFFSETS_TOPIC, Cluster
from kgroup.broker.node import BrokerNode
from kgroup.group.coordinator.offsets import FetchTopic
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import (
    CommitPartition,
    CommitTopic,
    FetchedOffset,
    FetchedTopic,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetDelete,
    OffsetDeleteResponse,
    PartitionResult,
    ReplyBody,
    TopicResult,
    TxnOffsetCommit,
    refusal,
    refused_topic,
)
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required, text

E = ErrorCode
_NO_LIMIT_MS: Final = -1


# ---- commits ----------------------------------------------------------------------------------


def offset_commit(node: BrokerNode, call: Call, now_ms: int) -> None:
    """OffsetCommit v2 to v10."""
    request = call.body
    commits = _CommitTopics(node.cluster, by_id=call.version >= 10)
    commits.read(request.topics)
    body = OffsetCommit(
        group_id=text(request.group_id),
        generation_id=request.generation_id_or_member_epoch,
        member_id=text(request.member_id),
        group_instance_id=request.group_instance_id,
        retention_time_ms=request.retention_time_ms if call.version <= 4 else _NO_LIMIT_MS,
        knows_group_not_found=call.version >= 9,
        topics=tuple(commits.known),
    )
    _commit(node, call, body, commits, now_ms, lambda reply: node.answer(call, reply))


def commit_known(
    node: BrokerNode,
    call: Call,
    body: OffsetCommit,
    now_ms: int,
    answer: Callable[[OffsetCommitResponse], None],
) -> None:
    """Commit the body's topics as far as they exist; the others are refused here."""
    commits = _CommitTopics(node.cluster, by_id=False)
    commits.read(body.topics)
    _commit(node, call, replace(body, topics=tuple(commits.known)), commits, now_ms, answer)


def _commit(
    node: BrokerNode,
    call: Call,
    body: OffsetCommit,
    commits: "_CommitTopics",
    now_ms: int,
    answer: Callable[[OffsetCommitResponse], None],
) -> None:
    if not commits.known:
        answer(OffsetCommitResponse(topics=commits.unknown))
        return
    ask_coordinator(node, call, body.group_id, body, now_ms, lambda reply: answer(commits.merged(reply)))


def txn_offset_commit(node: BrokerNode, call: Call, now_ms: int) -> None:
    """TxnOffsetCommit v0 to v5; from v5 it also lets the offsets partition into the transaction (KIP-890)."""
    request = call.body
    group_id = text(request.group_id)
    commits = _CommitTopics(node.cluster, by_id=False)
    commits.read(request.topics)
    if not commits.known:
        node.answer(call, OffsetCommitResponse(topics=commits.unknown))
        return
    body = TxnOffsetCommit(
        group_id=group_id,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        generation_id=request.generation_id,
        member_id=text(request.member_id),
        group_instance_id=request.group_instance_id,
        topics=tuple(commits.known),
    )

    def answer(reply: ReplyBody) -> None:
        node.answer(call, _for_old_producers(commits.merged(reply), call.version))

    offsets_partition = (OFFSETS_TOPIC, node.cluster.offsets_partition(group_id))
    producer = (body.producer_id, body.producer_epoch)
    transactions = node.cluster.transactions
    transactional_id = text(request.transactional_id)
    if group_id and not isinstance(node.cluster.coordinator(group_id, node.node_id, now_ms), ErrorCode):
        error = E.NONE
        if call.version >= 5:
            error = transactions.add_partitions(transactional_id, producer, [offsets_partition], now_ms)
            if error is E.PRODUCER_FENCED:
                error = E.INVALID_PRODUCER_EPOCH  # what clients expect of a commit
        error = error or transactions.verify(
            transactional_id, producer, offsets_partition, knows_abortable=call.version >= 4
        )
        if error:
            answer(refusal(body, error))
            return
    ask_coordinator(node, call, group_id, body, now_ms, answer)


def _for_old_producers(response: OffsetCommitResponse, version: int) -> OffsetCommitResponse:
    """Producers before 2.0 take COORDINATOR_LOAD_IN_PROGRESS for fatal (KAFKA-7296)."""
    if version >= 2:
        return response
    for topic in response.topics:
        topic.partitions[:] = [
            result._replace(error_code=E.COORDINATOR_NOT_AVAILABLE)
            if result.error_code is E.COORDINATOR_LOAD_IN_PROGRESS
            else result
            for result in topic.partitions
        ]
    return response


@dataclass(slots=True)
class _CommitTopics:
    """A commit's topics: those that exist go to the coordinator, the others are answered here."""

    cluster: Cluster
    by_id: bool
    known: list[CommitTopic] = field(default_factory=list)
    unknown: list[TopicResult] = field(default_factory=list)

    def read(self, topics: Sequence[Any] | None) -> None:
        """Sort the request's topics out."""
        for each in required(topics):
            name = self.cluster.topic_names.get(each.topic_id) if self.by_id else text(each.name)
            topic = self.cluster.topics.get(name) if name is not None else None
            partitions: Sequence[CommitPartition] = required(each.partitions)
            if topic is None or name is None:
                error = E.UNKNOWN_TOPIC_ID if self.by_id else E.UNKNOWN_TOPIC_OR_PARTITION
                topic_id = each.topic_id if self.by_id else None
                absent = CommitTopic(name=name or "", topic_id=topic_id, partitions=partitions)
                self.unknown.append(refused_topic(absent, error))
                continue
            count = len(topic.partitions)
            topic_id = topic.spec.topic_id
            indexes = [partition.partition_index for partition in partitions]
            if indexes and min(indexes) >= 0 and max(indexes) < count:
                self.known.append(CommitTopic(name=name, topic_id=topic_id, partitions=partitions))
                continue
            present = tuple(each for each in partitions if 0 <= each.partition_index < count)
            if present:
                self.known.append(CommitTopic(name=name, topic_id=topic_id, partitions=present))
            if len(present) < len(partitions):
                rest = tuple(each for each in partitions if not 0 <= each.partition_index < count)
                absent = CommitTopic(name=name, topic_id=topic_id, partitions=rest)
                self.unknown.append(refused_topic(absent, E.UNKNOWN_TOPIC_OR_PARTITION))

    def merged(self, reply: ReplyBody) -> OffsetCommitResponse:
        """The coordinator's answer with the topics that it was not asked about."""
        assert isinstance(reply, OffsetCommitResponse)
        if not self.unknown:
            return reply
        return OffsetCommitResponse(topics=_joined(reply.topics, self.unknown))


def _joined(topics: list[TopicResult], others: list[TopicResult]) -> list[TopicResult]:
    """One entry per topic, however often a request has it."""
    merged: dict[tuple[str, UUID | None], list[PartitionResult]] = {}
    for topic in (*topics, *others):
        merged.setdefault((topic.name, topic.topic_id), []).extend(topic.partitions)
    return [
        TopicResult(name=name, topic_id=topic_id, partitions=partitions)
        for (name, topic_id), partitions in merged.items()
    ]


# ---- reading offsets --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedGroup:
    """One group of an OffsetFetch answer."""

    group_id: str
    topics: list[FetchedTopic] = field(default_factory=list)
    error_code: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse:
    """`topics` and `error_code` up to v7, `groups` from v8."""

    topics: list[FetchedTopic] = field(default_factory=list)
    error_code: ErrorCode = ErrorCode.NONE
    groups: list[FetchedGroup] = field(default_factory=list)
    throttle_time_ms: int = 0


def offset_fetch(node: BrokerNode, call: Call, now_ms: int) -> None:
    """OffsetFetch v1 to v10."""
    request = call.body
    if call.version >= 8:
        groups = [
            _fetch_group(node, call, text(each.group_id), each.topics, now_ms, _member_of(call, each))
            for each in required(request.groups)
        ]
        node.answer(call, OffsetFetchResponse(groups=groups))
        return
    topics = required(request.topics) if call.version < 2 else request.topics
    group = _fetch_group(node, call, text(request.group_id), topics, now_ms)
    if group.error_code and call.version < 2:
        # Version 1 has no place for a group's error: it stands with every partition.
        requested = _requested_topics(node.cluster, topics, by_id=False)
        group = replace(group, topics=[_failed_topic(topic, group.error_code) for topic in requested])
    node.answer(call, OffsetFetchResponse(topics=group.topics, error_code=group.error_code))


def _member_of(call: Call, group: Any) -> tuple[str | None, int]:
    """The member that reads and its epoch, if it says so: from v9 on."""
    return (group.member_id, group.member_epoch) if call.version >= 9 else (None, -1)


def _fetch_group(
    node: BrokerNode,
    call: Call,
    group_id: str,
    topics: Sequence[Any] | None,
    now_ms: int,
    member: tuple[str | None, int] = (None, -1),
) -> FetchedGroup:
    hosted = node.cluster.coordinator(group_id, node.node_id, now_ms)
    if isinstance(hosted, ErrorCode):
        return FetchedGroup(group_id=group_id, error_code=hosted)
    error = hosted.coordinator.check_fetch(group_id, *member)
    if error:
        return FetchedGroup(group_id=group_id, error_code=error)
    by_id = call.version >= 10
    stable = call.version >= 7 and call.body.require_stable
    if topics is None:
        fetched = hosted.coordinator.fetch_offsets(group_id, None, stable)
        if by_id:
            fetched = [
                _with_id(node.cluster, topic) for topic in fetched if topic.name in node.cluster.topics
            ]
        return FetchedGroup(group_id=group_id, topics=fetched)
    requested = _requested_topics(node.cluster, topics, by_id)
    named = tuple(topic for topic in requested if topic.name or not by_id)
    fetched = hosted.coordinator.fetch_offsets(group_id, named, stable)
    fetched += [_failed_topic(topic, E.UNKNOWN_TOPIC_ID) for topic in requested if by_id and not topic.name]
    return FetchedGroup(group_id=group_id, topics=fetched)


def _requested_topics(cluster: Cluster, topics: Sequence[Any], by_id: bool) -> list[FetchTopic]:
    return [
        FetchTopic(
            name=cluster.topic_names.get(each.topic_id, "") if by_id else text(each.name),
            topic_id=each.topic_id if by_id else None,
            partition_indexes=required(each.partition_indexes),
        )
        for each in topics
    ]


def _with_id(cluster: Cluster, topic: FetchedTopic) -> FetchedTopic:
    return replace(topic, topic_id=cluster.topics[topic.name].spec.topic_id)


def _failed_topic(topic: FetchTopic, error: ErrorCode) -> FetchedTopic:
    return FetchedTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            FetchedOffset(partition_index=index, error_code=error) for index in topic.partition_indexes
        ],
    )


# ---- deletion ---------------------------------------------------------------------------------


def offset_delete(node: BrokerNode, call: Call, now_ms: int) -> None:
    """OffsetDelete v0."""
    known: list[tuple[str, tuple[int, ...]]] = []
    unknown: list[TopicResult] = []
    for each in required(call.body.topics):
        name = text(each.name)
        indexes = tuple(partition.partition_index for partition in required(each.partitions))
        present = tuple(index for index in indexes if node.cluster.partition(name, index) is not None)
        if present:
            known.append((name, present))
        absent = [
            PartitionResult(partition_index=index, error_code=E.UNKNOWN_TOPIC_OR_PARTITION)
            for index in indexes
            if index not in present
        ]
        if absent:
            unknown.append(TopicResult(name=name, partitions=absent))
    body = OffsetDelete(group_id=text(call.body.group_id), topics=tuple(known))

    def answer(reply: ReplyBody) -> None:
        assert isinstance(reply, OffsetDeleteResponse)
        if not reply.error_code and unknown:
            reply = replace(reply, topics=_joined(reply.topics, unknown))
        node.answer(call, reply)

    ask_coordinator(node, call, body.group_id, body, now_ms, answer)


HANDLERS: Final = {
    api.OFFSET_COMMIT: offset_commit,
    api.TXN_OFFSET_COMMIT: txn_offset_commit,
    api.OFFSET_FETCH: offset_fetch,
    api.OFFSET_DELETE: offset_delete,
}
