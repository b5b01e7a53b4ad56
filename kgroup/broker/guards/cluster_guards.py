"""Rights to topics and to the cluster. A client that may not see a topic learns nothing about it."""

from collections import Counter
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final

from kafka.protocol.admin.configs import DescribeConfigsResponse, IncrementalAlterConfigsResponse
from kafka.protocol.admin.topics import (
    CreatePartitionsResponse,
    CreateTopicsResponse,
    DeleteTopicsResponse,
    DescribeTopicPartitionsResponse,
    ListPartitionReassignmentsResponse,
)
from kafka.protocol.metadata import MetadataResponse

from kgroup.broker.apis.given_topics import GivenTopic, doubtful, given_topics
from kgroup.broker.apis.topic_apis import METADATA_TOPIC
from kgroup.broker.guards.rights import MESSAGES, Guard, Rights, apart, no_right
from kgroup.broker.security.acls import CLUSTER_NAME, Operation, ResourceType
from kgroup.protocol.error_codes import ErrorCode
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required, text

E = ErrorCode
_REFUSED: Final = E.TOPIC_AUTHORIZATION_FAILED
_TOPIC: Final = 2
_BROKER: Final = 4
_GROUP: Final = 32


# ---- Metadata ---------------------------------------------------------------------------------


def _metadata(rights: Rights) -> Call:
    body, version = rights.call.body, rights.call.version
    everything = body.topics is None or (version == 0 and not body.topics)
    refused: list[Any] = []
    if not everything:
        kept = [_requested(rights, topic) for topic in body.topics]
        body.topics = [each.given for each in kept if each.allowed]
        refused = [_hidden_topic(version, each) for each in kept if not each.allowed]
        if version == 0 and not body.topics:
            # An empty list would ask for everything.
            body.topics, everything = None, True

    def amend(answer: Any) -> Any:
        topics = answer.topics
        if refused and everything:
            topics = []
        elif everything:
            topics = [topic for topic in topics if rights.topic(Operation.DESCRIBE, topic.name)]
        if version >= 8 and body.include_topic_authorized_operations:
            for topic in topics:
                name = topic.name
                topic.authorized_operations = (
                    rights.operations(ResourceType.TOPIC, name) if name else frozenset()
                )
        answer.topics = [*topics, *refused]
        if 8 <= version <= 10 and body.include_cluster_authorized_operations:
            answer.authorized_operations = _cluster_operations(rights)
        return answer

    return rights.amended(amend)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Requested:
    """A topic that Metadata is asked about, and whether its client may know of it, and make it."""

    given: Any
    name: str | None
    by_id: bool
    allowed: bool


def _requested(rights: Rights, given: Any) -> _Requested:
    by_id = rights.call.version >= 10 and given.topic_id is not None
    name = rights.topic_name(given, by_id)
    allowed = name is None or rights.topic(Operation.DESCRIBE, name)
    if allowed and name is not None and name not in rights.node.cluster.topics and _would_make(rights):
        allowed = rights.cluster(Operation.CREATE) or rights.topic(Operation.CREATE, name)
    return _Requested(given=given, name=name, by_id=by_id, allowed=allowed)


def _would_make(rights: Rights) -> bool:
    """Whether a topic that is not there would be made."""
    allowed = rights.call.version < 4 or rights.call.body.allow_auto_topic_creation
    return bool(allowed and rights.node.cluster.settings.auto_create_topics)


def _hidden_topic(version: int, requested: _Requested) -> Any:
    """Ids are no secret, and neither are names that the client sent itself."""
    nameless = None if version >= 12 else ""
    return MetadataResponse.MetadataResponseTopic(
        version=version,
        error_code=_REFUSED,
        name=nameless if requested.by_id else requested.name,
        topic_id=requested.given.topic_id if requested.by_id else None,
        is_internal=False,
        partitions=[],
    )


def _cluster_operations(rights: Rights) -> frozenset[int]:
    if not rights.cluster(Operation.DESCRIBE):
        return frozenset()
    return rights.operations(ResourceType.CLUSTER, CLUSTER_NAME)


def _describe_cluster(rights: Rights) -> Call:
    if not rights.call.body.include_cluster_authorized_operations:
        return rights.call

    def amend(answer: Any) -> Any:
        answer.authorized_operations = None if answer.error_code else _cluster_operations(rights)
        return answer

    return rights.amended(amend)


def _describe_topic_partitions(rights: Rights) -> Call:
    body, version = rights.call.body, rights.call.version
    body.topics, refused = apart(
        required(body.topics), lambda topic: rights.topic(Operation.DESCRIBE, text(topic.name))
    )

    def amend(answer: Any) -> Any:
        for topic in answer.topics:
            operations = rights.operations(ResourceType.TOPIC, topic.name)
            topic.topic_authorized_operations = sum(1 << code for code in operations)
        hidden = [
            DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic(
                version=version,
                error_code=_REFUSED,
                name=topic.name,
                topic_id=None,
                is_internal=False,
                partitions=[],
                topic_authorized_operations=0,
            )
            for topic in refused
        ]
        answer.topics = [*answer.topics, *hidden]
        return answer

    return rights.amended(amend)


def _list_partition_reassignments(rights: Rights) -> Call | None:
    if rights.cluster(Operation.DESCRIBE):
        return rights.call
    error = E.CLUSTER_AUTHORIZATION_FAILED
    rights.refuse(
        ListPartitionReassignmentsResponse(
            version=rights.call.version, error_code=error, error_message=MESSAGES[error], topics=[]
        )
    )
    return None


# ---- changing topics --------------------------------------------------------------------------


def _create_topics(rights: Rights) -> Call:
    body, version = rights.call.body, rights.call.version
    refused: list[Any] = []
    if not rights.cluster(Operation.CREATE):
        refused_anyway = {METADATA_TOPIC, *_named_twice(body.topics)}
        body.topics, refused = apart(
            required(body.topics),
            lambda topic: topic.name in refused_anyway or rights.topic(Operation.CREATE, text(topic.name)),
        )

    def amend(answer: Any) -> Any:
        for topic in answer.topics:
            if not topic.error_code and not rights.topic(Operation.DESCRIBE_CONFIGS, topic.name):
                # Made, but what it is like is not for this client (KIP-525).
                topic.topic_config_error_code = _REFUSED
                topic.num_partitions = topic.replication_factor = -1
                topic.configs = []
        hidden = [
            CreateTopicsResponse.CreatableTopicResult(
                version=version,
                name=topic.name,
                topic_id=None,
                error_code=_REFUSED,
                error_message="Authorization failed.",
                num_partitions=-1,
                replication_factor=-1,
                configs=[],
            )
            for topic in refused
        ]
        answer.topics = [*answer.topics, *hidden]
        return answer

    return rights.amended(amend)


def _named_twice(topics: Any) -> set[str | None]:
    """Names that a request has twice: that is told whoever asks."""
    return {name for name, times in Counter(each.name for each in required(topics)).items() if times > 1}


def _create_partitions(rights: Rights) -> Call:
    body, version = rights.call.body, rights.call.version
    twice = _named_twice(body.topics)
    body.topics, refused = apart(
        required(body.topics),
        lambda topic: topic.name in twice or rights.topic(Operation.ALTER, text(topic.name)),
    )
    hidden = [
        CreatePartitionsResponse.CreatePartitionsTopicResult(
            version=version, name=topic.name, error_code=_REFUSED, error_message=None
        )
        for topic in refused
    ]

    def amend(answer: Any) -> Any:
        answer.results = [*answer.results, *hidden]
        return answer

    return rights.amended(amend)


def _delete_topics(rights: Rights) -> Call:
    """A topic that may be seen and is not there is unknown. By id, only who may see it gets its name.

    What is doubtful by itself, such as a name given twice, is answered as such, whoever asks.
    """
    body, version = rights.call.body, rights.call.version
    if rights.cluster(Operation.DELETE):
        return rights.call
    given = given_topics(body, version)
    doubts = doubtful(given)
    hidden: list[Any] = []

    def refuse(name: str | None, topic_id: Any) -> bool:
        hidden.append(
            DeleteTopicsResponse.DeletableTopicResult(
                version=version,
                name=name,
                topic_id=topic_id,
                error_code=_REFUSED,
                error_message=MESSAGES[_REFUSED],
            )
        )
        return False

    def may_by_name(name: str) -> bool:
        seen = rights.topic(Operation.DESCRIBE, name)
        there = name in rights.node.cluster.topics
        if seen and (not there or rights.topic(Operation.DELETE, name)):
            return True
        return refuse(name, None)

    def may_by_id(topic_id: Any) -> bool:
        name = rights.node.cluster.topic_names.get(topic_id)
        if name is None or rights.topic(Operation.DELETE, name):
            return True
        return refuse(name if rights.topic(Operation.DESCRIBE, name) else None, topic_id)

    def may(topic: GivenTopic) -> bool:
        return topic in doubts or (
            may_by_id(topic.topic_id) if topic.name is None else may_by_name(topic.name)
        )

    kept = [may(topic) for topic in given]
    if version >= 6:
        body.topics = list(compress(required(body.topics), kept))
    else:
        body.topic_names = list(compress(required(body.topic_names), kept))

    def amend(answer: Any) -> Any:
        answer.responses = [*answer.responses, *hidden]
        return answer

    return rights.amended(amend)


def _describe_configs(rights: Rights) -> Call:
    refused = _configs_apart(rights, Operation.DESCRIBE_CONFIGS)

    def amend(answer: Any) -> Any:
        hidden = [
            DescribeConfigsResponse.DescribeConfigsResult(
                version=rights.call.version,
                error_code=error,
                error_message=MESSAGES[error],
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=[],
            )
            for resource, error in refused
        ]
        answer.results = [*answer.results, *hidden]
        return answer

    return rights.amended(amend)


def _incremental_alter_configs(rights: Rights) -> Call:
    refused = _configs_apart(rights, Operation.ALTER_CONFIGS)

    def amend(answer: Any) -> Any:
        hidden = [
            IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
                version=rights.call.version,
                error_code=error,
                error_message=MESSAGES[error],
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource, error in refused
        ]
        answer.responses = [*answer.responses, *hidden]
        return answer

    return rights.amended(amend)


def _configs_apart(rights: Rights, operation: Operation) -> list[tuple[Any, ErrorCode]]:
    """Take the resources out of a request that the client may not do this to; they, with what it hears."""
    refused: list[tuple[Any, ErrorCode]] = []

    def may(resource: Any) -> bool:
        name = text(resource.resource_name)
        allowed, error = True, E.NONE
        if resource.resource_type == _BROKER:
            allowed, error = rights.cluster(operation), E.CLUSTER_AUTHORIZATION_FAILED
        elif resource.resource_type == _TOPIC:
            allowed, error = rights.topic(operation, name), _REFUSED
        elif resource.resource_type == _GROUP:
            allowed, error = rights.group(operation, name), E.GROUP_AUTHORIZATION_FAILED
        if not allowed:
            refused.append((resource, error))
        return allowed

    body = rights.call.body
    body.resources = [resource for resource in required(body.resources) if may(resource)]
    return refused


GUARDS: Final[dict[int, Guard]] = {
    api.API_VERSIONS: no_right,
    api.SASL_HANDSHAKE: no_right,
    api.SASL_AUTHENTICATE: no_right,
    api.METADATA: _metadata,
    api.DESCRIBE_CLUSTER: _describe_cluster,
    api.DESCRIBE_TOPIC_PARTITIONS: _describe_topic_partitions,
    api.LIST_PARTITION_REASSIGNMENTS: _list_partition_reassignments,
    api.CREATE_TOPICS: _create_topics,
    api.CREATE_PARTITIONS: _create_partitions,
    api.DELETE_TOPICS: _delete_topics,
    api.DESCRIBE_CONFIGS: _describe_configs,
    api.INCREMENTAL_ALTER_CONFIGS: _incremental_alter_configs,
}
