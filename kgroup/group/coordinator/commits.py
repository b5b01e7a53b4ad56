"""Commits of a classic group's members and of simple consumers, and what deletes them.

Behaves as Kafka 4.3's OffsetMetadataManager. Every method that takes a request answers it through the turn.
"""

from collections.abc import Callable
from typing import Protocol

from kgroup.group.coordinator.classic.answers import check_member
from kgroup.group.coordinator.classic.group import ClassicGroup
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.offsets import Offsets, tombstone
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Request, Turn
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.protocol.requests.coordinator import (
    Done,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetDelete,
    OffsetDeleteResponse,
    PartitionResult,
    PartitionsDeleted,
    TopicResult,
    TxnOffsetCommit,
    refusal,
)

E = ErrorCode


class LogEntry(Protocol):
    """Appends an entry, of a transaction or not, and applies it."""

    def __call__(
        self,
        entry: OffsetsEntry,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> None:
        """Without a producer it counts at once, else from the transaction's marker on."""


class CommitRules:
    """Decides what may be committed, deleted and expired; `offsets` are those that `log` has applied.

    `keep_alive` is told the group and member id of a member that commits: it proves that it lives.
    """

    def __init__(
        self,
        settings: GroupSettings,
        turn: Turn,
        log: LogEntry,
        offsets: Offsets,
        keep_alive: Callable[[ClassicGroup, str], None],
    ) -> None:
        self._settings = settings
        self._turn = turn
        self._log = log
        self._offsets = offsets
        self._keep_alive = keep_alive

    def commit(self, group: ClassicGroup | None, request: Request, body: OffsetCommit) -> bool:
        """Log what a member or a simple consumer commits; False if it may not, and has been told why."""
        error = _check_commit(group, body, transactional=False)
        if error:
            self._turn.reply(request.id, refusal(body, error))
            return False
        if group is not None and body.member_id in group.members:
            self._keep_alive(group, body.member_id)
        results = []
        for topic in body.topics:
            result, entries = self._offsets.plan_commit(
                body.group_id, topic, self._turn.now_ms, body.retention_time_ms
            )
            results.append(result)
            for entry in entries:
                self._log(entry)
        self._turn.reply(request.id, OffsetCommitResponse(topics=results))
        return True

    def commit_in_transaction(
        self, group: ClassicGroup | None, request: Request, body: TxnOffsetCommit
    ) -> bool:
        """The same of what a producer commits within its transaction (KIP-98, KIP-447)."""
        error = _check_commit(group, body, transactional=True)
        if error:
            self._turn.reply(request.id, refusal(body, error))
            return False
        results = []
        for topic in body.topics:
            result, entries = self._offsets.plan_commit(body.group_id, topic, self._turn.now_ms)
            results.append(result)
            for entry in entries:
                self._log(entry, body.producer_id, body.producer_epoch)
        self._turn.reply(request.id, OffsetCommitResponse(topics=results))
        return True

    def delete(self, group: ClassicGroup | None, request: Request, body: OffsetDelete) -> None:
        """Delete offsets, except of topics that members read (KIP-496)."""
        error = E.NONE
        if group is None:
            error = E.GROUP_ID_NOT_FOUND
        elif not group.is_empty and not group.uses_consumer_protocol:
            error = E.NON_EMPTY_GROUP
        if error or group is None:
            self._turn.reply(request.id, OffsetDeleteResponse(error_code=error))
            return
        topics = []
        for topic, partitions in body.topics:
            error = E.GROUP_SUBSCRIBED_TO_TOPIC if group.subscribes(topic) else E.NONE
            for partition in partitions:
                if not error and self._offsets.has(body.group_id, topic, partition):
                    self._log(tombstone(body.group_id, topic, partition))
            results = [PartitionResult(partition_index=index, error_code=error) for index in partitions]
            topics.append(TopicResult(name=topic, partitions=results))
        self._turn.reply(request.id, OffsetDeleteResponse(topics=topics))

    def forget_topics(self, request: Request, body: PartitionsDeleted) -> None:
        """Delete all groups' offsets of topics that are gone."""
        gone = frozenset(body.topics)
        for group_id in self._offsets.groups_with_offsets():
            for entry in self._offsets.tombstones(group_id, keep=lambda topic: topic not in gone):
                self._log(entry)
        self._turn.reply(request.id, Done())

    def expired(self, group: ClassicGroup, now_ms: int) -> tuple[list[OffsetsEntry], bool]:
        """Entries that delete a group's expired offsets, and whether none is left after that (KIP-211).

        Retention runs from the commit for simple consumers, else from when the group turned Empty.
        """
        since_empty = group.protocol_type is not None and group.is_empty
        if group.protocol_type is not None and not since_empty:
            reads_topics = group.uses_consumer_protocol and group.subscribed_topics is not None
            if not reads_topics or group.state is not GroupState.STABLE:
                return [], False

        def is_expired(value: OffsetCommitValue) -> bool:
            if value.expire_timestamp >= 0:
                return now_ms >= value.expire_timestamp
            start_ms = group.state_timestamp_ms if since_empty else value.commit_timestamp
            return now_ms - start_ms >= self._settings.offsets_retention_ms

        return self._offsets.expired(group.group_id, is_expired, group.subscribes)


def _check_commit(
    group: ClassicGroup | None, body: OffsetCommit | TxnOffsetCommit, *, transactional: bool
) -> ErrorCode:
    generation = body.generation_id
    if group is None:
        # Without a generation it is an admin client or a consumer with partitions of its own.
        if generation < 0:
            return E.NONE
        told = isinstance(body, OffsetCommit) and body.knows_group_not_found
        return E.GROUP_ID_NOT_FOUND if told else E.ILLEGAL_GENERATION
    if generation < 0 and group.is_empty:
        return E.NONE
    if generation >= 0 or body.member_id or body.group_instance_id is not None:
        error = check_member(group, body.member_id, body.group_instance_id)
        if error:
            return error
        if generation != group.generation_id:
            return E.ILLEGAL_GENERATION
    elif not transactional:
        return E.UNKNOWN_MEMBER_ID
    if not transactional and group.state is GroupState.COMPLETING_REBALANCE:
        return E.REBALANCE_IN_PROGRESS
    return E.NONE
