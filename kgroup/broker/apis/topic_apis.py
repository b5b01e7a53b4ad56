"""Topics: CreateTopics, CreatePartitions, DeleteTopics."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafka.protocol.admin.topics import CreatePartitionsResponse, CreateTopicsResponse, DeleteTopicsResponse

from kgroup.broker.apis.given_topics import Doubt, deletions, given_topics
from kgroup.broker.apis.words import fitting
from kgroup.broker.cluster import Cluster
from kgroup.broker.node import BrokerNode
from kgroup.broker.topic_settings import config_problem, topic_configs
from kgroup.broker.work import Slices
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.topic_name import topic_name_problem
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required

E = ErrorCode
PARTITIONS_PER_REQUEST_MAX: Final = 10_000
METADATA_TOPIC: Final = "__cluster_metadata"
DUPLICATE_NAME: Final = "Duplicate topic name."
_TOO_MANY_RECORDS: Final = "Unable to perform excessively large batch operation."
_UNKNOWN: Final = {
    E.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    E.UNKNOWN_TOPIC_ID: "This server does not host this topic ID.",
}


def create_topics(node: BrokerNode, call: Call, now_ms: int) -> None:
    """CreateTopics v2 to v7; replica assignments by hand are not taken."""
    node.answer_in_slices(call, _create_topics(node, call, now_ms))


def _create_topics(node: BrokerNode, call: Call, now_ms: int) -> Slices[None]:
    version, cluster = call.version, node.cluster
    requested = required(call.body.topics)
    counts = Counter(each.name for each in requested)
    too_many = _too_many_partitions(requested, cluster.settings.num_partitions)
    results = []
    for number, each in enumerate({each.name: each for each in requested}.values()):
        if number:
            yield
        name, size = each.name, (each.num_partitions, each.replication_factor)
        configs = {config.name: config.value for config in required(each.configs)}
        error, message = E.NONE, None
        if too_many:
            error, message = E.POLICY_VIOLATION, too_many
        elif counts[name] > 1:
            error, message = E.INVALID_REQUEST, DUPLICATE_NAME
        elif name == METADATA_TOPIC:
            error, message = E.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited."
        elif required(each.assignments):
            error, message = E.INVALID_REPLICATION_ASSIGNMENT, "kgroup places replicas by itself"
        else:
            error, message = _problem_of_new(cluster, name, *size, configs)
            if not error and not call.body.validate_only:
                given = {key: value or "" for key, value in configs.items()}
                error = yield from cluster.topic_in_slices(name, *size, given, now_ms)
                message = _words_of_new(cluster, error, name, *size)
        topic = cluster.topics.get(name) if not error else None
        partitions, replicas = (-1, -1) if error else cluster.size_of_new_topic(*size)
        results.append(
            CreateTopicsResponse.CreatableTopicResult(
                version=version,
                name=name,
                topic_id=topic.spec.topic_id if topic else None,
                error_code=error,
                error_message=message,
                num_partitions=partitions,
                replication_factor=replicas,
                configs=[] if error or version < 5 else _shown(version, configs, cluster.settings.properties),
            )
        )
    node.answer(call, CreateTopicsResponse(version=version, topics=results))


def _shown(version: int, own: Mapping[str, str | None], of_broker: Mapping[str, str]) -> list[Any]:
    """The settings of a new topic, with its own as they were given."""
    given = {name: value or "" for name, value in own.items()}
    return [
        CreateTopicsResponse.CreatableTopicResult.CreatableTopicConfigs(
            version=version,
            name=each.name,
            value=given.get(each.name, each.value),
            read_only=False,
            config_source=each.source,
            is_sensitive=False,
        )
        for each in topic_configs(given, of_broker)
    ]


def _problem_of_new(
    cluster: Cluster, name: str, partitions: int, replicas: int, configs: Mapping[str, str | None]
) -> tuple[E, str | None]:
    """What keeps a topic from being made: its name, then its settings, then its size, as with Kafka."""
    error = cluster.check_new_topic(name, partitions, replicas)
    if error not in (E.INVALID_TOPIC_EXCEPTION, E.TOPIC_ALREADY_EXISTS):
        problem = config_problem(configs)
        if problem:
            return E.INVALID_CONFIG, problem
    return error, _words_of_new(cluster, error, name, partitions, replicas)


def _words_of_new(cluster: Cluster, error: E, name: str, partitions: int, replicas: int) -> str | None:
    """What a broker says with an error of `Cluster.check_new_topic`."""
    match error:
        case E.NONE:
            return None
        case E.INVALID_TOPIC_EXCEPTION:
            return fitting(f"Topic name is invalid: {topic_name_problem(name)}")
        case E.TOPIC_ALREADY_EXISTS:
            return f"Topic '{name}' already exists."
        case E.INVALID_PARTITIONS:
            return "Number of partitions was set to an invalid non-positive value."
        case E.INVALID_REPLICATION_FACTOR if replicas < 1:
            return "Replication factor must be larger than 0, or -1 to use the default value."
        case E.INVALID_REPLICATION_FACTOR:
            return (
                f"Unable to replicate the partition {replicas} time(s): The target replication factor of"
                f" {replicas} cannot be reached because only {len(cluster.alive)} broker(s) are registered"
                " or some brokers have all their log directories cordoned."
            )
        case _:
            return error.name


def _too_many_partitions(requested: Sequence[Any], default: int) -> str | None:
    """The reason to refuse a whole request (`ReplicationControlManager.MAX_PARTITIONS_PER_BATCH`), or None.

    The second bound is that of the records that the controller writes for it at once: one for each topic,
    each setting and each partition.
    """
    partitions = sum(
        len(each.assignments or ()) or (default if each.num_partitions == -1 else max(each.num_partitions, 0))
        for each in requested
    )
    if partitions > PARTITIONS_PER_REQUEST_MAX:
        return "Excessively large number of partitions per request."
    records = partitions + sum(1 + len(each.configs or ()) for each in requested)
    return _TOO_MANY_RECORDS if records > PARTITIONS_PER_REQUEST_MAX else None


def create_partitions(node: BrokerNode, call: Call, now_ms: int) -> None:
    """CreatePartitions v0 to v3."""
    node.answer_in_slices(call, _create_partitions(node, call, now_ms))


def _create_partitions(node: BrokerNode, call: Call, now_ms: int) -> Slices[None]:
    """As Kafka's, which makes but a part of more than 10,000, with UNKNOWN_SERVER_ERROR: here none."""
    version, cluster = call.version, node.cluster
    requested = required(call.body.topics)
    counts = Counter(each.name for each in requested)
    more = 0
    for each in requested:
        known = cluster.topics.get(each.name)
        more += max(each.count - known.spec.partitions, 0) if known else 0
    results = []
    for number, each in enumerate({each.name: each for each in requested}.values()):
        if number:
            yield
        topic = cluster.topics.get(each.name)
        error, message = E.NONE, None
        if counts[each.name] > 1:
            error, message = E.INVALID_REQUEST, DUPLICATE_NAME
        elif topic is None:
            error = E.UNKNOWN_TOPIC_OR_PARTITION
        elif each.count == topic.spec.partitions:
            error, message = E.INVALID_PARTITIONS, f"Topic already has {each.count} partition(s)."
        elif each.count < topic.spec.partitions:
            error = E.INVALID_PARTITIONS
            message = (
                f"The topic {each.name} currently has {topic.spec.partitions} partition(s); "
                f"{each.count} would not be an increase."
            )
        elif more > PARTITIONS_PER_REQUEST_MAX:
            error, message = E.POLICY_VIOLATION, _TOO_MANY_RECORDS
        elif not call.body.validate_only:
            error = yield from cluster.partitions_in_slices(each.name, each.count, now_ms)
        results.append(
            CreatePartitionsResponse.CreatePartitionsTopicResult(
                version=version,
                name=each.name,
                error_code=error,
                error_message=message,
            )
        )
    node.answer(call, CreatePartitionsResponse(version=version, results=results))


def delete_topics(node: BrokerNode, call: Call, now_ms: int) -> None:
    """DeleteTopics v1 to v6, by name or by id."""
    node.answer_in_slices(call, _delete_topics(node, call, now_ms))


def _delete_topics(node: BrokerNode, call: Call, now_ms: int) -> Slices[None]:
    version, cluster = call.version, node.cluster
    ids = {name: topic.spec.topic_id for name, topic in cluster.topics.items()}
    results = []
    for number, (given, doubt) in enumerate(deletions(given_topics(call.body, version), ids)):
        if number:
            yield
        name, topic_id = given
        message: str | None = doubt
        if doubt is not None:
            error = E.INVALID_REQUEST
            if doubt is Doubt.ID_OF_NAME and name is not None:
                topic_id = ids[name]
        else:
            if topic_id is not None:
                name = cluster.topic_names.get(topic_id)
            topic = cluster.topics.get(name) if name is not None else None
            if name is None or topic is None:
                error = E.UNKNOWN_TOPIC_ID if topic_id is not None else E.UNKNOWN_TOPIC_OR_PARTITION
            else:
                topic_id = topic.spec.topic_id
                error = yield from cluster.deletion_in_slices(name, now_ms)
            message = _UNKNOWN.get(error, error.name) if error else None
        results.append(
            DeleteTopicsResponse.DeletableTopicResult(
                version=version, name=name, topic_id=topic_id, error_code=error, error_message=message
            )
        )
    node.answer(call, DeleteTopicsResponse(version=version, responses=results))


HANDLERS: Final = {
    api.CREATE_TOPICS: create_topics,
    api.CREATE_PARTITIONS: create_partitions,
    api.DELETE_TOPICS: delete_topics,
}
