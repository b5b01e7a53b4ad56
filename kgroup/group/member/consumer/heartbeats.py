"""Heartbeats of a consumer-protocol member: the content of each, and when the next is due."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kgroup.group.member.consumer.identity import ConsumerIdentity, ConsumerState
from kgroup.group.member.outbox import Outbox
from kgroup.group.member.positions import Subscriptions
from kgroup.protocol.requests.client import Node
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat

IdPartition = tuple[UUID, int]
_UNCHANGED: Final = -1


@dataclass(frozen=True, slots=True)
class LocalAssignment:
    """Partitions by topic id. `number` counts the assignments that the member has been told of.

    Two with the same partitions and other numbers are not the same: the later one is acknowledged, too
    (Kafka: AbstractMembershipManager.LocalAssignment).
    """

    number: int
    partitions: frozenset[IdPartition]


NONE: Final = LocalAssignment(-1, frozenset())


@dataclass(slots=True)
class _Said:
    """What the member has told the coordinator, as of the last successful heartbeat."""

    rebalance_timeout_ms: int | None = None
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignor: str | None = None
    assignment: LocalAssignment | None = None


class ConsumerHeartbeats:
    """One at a time: `request` is the id of the one under way. Times are ms of the member's clock.

    A heartbeat repeats nothing that the coordinator knows, except while joining, and after one that failed:
    nobody can say what of it arrived (Kafka: ConsumerHeartbeatRequestManager.HeartbeatState).
    """

    def __init__(self, outbox: Outbox, identity: ConsumerIdentity, subscriptions: Subscriptions) -> None:
        self._outbox = outbox
        self._settings = outbox.settings
        self._identity = identity
        self._subscriptions = subscriptions
        self._said = _Said()
        self._interval_ms = 0
        self._sent_ms = 0
        self.backoff = outbox.backoff()
        self.request: int | None = None
        self.due_ms = 0

    def send(self, node: Node, local: LocalAssignment, may_take: frozenset[IdPartition], now_ms: int) -> None:
        """Send the one that is due: the member has `local`, and its next polls may take `may_take`."""
        self._sent_ms = now_ms
        self.due_ms = now_ms + self._interval_ms
        self.request = self._outbox.send(self._body(local, may_take), node, coordinator=True)

    def send_leave(self, node: Node, epoch: int) -> int:
        """The last one, with epoch -1 or -2; returns its id. Only the member's names are in it."""
        self.stop()
        body = ConsumerGroupHeartbeat(
            group_id=self._settings.group_id or "",
            member_id=self._identity.member_id,
            member_epoch=epoch,
            instance_id=self._settings.group_instance_id,
        )
        return self._outbox.send(body, node, coordinator=True)

    def _body(self, local: LocalAssignment, may_take: frozenset[IdPartition]) -> ConsumerGroupHeartbeat:
        said, settings = self._said, self._settings
        everything = self._identity.state is ConsumerState.JOINING
        pattern = self._subscriptions.pattern_text
        topics = () if pattern is not None else tuple(sorted(self._subscriptions.topics))
        timeout_ms = settings.max_poll_interval_ms
        assignor = settings.group_remote_assignor
        body = ConsumerGroupHeartbeat(
            group_id=settings.group_id or "",
            member_id=self._identity.member_id,
            member_epoch=self._identity.generation,
            instance_id=settings.group_instance_id,
            rack_id=settings.client_rack if everything else None,
            rebalance_timeout_ms=(
                timeout_ms if everything or said.rebalance_timeout_ms != timeout_ms else _UNCHANGED
            ),
            subscribed_topic_names=topics if everything or said.topics != topics else None,
            subscribed_topic_regex=pattern if everything or said.regex != pattern else None,
            server_assignor=assignor if everything or said.assignor != assignor else None,
            # Also what it may take at its next polls: the coordinator must not give that to somebody else.
            topic_partitions=(
                by_topic_id(local.partitions | may_take) if everything or said.assignment != local else None
            ),
        )
        self._said = _Said(timeout_ms, topics, pattern, assignor, local)
        return body

    def answered(self, interval_ms: int) -> None:
        """The coordinator has taken it; the next one is due an interval after it was sent."""
        self.request = None
        self.backoff.succeeded()
        self._interval_ms = interval_ms
        self.due_ms = self._sent_ms + interval_ms

    def failed(self, now_ms: int, *, pause: bool) -> None:
        """Note a refused or unanswered heartbeat: the next one is due at once, or after a back-off."""
        self.request = None
        self._said = _Said()
        self.due_ms = now_ms
        if pause:
            self.backoff.failed(now_ms)
        else:
            self.backoff.succeeded()

    def stop(self) -> None:
        """Wait for no answer any more, and begin from nothing."""
        self._outbox.abandon(self.request)
        self.request = None
        self._said = _Said()
        self.backoff.succeeded()


def by_topic_id(partitions: Iterable[IdPartition]) -> tuple[tuple[UUID, tuple[int, ...]], ...]:
    """Partitions as a heartbeat lists them, in ascending order."""
    topics: dict[UUID, list[int]] = {}
    for topic_id, number in sorted(partitions):
        topics.setdefault(topic_id, []).append(number)
    return tuple((topic_id, tuple(numbers)) for topic_id, numbers in topics.items())
