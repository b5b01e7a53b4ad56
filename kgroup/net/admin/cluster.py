"""A live cluster: its brokers, topics, groups and log ends, queried through kafka-python.

kafka-python's answers become kgroup's values here, and every failure a SourceError naming the cluster.
"""

import logging
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Any, Final, Self
from uuid import UUID

from kafka import errors as kafka_errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from kgroup.errors import SourceError
from kgroup.net.admin.patience import send_when_ready
from kgroup.net.connect.first_contact import CONNECT_TIMEOUT_MS, require_broker
from kgroup.net.connect.properties import ConnectionOptions, client_config, parse_servers
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.log_listing import LogEndSource, LogListing, PartitionLog
from kgroup.protocol.topic_id import TopicId

_KAFKA_LOGGER: Final = logging.getLogger("kafka")
_KAFKA_LOGGER.addHandler(logging.NullHandler())  # as kafka's own __init__ has it, if that runs
_TIMEOUTS: Final = (kafka_errors.KafkaTimeoutError, kafka_errors.RequestTimedOutError)
_CLASS_NAME: Final = re.compile(r"^(?:(?:\[Error \d+\] )?[A-Z]\w+(?:Error|Version): )+")
_EARLIEST: Final = -2
_LATEST: Final = -1
_NO_LEADER: Final = -1
_NO_EPOCH: Final = -1
_ZERO_UUID: Final = UUID(int=0)


class OffsetSpec(Enum):
    """The offset of a log that is asked for."""

    EARLIEST = "earliest"
    LATEST = "latest"
    STABLE = "stable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A node of the cluster as it makes itself known to clients."""

    node_id: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """`leaders`: partition -> node id, None while a partition has no leader.

    `leader_epochs` are those of the leaders, as far as the broker tells them (Kafka 2.1 on).
    """

    name: str
    topic_id: TopicId
    leaders: Mapping[int, int | None]
    leader_epochs: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    """The answer to FindCoordinator for one group: a broker, or why there is none (Kafka's error name)."""

    group: str
    node_id: int | None
    host: str | None
    port: int | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicState:
    """A classic group's present state by its coordinator; `state` as DescribeGroups spells it."""

    state: str
    members: int


class Cluster:
    """A connection to a cluster, to be used in a `with` block.

    Opening it raises SourceError if no bootstrap server answers within the time limit, with the reason that
    the last one gave, and InputError for properties that make no sense. So do all its questions.
    """

    def __init__(self, options: ConnectionOptions) -> None:
        self.name = options.bootstrap_servers
        self._servers = parse_servers(options.bootstrap_servers)
        self._config = client_config(options.read_properties())
        self._admin: Any = None
        self._problems = _LoggedProblems()
        self.requests_sent = 0
        """The requests that were asked for here; what a connection says to itself does not count."""

    @property
    def timeout_ms(self) -> int:
        """The time that one request may take: request.timeout.ms, or kgroup's own."""
        timeout_ms = self._config.get("request_timeout_ms", CONNECT_TIMEOUT_MS)
        assert isinstance(timeout_ms, int)
        return timeout_ms

    def __enter__(self) -> Self:
        # Only the one that has let us in: kafka-python would choose by chance, and wait for a silent one.
        host, port = require_broker(self._servers, self._config)
        timeout_ms = self.timeout_ms
        settings = {"client_id": "kgroup", "request_timeout_ms": timeout_ms, **self._config}
        server = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._problems.listen()
        try:
            self._admin = KafkaAdminClient(
                bootstrap_servers=[server], bootstrap_timeout_ms=timeout_ms, **settings
            )
        except (kafka_errors.KafkaError, ValueError, ImportError) as error:
            self._problems.stop_listening()
            raise self._failure(self._problems.first or error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._admin.close()
        self._problems.stop_listening()

    def brokers(self) -> dict[int, Broker]:
        """Every broker by node id."""
        answer = self._ask(_metadata_request([]))
        return {
            broker.node_id: Broker(
                node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack
            )
            for broker in answer.brokers
        }

    def topics(self, names: Collection[str] | None = None) -> dict[str, Topic]:
        """These topics, or all of them; ones that do not exist, or may not be seen, are left out."""
        answer = self._ask(_metadata_request(names))
        return {topic.name: _topic(topic) for topic in answer.topics if topic.error_code == 0}

    def why_unlisted(self, names: Collection[str]) -> dict[str, int]:
        """The error code for each of these topics that `topics` does not list, asked for by its name.

        UNKNOWN_TOPIC_OR_PARTITION of one that does not exist, TOPIC_AUTHORIZATION_FAILED of one that the user
        may not describe: a list of all topics leaves out the one like the other.
        """
        if not names:
            return {}
        return {topic.name: topic.error_code for topic in self._ask(_metadata_request(names)).topics}

    def find_coordinators(self, groups: Sequence[str]) -> list[Coordinator]:
        """Ask which broker coordinates each group; answers in the order given.

        One request for all from Kafka 3.0 on (KIP-699), one each before. A cluster that never had a group
        makes its offsets topic on this question, and answers COORDINATOR_NOT_AVAILABLE meanwhile.
        """
        if not groups:
            return []
        try:
            answer = self._ask(
                FindCoordinatorRequest(key_type=0, coordinator_keys=list(groups), min_version=4)
            )
        except UnsupportedError:
            return [
                _coordinator(group, self._ask(FindCoordinatorRequest(key=group, key_type=0, max_version=3)))
                for group in groups
            ]
        by_group = {coordinator.key: coordinator for coordinator in answer.coordinators}
        return [_coordinator(group, by_group[group]) for group in groups]

    def group_ids(self) -> list[str]:
        """Every group that this client may see, of all kinds, sorted."""
        groups: set[str] = set()
        for node_id in self.brokers():
            answer = self._ask(ListGroupsRequest(), node_id)
            self._raise_for(answer.error_code, f"list groups of broker {node_id}")
            groups.update(group.group_id for group in answer.groups)
        return sorted(groups)

    def classic_state(self, group: str) -> ClassicState | None:
        """The state of a classic group, also one that no log has; None if there is no classic group so named.

        Raises SourceError where no coordinator answers for it.
        """
        (coordinator,) = self.find_coordinators([group])
        if coordinator.node_id is None:
            raise SourceError(f"{self.name}: no coordinator for group {group!r}: {coordinator.error}")
        (described,) = self._ask(DescribeGroupsRequest(groups=[group]), coordinator.node_id).groups
        # Brokers before 4.1 call a group Dead that they do not know, later ones have an error for it.
        if described.error_code == ErrorCode.GROUP_ID_NOT_FOUND or described.group_state == "Dead":
            return None
        self._raise_for(described.error_code, f"describe group {group!r}")
        return ClassicState(state=described.group_state, members=len(described.members))

    def cluster_id(self) -> str | None:
        """The id of the cluster, None from brokers of before 0.10.1."""
        answer = self._ask(_metadata_request([]))
        return getattr(answer, "cluster_id", None) or None

    def log_listing(self, names: Collection[str] | None = None) -> LogListing:
        """Log starts and high watermarks of these topics, or of all; `complete` when it is all of them.

        A partition without a leader is listed without its numbers.
        """
        topics = self.topics(names)
        starts = self._list_offsets(topics.values(), _EARLIEST)
        ends = self._list_offsets(topics.values(), _LATEST)
        logs = (
            PartitionLog(
                topic=topic.name,
                partition=partition,
                source=LogEndSource.LIVE,
                log_start_offset=starts.get((topic.name, partition)),
                log_end_offset=ends.get((topic.name, partition)),
                topic_id=topic.topic_id,
            )
            for topic in topics.values()
            for partition in sorted(topic.leaders)
        )
        return LogListing(logs=tuple(logs), complete=names is None)

    def leaders(self, topics: Collection[str]) -> dict[tuple[str, int], int]:
        """The node that leads each partition of these topics; those without a leader are left out."""
        return {
            (topic.name, partition): leader
            for topic in self.topics(topics).values()
            for partition, leader in topic.leaders.items()
            if leader is not None
        }

    def ask(self, request: Any, node_id: int | None = None) -> Any:
        """Send a request of kafka-python's to one broker, by default any, and return its answer."""
        return self._ask(request, node_id)

    def ask_each(self, requests: Mapping[int, Any]) -> dict[int, Any]:
        """Send each broker its request, all at once; by broker its answer, or the SourceError instead."""
        answers: dict[int, Any] = {}
        nodes = list(requests)
        self.ask_many(list(requests.items()), lambda index, answer: answers.update({nodes[index]: answer}))
        return answers

    def ask_many(
        self, requests: Sequence[tuple[int, Any]], take: Callable[[int, Any], None], *, at_once: int = 4
    ) -> None:
        """Send brokers, by node id, their requests: to each of them no more than `at_once` at a time.

        `take` hears the index of each request with its answer, or with the SourceError instead.
        """
        manager = self._admin._manager
        waiting: dict[int, deque[int]] = {}
        for index, (node_id, _) in enumerate(requests):
            waiting.setdefault(node_id, deque()).append(index)
        under_way: deque[tuple[int, int, Any]] = deque()

        def send_next(node_id: int) -> None:
            # Ends: each turn that sends nothing takes one of those that wait.
            while waiting[node_id]:
                index = waiting[node_id].popleft()
                self.requests_sent += 1
                try:
                    sent = manager.send(requests[index][1], node_id=node_id)
                except kafka_errors.KafkaError as error:
                    take(index, self._problem(error, requests[index][1]))
                    continue
                under_way.append((node_id, index, sent))
                return

        async def send_all() -> None:
            for node_id in waiting:
                for _ in range(at_once):
                    send_next(node_id)
            while under_way:
                node_id, index, sent = under_way.popleft()
                request = requests[index][1]
                try:
                    try:
                        answer = await sent
                    except kafka_errors.NodeNotReadyError:
                        answer = await send_when_ready(manager, request, node_id)
                except kafka_errors.KafkaError as error:
                    answer = self._problem(error, request)
                send_next(node_id)
                take(index, answer)

        try:
            manager.run(send_all)
        except kafka_errors.KafkaError as error:
            raise self._failure(error) from error

    def list_offsets(self, topics: Iterable[Topic], which: OffsetSpec) -> dict[tuple[str, int], int]:
        """The log starts, high watermarks or last stable offsets (KIP-98) of these topics' partitions.

        Without those that have no leader, or whose leader refuses. Raises SourceError if a leader does not
        answer.
        """
        timestamp = _EARLIEST if which is OffsetSpec.EARLIEST else _LATEST
        return self._list_offsets(topics, timestamp, read_committed=which is OffsetSpec.STABLE)

    def last_stable_offsets(self, names: Collection[str]) -> dict[tuple[str, int], int]:
        """The limit for readers of committed data (KIP-98) in each partition of these topics.

        None of those that have no leader; none at all of brokers before 0.11, which have no transactions.
        """
        try:
            return self._list_offsets(self.topics(names).values(), _LATEST, read_committed=True)
        except UnsupportedError:
            return {}

    def _list_offsets(
        self, topics: Iterable[Topic], timestamp: int, *, read_committed: bool = False
    ) -> dict[tuple[str, int], int]:
        by_leader: dict[int, dict[str, list[int]]] = {}
        for topic in topics:
            for partition, leader in topic.leaders.items():
                if leader is not None:
                    by_leader.setdefault(leader, {}).setdefault(topic.name, []).append(partition)
        requests = {
            leader: _list_offsets_request(partitions, timestamp, read_committed=read_committed)
            for leader, partitions in sorted(by_leader.items())
        }
        offsets = {}
        for answer in self.ask_each(requests).values():
            if isinstance(answer, SourceError):
                raise answer
            for topic in answer.topics:
                for partition in topic.partitions:
                    if partition.error_code == 0:
                        offsets[topic.name, partition.partition_index] = partition.offset
        return offsets

    def _ask(self, request: Any, node_id: int | None = None) -> Any:
        # kafka-python's public admin methods hide what kgroup needs (raw batches, member bytes, an error for
        # each group), so requests go through its connection manager.
        manager = self._admin._manager

        self.requests_sent += 1
        try:
            return manager.run(send_when_ready, manager, request, node_id)
        except kafka_errors.KafkaError as error:
            raise self._problem(error, request) from error

    def _problem(self, error: kafka_errors.KafkaError, request: Any) -> SourceError:
        if isinstance(error, kafka_errors.UnsupportedVersionError):
            return UnsupportedError(f"{self.name}: {type(request).__name__}: {_reason(error)}")
        return self._failure(error)

    def _raise_for(self, error_code: int, doing: str) -> None:
        if error_code:
            raise SourceError(f"{self.name}: cannot {doing}: {error_name(error_code)}")

    def _failure(self, error: Exception) -> SourceError:
        hint = _hint(error, str(self._config["security_protocol"]))
        if self._admin is not None and isinstance(error, kafka_errors.KafkaConnectionError):
            hint = "; it was up before: is it still?"
        return SourceError(f"{self.name}: {_reason(error)}{hint}")


class UnsupportedError(SourceError):
    """The broker does not know a version of this request that can say what is asked."""


class _LoggedProblems(logging.Handler):
    """The problems that kafka-python logs: after retries it raises only that time is up, not why.

    While this listens, nothing of it reaches standard error.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.first: Exception | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first exception that a record carries; the later ones are of an attempt cut short."""
        for argument in record.args if isinstance(record.args, tuple) else ():
            if self.first is None and isinstance(argument, Exception) and not isinstance(argument, _TIMEOUTS):
                self.first = argument

    def listen(self) -> None:
        _KAFKA_LOGGER.propagate = False
        _KAFKA_LOGGER.addHandler(self)

    def stop_listening(self) -> None:
        _KAFKA_LOGGER.removeHandler(self)
        _KAFKA_LOGGER.propagate = True


def _hint(error: Exception, protocol: str) -> str:
    """Advice for failures whose own words do not say what to look at."""
    why = str(error).lower()
    if isinstance(error, kafka_errors.SaslAuthenticationFailedError):
        return "; see sasl.jaas.config"
    if isinstance(error, kafka_errors.UnsupportedSaslMechanismError):
        return "; see sasl.mechanism"
    if "saslhandshake" in why:
        return f"; security.protocol is {protocol}: does this listener ask for SASL?"
    if isinstance(error, kafka_errors.IncompatibleBrokerVersion):
        return "; is this the listener of a controller?"
    if "certificate" in why:
        return "; see ssl.truststore.location and ssl.endpoint.identification.algorithm"
    if "handshake failed" in why:
        return f"; security.protocol is {protocol}: has this listener TLS?"
    if not isinstance(error, kafka_errors.KafkaConnectionError):
        return ""
    if protocol.startswith("SASL"):
        return (
            f"; security.protocol is {protocol}: are the listener, sasl.mechanism, user and password right?"
        )
    return f"; security.protocol is {protocol}: does this listener want another?"


def error_name(error_code: int) -> str:
    """Kafka's name of an error code, like `COORDINATOR_NOT_AVAILABLE`."""
    error = kafka_errors.for_code(error_code)
    return str(getattr(error, "message", None) or error.__name__)


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    if re.fullmatch(r"\[Error \d+\] \w+", text):
        return str(getattr(error, "message", text))
    return _CLASS_NAME.sub("", text).rstrip(".")


def _metadata_request(names: Collection[str] | None) -> Any:
    topics = (
        None if names is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(names)]
    )
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def _list_offsets_request(
    partitions: Mapping[str, Sequence[int]], timestamp: int, *, read_committed: bool
) -> Any:
    listed = ListOffsetsRequest.ListOffsetsTopic
    topics = [
        listed(
            name=topic,
            partitions=[
                listed.ListOffsetsPartition(partition_index=index, timestamp=timestamp) for index in indexes
            ],
        )
        for topic, indexes in sorted(partitions.items())
    ]
    # Version 1 brought one offset for each partition, version 2 the isolation level.
    return ListOffsetsRequest(
        isolation_level=int(read_committed), topics=topics, min_version=2 if read_committed else 1
    )


def _topic(answer: Any) -> Topic:
    topic_id = getattr(answer, "topic_id", None)
    return Topic(
        name=answer.name,
        topic_id=None if topic_id in (None, _ZERO_UUID) else topic_id,
        leaders={
            partition.partition_index: None if partition.leader_id == _NO_LEADER else partition.leader_id
            for partition in answer.partitions
        },
        leader_epochs={
            partition.partition_index: partition.leader_epoch
            for partition in answer.partitions
            if getattr(partition, "leader_epoch", None) not in (None, _NO_EPOCH)
        },
    )


def _coordinator(group: str, answer: Any) -> Coordinator:
    if answer.error_code:
        return Coordinator(
            group=group, node_id=None, host=None, port=None, error=error_name(answer.error_code)
        )
    return Coordinator(group=group, node_id=answer.node_id, host=answer.host, port=answer.port, error=None)
