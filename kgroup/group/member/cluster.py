"""A member's view of the cluster: brokers, topics, and the group's coordinator."""

from collections.abc import Sequence
from uuid import UUID

from kgroup.assignors.model import Topic
from kgroup.group.member import errors as member_errors
from kgroup.group.member.errors import Reaction, reaction
from kgroup.group.member.outbox import COORDINATOR_CONNECTION, NEVER_MS, Outbox
from kgroup.group.member.positions import SubscriptionKind, Subscriptions
from kgroup.group.member.step import MemberError
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import (
    FindCoordinator,
    FindCoordinatorResponse,
    Metadata,
    MetadataResponse,
    Node,
    TopicMetadata,
)
from kgroup.protocol.topic_partition import TopicPartition


class ClusterView:
    """Metadata and its upkeep: at the start, when it is old, and when it turns out wrong."""

    def __init__(self, outbox: Outbox, bootstrap: Sequence[Node], subscriptions: Subscriptions) -> None:
        self._outbox = outbox
        self._subscriptions = subscriptions
        self._bootstrap = tuple(bootstrap)
        self._nodes: tuple[Node, ...] = ()
        self._topics: dict[str, TopicMetadata] = {}
        self._names: dict[UUID, str] = {}
        self._leaders: dict[str, dict[int, Node]] = {}  # by topic, made when it is first asked
        self._group_topics: frozenset[str] = frozenset()
        self._fetched_ms: int | None = None
        self._is_stale = True
        self._request: int | None = None
        self._requested: tuple[str, ...] | None = ()
        self._backoff = outbox.backoff()
        self._checked: tuple[object, ...] = (None, None, None)  # what the topics are known to cover

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The brokers, or the bootstrap servers before any broker has named them."""
        return self._nodes or self._bootstrap

    def watch_group_topics(self, topics: frozenset[str]) -> None:
        """The leader has to know every topic that any member subscribes to."""
        self._group_topics = topics

    def refresh(self) -> None:
        """The metadata at hand has proved wrong."""
        self._is_stale = True

    def is_newer(self, time_ms: int) -> bool:
        """Whether the metadata arrived at this time or later."""
        return self._fetched_ms is not None and self._fetched_ms >= time_ms

    def knows(self, topics: frozenset[str]) -> bool:
        """Whether a broker was asked about all of these; it may have said that there is none."""
        return topics <= self._topics.keys()

    def topic_name(self, topic_id: UUID) -> str | None:
        """The topic with this id, if the metadata has it."""
        return self._names.get(topic_id)

    def partition_counts(self, topics: frozenset[str]) -> dict[str, int]:
        """Partitions of each topic that is there."""
        return {
            name: len(self._topics[name].partitions)
            for name in sorted(topics & self._topics.keys())
            if self._topics[name].partitions
        }

    def assignable(self, topics: frozenset[str]) -> list[Topic]:
        """These topics for an assignor, with the racks of their replicas (KIP-881)."""
        racks = {node.node_id: node.rack for node in self._nodes}
        assignable = []
        for name in sorted(topics & self._topics.keys()):
            partitions = self._topics[name].partitions
            replica_racks = tuple(
                tuple(racks.get(replica) for replica in partition.replicas) for partition in partitions
            )
            assignable.append(Topic(name=name, partitions=len(partitions), replica_racks=replica_racks))
        return assignable

    def leader(self, partition: TopicPartition) -> Node | None:
        """The broker that leads a partition, if that is known."""
        topic, number = partition
        leaders = self._leaders.get(topic)
        if leaders is None:
            leaders = self._leaders[topic] = self._leaders_of(topic)
        return leaders.get(number)

    def _leaders_of(self, topic: str) -> dict[int, Node]:
        metadata = self._topics.get(topic)
        nodes = {node.node_id: node for node in self._nodes}
        partitions = metadata.partitions if metadata is not None else ()
        return {each.partition: nodes[each.leader] for each in partitions if each.leader in nodes}

    def progress(self, now_ms: int) -> None:
        """Ask for metadata when it is due."""
        if self._request is not None or not self._is_due(now_ms) or not self._backoff.is_ready(now_ms):
            return
        self._requested = self._topics_to_request()
        self._is_stale = False
        node = self._outbox.least_loaded(self.nodes)
        self._request = self._outbox.send(Metadata(topics=self._requested), node)

    def take(self, answer: MetadataResponse, now_ms: int) -> None:
        """New metadata: replaces what is known, also with less."""
        self._request = None
        self._fetched_ms = now_ms
        self._nodes = answer.nodes or self._nodes
        self._names = {topic.topic_id: topic.name for topic in answer.topics if topic.topic_id is not None}
        self._topics = {topic.name: topic for topic in answer.topics}
        self._leaders = {}
        self._checked = (None, None, None)
        for topic in answer.topics:
            if topic.error_code in (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.INVALID_TOPIC_EXCEPTION):
                self._outbox.turn.error = MemberError(f"Metadata of {topic.name}", topic.error_code)
        leaderless = any(
            topic.error_code is not ErrorCode.NONE or any(each.leader < 0 for each in topic.partitions)
            for topic in answer.topics
            if self._requested is not None
        )
        if leaderless:
            self._is_stale = True
            self._backoff.failed(now_ms)
        else:
            self._backoff.succeeded()
        if self._subscriptions.kind is SubscriptionKind.PATTERN:
            hide = self._outbox.settings.exclude_internal_topics
            self._subscriptions.match_topics(
                topic.name
                for topic in answer.topics
                if topic.error_code is ErrorCode.NONE and not (hide and topic.is_internal)
            )

    def failed(self, now_ms: int) -> None:
        """After a failed request, ask another node, and the bootstrap servers when all known are gone."""
        self._request = None
        self._is_stale = True
        self._backoff.failed(now_ms)
        # KIP-899: brokers that have all moved are found again where the first ones were.
        self._nodes = ()
        self._leaders = {}

    def deadline_ms(self) -> int:
        """The time at which `progress` next has something to do."""
        if self._request is not None:
            return NEVER_MS
        if self._is_stale or self._fetched_ms is None:
            return self._backoff.ready_ms
        return self._fetched_ms + self._outbox.settings.metadata_max_age_ms

    def _is_due(self, now_ms: int) -> bool:
        if self._is_stale or self._fetched_ms is None:
            return True
        if now_ms >= self._fetched_ms + self._outbox.settings.metadata_max_age_ms:
            return True
        topics, positions = self._subscriptions.topics, self._subscriptions.positions
        checked = self._checked
        if topics is checked[0] and self._group_topics is checked[1] and positions is checked[2]:
            return False
        if self._subscriptions.kind is SubscriptionKind.PATTERN:
            return False
        self._checked = (topics, self._group_topics, positions)
        needed = topics | self._group_topics | {topic for topic, _ in positions}
        return not needed <= self._topics.keys()

    def _topics_to_request(self) -> tuple[str, ...] | None:
        if self._subscriptions.kind is SubscriptionKind.PATTERN:
            return None
        own = self._subscriptions.topics | {topic for topic, _ in self._subscriptions.positions}
        return tuple(sorted(own | self._group_topics))


class CoordinatorLink:
    """The broker that coordinates the group, and the search for it."""

    def __init__(self, outbox: Outbox, view: ClusterView) -> None:
        self._outbox = outbox
        self._view = view
        self._request: int | None = None
        self._backoff = outbox.backoff()
        self.node: Node | None = None

    def lost(self) -> None:
        """Forget the coordinator: it is another one now, or cannot be reached.

        What is in flight to it fails at once, and does not wait for request.timeout.ms: as in Kafka's
        AbstractCoordinator.markCoordinatorUnknown, which disconnects from the coordinator of before.
        """
        if self.node is not None:
            connection_id = COORDINATOR_CONNECTION - self.node.node_id
            self.node = None
            self._outbox.disconnect(connection_id)

    def progress(self, now_ms: int) -> None:
        """Search, through the least loaded node."""
        group = self._outbox.settings.group_id
        if self.node is not None or self._request is not None or group is None:
            return
        if self._backoff.is_ready(now_ms):
            node = self._outbox.least_loaded(self._view.nodes)
            self._request = self._outbox.send(FindCoordinator(key=group), node)

    def take(self, answer: FindCoordinatorResponse, now_ms: int) -> None:
        """Found, or not yet."""
        self._request = None
        match reaction(member_errors.FIND_COORDINATOR, answer.error_code):
            case Reaction.PROCEED:
                self.node = answer.node
                self._backoff.succeeded()
            case Reaction.RETRY:
                self._backoff.failed(now_ms)
            case _:
                self._outbox.turn.error = MemberError("FindCoordinator", answer.error_code)

    def failed(self, now_ms: int) -> None:
        """The node that was asked is gone."""
        self._request = None
        self._backoff.failed(now_ms)
        self._view.refresh()

    def deadline_ms(self) -> int:
        """The time at which `progress` may search again."""
        if self.node is None and self._request is None and self._outbox.settings.group_id is not None:
            return self._backoff.ready_ms
        return NEVER_MS
