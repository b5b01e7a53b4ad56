"""Commits of a member: by the user, by auto-commit, and before partitions are given up."""

from dataclasses import dataclass

from kgroup.group.member import errors as member_errors
from kgroup.group.member.cluster import CoordinatorLink
from kgroup.group.member.errors import Reaction, reaction
from kgroup.group.member.identity import Place
from kgroup.group.member.outbox import NEVER_MS, Outbox
from kgroup.group.member.positions import Subscriptions
from kgroup.group.member.step import CommitOutcome, MemberError
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import (
    CommitPartition,
    CommitTopic,
    OffsetCommit,
    OffsetCommitResponse,
)
from kgroup.protocol.topic_partition import TopicPartition, group_by_topic

Offsets = tuple[tuple[TopicPartition, int], ...]


@dataclass(slots=True)
class _Waiting:
    """`entry`: the Place's `entries` when it was made; in a generation entered later it means nothing."""

    commit_id: int | None
    offsets: Offsets
    give_up_ms: int
    entry: int
    request_id: int | None = None


class Committer:
    """Commits one after another, so that an older one never lands on a newer one.

    Retriable errors are tried again until default.api.timeout.ms.
    """

    def __init__(
        self,
        outbox: Outbox,
        coordinator: CoordinatorLink,
        place: Place,
        subscriptions: Subscriptions,
    ) -> None:
        self._outbox = outbox
        self._coordinator = coordinator
        self._place = place
        self._subscriptions = subscriptions
        self._waiting: list[_Waiting] = []
        self._backoff = outbox.backoff()
        self._next_auto_ms: int | None = None
        self._is_closing = False

    @property
    def is_idle(self) -> bool:
        """Whether every commit has ended."""
        return not self._waiting

    def add(self, commit_id: int | None, offsets: Offsets | None, now_ms: int) -> None:
        """Commit `offsets`, or every position."""
        to_commit = self._subscriptions.all_consumed() if offsets is None else offsets
        give_up_ms = now_ms + self._outbox.settings.default_api_timeout_ms
        commit = _Waiting(commit_id, to_commit, give_up_ms, self._place.entries)
        if not to_commit:
            self._end(commit, ErrorCode.NONE)
        else:
            self._waiting.append(commit)

    def close(self) -> None:
        """The member is being closed, and heartbeats no more: nothing will bring it a newer epoch.

        A commit that needs one is given up, as by `commitSync` of Kafka's CommitRequestManager.
        """
        self._is_closing = True

    def restart_auto(self, now_ms: int) -> None:
        """The next auto-commit is a whole interval away."""
        self._next_auto_ms = now_ms + self._outbox.settings.auto_commit_interval_ms

    def on_poll(self, now_ms: int) -> None:
        """Auto-commit when its interval is over: what earlier polls handed out counts as processed."""
        if not self._outbox.settings.enable_auto_commit or self._outbox.settings.group_id is None:
            return
        if self._next_auto_ms is None:
            self.restart_auto(now_ms)
        elif now_ms >= self._next_auto_ms and self._subscriptions.positions:
            self.restart_auto(now_ms)
            if self.is_idle:
                self.add(None, None, now_ms)

    def wants_poll(self, now_ms: int) -> bool:
        """Whether a poll would commit by itself."""
        if not self._outbox.settings.enable_auto_commit or self._next_auto_ms is None:
            return False
        return now_ms >= self._next_auto_ms and bool(self._subscriptions.positions)

    def progress(self, now_ms: int) -> None:
        """Send the oldest commit, or give it up."""
        while self._waiting and self._waiting[0].request_id is None and now_ms >= self._waiting[0].give_up_ms:
            self._end(self._waiting.pop(0), ErrorCode.REQUEST_TIMED_OUT)
        node, group = self._coordinator.node, self._outbox.settings.group_id
        if not self._waiting or node is None or group is None or not self._backoff.is_ready(now_ms):
            return
        commit = self._waiting[0]
        if commit.request_id is not None:
            return
        generation, member_id = -1, ""
        if self._subscriptions.in_group:
            refusal = self._place.commit_refusal()
            if refusal is not None:
                self._end(self._waiting.pop(0), refusal)
                return
            if commit.entry != self._place.entries:
                # Its partitions may be another member's by now. Kafka's consumer joins only in `poll`, and no
                # commit waits from one poll to the next.
                self._end(self._waiting.pop(0), ErrorCode.ILLEGAL_GENERATION)
                return
            member_id, generation = self._place.member_id, self._place.generation
        commit.request_id = self._outbox.send(
            OffsetCommit(
                group_id=group,
                generation_id=generation,
                member_id=member_id,
                group_instance_id=self._outbox.settings.group_instance_id,
                retention_time_ms=-1,
                topics=_topics(commit.offsets),
            ),
            node,
            coordinator=True,
        )

    def take(
        self, request: OffsetCommit, answer: OffsetCommitResponse, now_ms: int
    ) -> tuple[Reaction, ErrorCode]:
        """The oldest commit was answered; returns what follows for the membership, and its error.

        A refusal of an earlier generation's commit says nothing about the generation of now.
        """
        commit = self._waiting[0]
        commit.request_id = None
        errors = [each.error_code for topic in answer.topics for each in topic.partitions]
        worst = next((error for error in errors if error is not ErrorCode.NONE), ErrorCode.NONE)
        outcome = reaction(member_errors.OFFSET_COMMIT, worst)
        match outcome:
            case Reaction.PROCEED:
                for partition, offset in commit.offsets:
                    position = self._subscriptions.positions.get(partition)
                    if position is not None:
                        position.committed = offset
                self._backoff.succeeded()
                self._end(self._waiting.pop(0), worst)
            case Reaction.RETRY if self._is_closing and worst is ErrorCode.STALE_MEMBER_EPOCH:
                self._end(self._waiting.pop(0), worst)
                return Reaction.GIVE_UP, worst
            case Reaction.RETRY | Reaction.FIND:
                self._backoff.failed(now_ms)
                if outcome is Reaction.FIND:
                    self._coordinator.lost()
            case Reaction.FATAL:
                self._end(self._waiting.pop(0), worst)
                self._outbox.turn.error = MemberError("OffsetCommit", worst)
            case _:
                self._end(self._waiting.pop(0), worst)
                is_of_now = commit.entry == self._place.entries
                if not is_of_now or request.generation_id != self._place.generation:
                    return Reaction.GIVE_UP, worst
        return outcome, worst

    def failed(self, now_ms: int) -> None:
        """The coordinator is gone: nobody knows whether the commit arrived, so it is made again."""
        if self._waiting:
            self._waiting[0].request_id = None
        self._coordinator.lost()
        self._backoff.failed(now_ms)

    def drop_all(self) -> None:
        """Fail all that has not ended by now."""
        for commit in self._waiting:
            self._outbox.abandon(commit.request_id)
            self._end(commit, ErrorCode.REBALANCE_IN_PROGRESS)
        self._waiting = []

    def deadline_ms(self) -> int:
        """The time at which a commit may be sent again or is given up."""
        if not self._waiting or self._waiting[0].request_id is not None:
            return NEVER_MS
        if self._coordinator.node is None:
            return self._waiting[0].give_up_ms
        return min(self._waiting[0].give_up_ms, self._backoff.ready_ms)

    def _end(self, commit: _Waiting, error_code: ErrorCode) -> None:
        self._outbox.turn.commits.append(
            CommitOutcome(commit_id=commit.commit_id, error_code=error_code, offsets=commit.offsets)
        )


def _topics(offsets: Offsets) -> tuple[CommitTopic, ...]:
    by_partition = dict(offsets)
    return tuple(
        CommitTopic(
            name=topic,
            topic_id=None,
            partitions=tuple(
                CommitPartition(
                    partition_index=number,
                    committed_offset=by_partition[topic, number],
                    committed_leader_epoch=-1,
                    committed_metadata="",
                )
                for number in numbers
            ),
        )
        for topic, numbers in group_by_topic(sorted(by_partition)).items()
    )
