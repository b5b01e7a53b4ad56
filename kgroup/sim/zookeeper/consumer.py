"""The consumer of Kafka 0.8: watches ZooKeeper, and rebalances by itself whenever a watch fires.

Source: ZookeeperConsumerConnector of Kafka 0.8 (`syncedRebalance`, `rebalance`,
`reflectPartitionOwnershipDecision`, ZKSessionExpireListener), and "Consumer rebalancing algorithm" in Kafka
0.8's documentation.

The rules are scripts: generators that yield a request for ZooKeeper, a pause or a wait, and are sent the
answer. Who runs them decides how long each takes, and drops them when the session is gone.
"""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from kgroup.assignors.model import ClientAssignor, GroupMember, Topic
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.scenario.interest import Interest
from kgroup.sim.zookeeper.ensemble import (
    Answer,
    CreateEphemeral,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Operation,
    SetData,
    ZookeeperError,
)

BROKER_IDS: Final = "/brokers/ids"
BROKER_TOPICS: Final = "/brokers/topics"


@dataclass(frozen=True, slots=True)
class Sleep:
    """Continue after `ms` milliseconds."""

    ms: int


@dataclass(frozen=True, slots=True)
class WaitForWatch:
    """Continue when a watch has fired since the last wait."""


Script = Generator[Operation | Sleep | WaitForWatch, Answer, None]
Step = Generator[Operation | Sleep | WaitForWatch, Answer, bool]


class Fetchers(Protocol):
    """The readers of the partitions that a consumer owns."""

    def start(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from these offsets."""

    def stop(self) -> dict[TopicPartition, int]:
        """Read no more; what was not processed yet is forgotten. Answers the positions."""


def topic_path(topic: str) -> str:
    """The path at which the brokers say which partitions a topic has."""
    return f"{BROKER_TOPICS}/{topic}"


def topic_data(partitions: int, replicas: Callable[[int], Sequence[int]]) -> str:
    """The data of a topic's znode."""
    return json.dumps({"version": 1, "partitions": {str(n): list(replicas(n)) for n in range(partitions)}})


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPaths:
    """The paths of a group."""

    group: str

    @property
    def ids(self) -> str:
        """Consumers, each with its subscription."""
        return f"/consumers/{self.group}/ids"

    def owner(self, partition: TopicPartition) -> str:
        """The path that names the owner of the partition."""
        return f"/consumers/{self.group}/owners/{partition[0]}/{partition[1]}"

    def offset(self, partition: TopicPartition) -> str:
        """The path of the group's offset in the partition."""
        return f"/consumers/{self.group}/offsets/{partition[0]}/{partition[1]}"


class ZookeeperConsumer:
    """One consumer.

    `first_of` is where it begins without an offset (auto.offset.reset). `on_attempt` is called with every
    attempt, from 0, and `on_outcome` with its success.
    """

    def __init__(
        self,
        *,
        consumer_id: str,
        group: str,
        interest: Interest,
        assignor: ClientAssignor,
        retries_max: int,
        backoff_ms: int,
        auto_commit: bool,
        fetchers: Fetchers,
        first_of: Callable[[TopicPartition], int] = lambda partition: 0,
        on_attempt: Callable[[int], None],
        on_outcome: Callable[[bool], None],
    ) -> None:
        self.consumer_id = consumer_id
        self.paths = GroupPaths(group=group)
        self._interest = interest
        self._topics = interest.topics
        self._assignor = assignor
        self._retries_max = retries_max
        self._backoff_ms = backoff_ms
        self._auto_commit = auto_commit
        self._fetchers = fetchers
        self._first_of = first_of
        self._on_attempt = on_attempt
        self._on_outcome = on_outcome
        self._owned: list[TopicPartition] = []

    def live(self) -> Script:
        """A life from a new session on: register, rebalance, and again whenever a watch fires.

        After an expired session the fetchers still run: they are stopped only inside the first rebalance.
        """
        self._owned = []
        yield from self._register()
        while True:
            yield from self._rebalance_with_retries()
            yield WaitForWatch()
            if self._interest.pattern is not None:
                yield from self._match_again()

    def commit(self, positions: Mapping[TopicPartition, int]) -> Script:
        """Write offsets to ZooKeeper: anybody may, whether it owns the partition or not."""
        for partition, offset in sorted(positions.items()):
            yield SetData(self.paths.offset(partition), str(offset))

    def rearm(self, path: str) -> Operation:
        """The read that sets a watch again which has fired, as ZkClient makes it at once."""
        is_topic = path.startswith(f"{BROKER_TOPICS}/")
        return GetData(path, watch=True) if is_topic else GetChildren(path, watch=True)

    def _register(self) -> Script:
        if self._interest.pattern is not None:
            there = yield GetChildren(BROKER_TOPICS, watch=True)
            self._topics = self._interest.among(there.children)
        yield self._registration()
        yield GetChildren(self.paths.ids, watch=True)
        yield GetChildren(BROKER_IDS, watch=True)
        yield from self._watch(self._topics)

    def _registration(self) -> CreateEphemeral:
        subscription = json.dumps({"version": 1, "subscription": dict.fromkeys(self._topics, 1)})
        return CreateEphemeral(f"{self.paths.ids}/{self.consumer_id}", subscription)

    def _watch(self, topics: Sequence[str]) -> Script:
        """A topic that is not there is watched, too: ZkClient asks whether it exists."""
        for topic in topics:
            found = yield GetData(topic_path(topic), watch=True)
            if found.error is ZookeeperError.NO_NODE:
                yield Exists(topic_path(topic), watch=True)

    def _match_again(self) -> Script:
        """`WildcardStreamsHandler.handleTopicEvent`: register again if it matches other topics now."""
        there = yield GetChildren(BROKER_TOPICS)
        matched = self._interest.among(there.children)
        if matched == self._topics:
            return
        new = [topic for topic in matched if topic not in self._topics]
        self._topics = matched
        yield Delete(f"{self.paths.ids}/{self.consumer_id}")
        yield self._registration()
        yield from self._watch(new)

    def _rebalance_with_retries(self) -> Script:
        """`syncedRebalance`. After the last attempt the consumer is left with nothing until a watch fires."""
        for attempt in range(self._retries_max):
            self._on_attempt(attempt)
            if (yield from self._rebalance()):
                self._on_outcome(True)
                return
            self._fetchers.stop()
            yield Sleep(self._backoff_ms)
        self._on_outcome(False)

    def _rebalance(self) -> Step:
        """One attempt. False where another has to follow: the tree changed, or an owner is still there."""
        consumers = yield GetChildren(self.paths.ids)
        members = []
        for consumer_id in consumers.children:
            registered = yield GetData(f"{self.paths.ids}/{consumer_id}")
            if registered.error is ZookeeperError.NO_NODE:
                return False
            topics = tuple(json.loads(registered.data)["subscription"])
            members.append(GroupMember(member_id=consumer_id, topics=topics))
        if not any(member.member_id == self.consumer_id for member in members):
            return False
        brokers = yield GetChildren(BROKER_IDS)
        if not brokers.children:
            return True  # nobody to read from; the watch on brokers says when there is
        counts = yield from self._partition_counts(members)
        # Before anything is released: what another may own next must not be read here any more.
        positions = self._fetchers.stop()
        if self._auto_commit:
            yield from self.commit(positions)
        for partition in self._owned:
            yield Delete(self.paths.owner(partition))
        self._owned = []
        mine = sorted(self._assignor.assign(members, counts)[self.consumer_id])
        starts = {}
        for partition in mine:
            committed = yield GetData(self.paths.offset(partition))
            starts[partition] = int(committed.data) if committed.error is None else self._first_of(partition)
        if not (yield from self._claim(mine)):
            return False
        self._owned = mine
        self._fetchers.start(starts)
        return True

    def _partition_counts(
        self, members: Sequence[GroupMember]
    ) -> Generator[Operation | Sleep | WaitForWatch, Answer, list[Topic]]:
        counts = []
        for topic in sorted({topic for member in members for topic in member.topics}):
            answer = yield GetData(topic_path(topic))
            if answer.error is None:
                counts.append(Topic(name=topic, partitions=len(json.loads(answer.data)["partitions"])))
        return counts

    def _claim(self, partitions: Sequence[TopicPartition]) -> Step:
        """Own all of these or none: an owner that has not let go yet is a conflict."""
        claimed = []
        for partition in partitions:
            created = yield CreateEphemeral(self.paths.owner(partition), self.consumer_id)
            if created.error is None:
                claimed.append(partition)
        if len(claimed) == len(partitions):
            return True
        for partition in claimed:
            yield Delete(self.paths.owner(partition))
        return False
