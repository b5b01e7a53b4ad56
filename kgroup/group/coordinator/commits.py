"""Commits of members and of simple consumers, and their deletion; the group's kind has a say in each.

Behaves as Kafka 4.3's OffsetMetadataManager. Every method that takes a request answers it through the turn.
"""

from collections.abc import Callable
from typing import Protocol

from kgroup.group.coordinator.kinds import GroupsOfKind
from kgroup.group.coordinator.offsets import NO_EXPIRY, CommittedOffset, Offsets, tombstone
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, CommitRun, Request, Turn
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import OffsetsEntry
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
    """Decides what is committed, deleted and expired; `offsets` are those that the logs have applied."""

    def __init__(
        self,
        settings: GroupSettings,
        turn: Turn,
        log: LogEntry,
        log_run: Callable[[CommitRun], None],
        offsets: Offsets,
    ) -> None:
        self._settings = settings
        self._turn = turn
        self._log = log
        self._log_run = log_run
        self._offsets = offsets

    def commit(self, groups: GroupsOfKind, request: Request, body: OffsetCommit) -> bool:
        """Log what a member or a simple consumer commits; False if it may not, which is its answer."""
        error = groups.check_commit(body)
        if error:
            self._turn.reply(request.id, refusal(body, error))
            return False
        now_ms, retention_ms = self._turn.now_ms, body.retention_time_ms
        self._commit_topics(request, body, NO_EXPIRY if retention_ms == -1 else now_ms + retention_ms)
        return True

    def commit_in_transaction(self, groups: GroupsOfKind, request: Request, body: TxnOffsetCommit) -> bool:
        """The same of what a producer commits within its transaction (KIP-98, KIP-447)."""
        error = groups.check_commit(body)
        if error:
            self._turn.reply(request.id, refusal(body, error))
            return False
        self._commit_topics(request, body, NO_EXPIRY, body.producer_id, body.producer_epoch)
        return True

    def _commit_topics(
        self,
        request: Request,
        body: OffsetCommit | TxnOffsetCommit,
        expire_timestamp: int,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> None:
        """Log the commits that may be, and answer all of them."""
        results = []
        for topic in body.topics:
            accepted, result = self._offsets.check_commit(topic)
            results.append(result)
            if accepted:
                self._log_run(
                    CommitRun(
                        body.group_id,
                        topic.name,
                        topic.topic_id,
                        accepted,
                        self._turn.now_ms,
                        expire_timestamp,
                        producer_id,
                        producer_epoch,
                    )
                )
        self._turn.reply(request.id, OffsetCommitResponse(topics=results))

    def delete(self, groups: GroupsOfKind, request: Request, body: OffsetDelete) -> None:
        """Delete offsets, except of topics that members read (KIP-496)."""
        error = groups.check_offset_delete(body.group_id)
        if error:
            self._turn.reply(request.id, OffsetDeleteResponse(error_code=error))
            return
        topics = []
        for topic, partitions in body.topics:
            is_read = groups.subscribes(body.group_id, topic)
            error = E.GROUP_SUBSCRIBED_TO_TOPIC if is_read else E.NONE
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

    def expired(self, groups: GroupsOfKind, group_id: str) -> tuple[list[OffsetsEntry], bool]:
        """Entries that delete a group's expired offsets, and whether none is left after that (KIP-211)."""
        retention = groups.retention(group_id)
        if retention is None:
            return [], False
        now_ms = self._turn.now_ms

        def is_expired(commit: CommittedOffset) -> bool:
            if commit.expire_timestamp >= 0:
                return now_ms >= commit.expire_timestamp
            start_ms = commit.commit_timestamp if retention.since_ms is None else retention.since_ms
            return now_ms - start_ms >= self._settings.offsets_retention_ms

        return self._offsets.expired(group_id, is_expired, lambda topic: groups.subscribes(group_id, topic))
