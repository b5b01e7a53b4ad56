"""Requests about a node and its cluster: ApiVersions, FindCoordinator, Metadata, DescribeCluster."""

import re
from typing import Any, Final

from kafka.protocol.admin.cluster import DescribeClusterResponse
from kafka.protocol.admin.topics import DescribeTopicPartitionsResponse, ListPartitionReassignmentsResponse
from kafka.protocol.metadata import ApiVersionsResponse, FindCoordinatorResponse, MetadataResponse
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

from kgroup.broker.apis import config_apis, topic_apis
from kgroup.broker.cluster import INTERNAL_TOPICS, OFFSETS_TOPIC, TRANSACTIONS_TOPIC, Topic
from kgroup.broker.node import BrokerNode
from kgroup.broker.partition import NO_LEADER, Partition
from kgroup.protocol.error_codes import ErrorCode
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required

E = ErrorCode
_GROUP: Final = 0
_TRANSACTION: Final = 1
_SHARE: Final = 2
_BROKERS: Final = 1
_CLUSTER_OPERATIONS: Final = frozenset({4, 5, 7, 8, 9, 10, 11, 12, 13, 14})
_TOPIC_OPERATIONS: Final = frozenset({3, 4, 5, 6, 7, 8, 10, 11})
_TRANSACTION_VERSION: Final = "transaction.version"
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


# ---- ApiVersions ------------------------------------------------------------------------------


def api_versions(node: BrokerNode, call: Call, now_ms: int) -> None:
    """ApiVersions v0 to v4: what this node speaks, and that transactions follow KIP-890.

    A client without a name or version for its software that can be one is refused (KIP-511).
    """
    version = call.version
    if version >= 3 and not (
        _SOFTWARE.fullmatch(call.body.client_software_name)
        and _SOFTWARE.fullmatch(call.body.client_software_version)
    ):
        node.answer(call, ApiVersionsResponse(version=version, error_code=E.INVALID_REQUEST, api_keys=[]))
        return
    response = ApiVersionsResponse(
        version=version,
        api_keys=[
            ApiVersionsResponse.ApiVersion(
                version=version, api_key=key, min_version=lowest, max_version=highest
            )
            for key, lowest, highest in _spoken()
        ],
    )
    if version >= 3:
        response.supported_features = [
            ApiVersionsResponse.SupportedFeatureKey(
                version=version, name=_TRANSACTION_VERSION, min_version=0, max_version=2
            )
        ]
        response.finalized_features_epoch = 0
        response.finalized_features = [
            ApiVersionsResponse.FinalizedFeatureKey(
                version=version, name=_TRANSACTION_VERSION, max_version_level=2, min_version_level=2
            )
        ]
    node.answer(call, response)


def unsupported_api_versions() -> Any:
    """The answer, in version 0's form, to a newer ApiVersions than is spoken: its own range (KIP-511)."""
    spoken = api.APIS[api.API_VERSIONS]
    return ApiVersionsResponse(
        version=0,
        error_code=E.UNSUPPORTED_VERSION,
        api_keys=[
            ApiVersionsResponse.ApiVersion(
                version=0, api_key=spoken.key, min_version=spoken.lowest, max_version=spoken.highest
            )
        ],
    )


def _spoken() -> list[tuple[int, int, int]]:
    return [(each.key, each.advertised_lowest, each.highest) for _, each in sorted(api.APIS.items())]


# ---- SASL, where it has no place -----------------------------------------------------------------


def sasl_handshake(node: BrokerNode, call: Call, now_ms: int) -> None:
    """SaslHandshake v0 to v1 of a client that need not log in, or has."""
    response = SaslHandshakeResponse(version=call.version, error_code=E.ILLEGAL_SASL_STATE, mechanisms=[])
    node.answer(call, response)


def sasl_authenticate(node: BrokerNode, call: Call, now_ms: int) -> None:
    """SaslAuthenticate v0 to v2 of such a client."""
    response = SaslAuthenticateResponse(
        version=call.version,
        error_code=E.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
        auth_bytes=b"",
        session_lifetime_ms=0,
    )
    node.answer(call, response)


# ---- FindCoordinator --------------------------------------------------------------------------


def find_coordinator(node: BrokerNode, call: Call, now_ms: int) -> None:
    """FindCoordinator v0 to v6: the leader of the key's partition."""
    request, version = call.body, call.version
    key_type = request.key_type if version >= 1 else _GROUP
    if version >= 4:
        coordinators = [
            FindCoordinatorResponse.Coordinator(
                version=version, key=key, error_message=_message(key_type, fields), **fields
            )
            for key in required(request.coordinator_keys)
            for fields in [_coordinator(node, call, key_type, key, now_ms)]
        ]
        node.answer(call, FindCoordinatorResponse(version=version, coordinators=coordinators))
        return
    fields = _coordinator(node, call, key_type, request.key, now_ms)
    message = E(fields["error_code"]).name
    node.answer(call, FindCoordinatorResponse(version=version, error_message=message, **fields))


def _message(key_type: int, fields: dict[str, Any]) -> str:
    """The error message: Kafka has one from version 4 on, for an unknown key type only."""
    return E(fields["error_code"]).name if key_type not in (_GROUP, _TRANSACTION, _SHARE) else ""


def _coordinator(node: BrokerNode, call: Call, key_type: int, key: str, now_ms: int) -> dict[str, Any]:
    cluster = node.cluster
    if key_type == _GROUP:
        topic, index = OFFSETS_TOPIC, cluster.offsets_partition(key)
    elif key_type == _TRANSACTION:
        topic, index = TRANSACTIONS_TOPIC, cluster.transaction_partition(key)
    else:
        return {"error_code": E.INVALID_REQUEST, "node_id": -1, "host": "", "port": -1}
    leader = cluster.internal_topic(topic, now_ms).partitions[index].leader
    if leader == NO_LEADER:
        return {"error_code": E.COORDINATOR_NOT_AVAILABLE, "node_id": -1, "host": "", "port": -1}
    host, port = cluster.nodes[leader].address(call.sender.listener)
    return {"error_code": E.NONE, "node_id": leader, "host": host, "port": port}


# ---- Metadata ---------------------------------------------------------------------------------


def metadata(node: BrokerNode, call: Call, now_ms: int) -> None:
    """Metadata v0 to v13; asking for a topic may make it, as `auto.create.topics.enable` says."""
    request, version = call.body, call.version
    cluster = node.cluster
    everything = request.topics is None or (version == 0 and not request.topics)
    if everything:
        topics = [_topic(node, version, topic) for _, topic in sorted(cluster.topics.items())]
    else:
        topics = [_metadata_topic(node, call, each, now_ms) for each in request.topics]
    with_operations = version >= 8 and request.include_topic_authorized_operations
    for topic in topics:
        topic.authorized_operations = _TOPIC_OPERATIONS if with_operations else None
    cluster_operations = 8 <= version <= 10 and request.include_cluster_authorized_operations
    response = MetadataResponse(
        version=version,
        brokers=[
            MetadataResponse.MetadataResponseBroker(
                version=version, node_id=spec.node_id, host=host, port=port, rack=None
            )
            for spec in cluster.alive
            for host, port in [spec.address(call.sender.listener)]
        ],
        cluster_id=cluster.spec.cluster_id,
        controller_id=cluster.controller_id,
        topics=topics,
    )
    response.authorized_operations = _CLUSTER_OPERATIONS if cluster_operations else None
    node.answer(call, response)


def _metadata_topic(node: BrokerNode, call: Call, requested: Any, now_ms: int) -> Any:
    cluster = node.cluster
    by_id = call.version >= 10 and requested.topic_id is not None
    name = cluster.topic_names.get(requested.topic_id) if by_id else requested.name
    if name is None:
        error = E.UNKNOWN_TOPIC_ID if by_id else E.INVALID_REQUEST
        return _no_topic(call.version, None if call.version >= 12 else "", requested.topic_id, error)
    if name not in cluster.topics:
        error = _make(node, call, name, now_ms)
        if error:
            return _no_topic(call.version, name, None, error)
    return _topic(node, call.version, cluster.topics[name])


def _make(node: BrokerNode, call: Call, name: str, now_ms: int) -> ErrorCode:
    """Create a topic that a client asked about, if both sides allow it."""
    cluster = node.cluster
    if name in INTERNAL_TOPICS:
        cluster.internal_topic(name, now_ms)
        return E.NONE
    allowed = call.version < 4 or call.body.allow_auto_topic_creation
    if allowed and cluster.settings.auto_create_topics:
        return cluster.create_topic(name, -1, -1, {}, now_ms)
    invalid = cluster.check_new_topic(name, -1, -1) is E.INVALID_TOPIC_EXCEPTION
    return E.INVALID_TOPIC_EXCEPTION if invalid else E.UNKNOWN_TOPIC_OR_PARTITION


def _no_topic(version: int, name: str | None, topic_id: Any, error: ErrorCode) -> Any:
    return MetadataResponse.MetadataResponseTopic(
        version=version, error_code=error, name=name, topic_id=topic_id, is_internal=False, partitions=[]
    )


def _topic(node: BrokerNode, version: int, topic: Topic) -> Any:
    return MetadataResponse.MetadataResponseTopic(
        version=version,
        error_code=E.NONE,
        name=topic.spec.name,
        topic_id=topic.spec.topic_id,
        is_internal=topic.is_internal,
        partitions=[_partition(node, version, partition) for partition in topic.partitions],
    )


def _partition(node: BrokerNode, version: int, partition: Partition) -> Any:
    return MetadataResponse.MetadataResponseTopic.MetadataResponsePartition(
        version=version, **_partition_fields(node, partition)
    )


def _partition_fields(node: BrokerNode, partition: Partition) -> dict[str, Any]:
    """The leader of a partition, and its replicas: on nodes that are alive, and on those that are not."""
    nodes = node.cluster.nodes
    return {
        "error_code": E.NONE if partition.leader != NO_LEADER else E.LEADER_NOT_AVAILABLE,
        "partition_index": partition.index,
        "leader_id": partition.leader,
        "leader_epoch": partition.leader_epoch,
        "replica_nodes": list(partition.replicas),
        "isr_nodes": [id_ for id_ in partition.replicas if nodes[id_].alive],
        "offline_replicas": [id_ for id_ in partition.replicas if not nodes[id_].alive],
    }


def describe_topic_partitions(node: BrokerNode, call: Call, now_ms: int) -> None:
    """DescribeTopicPartitions v0, in one page: each topic once, and all of them if none is named."""
    version = call.version
    names = {each.name for each in required(call.body.topics)} or set(node.cluster.topics)
    answer = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
    topics = []
    for name in sorted(names):
        topic = node.cluster.topics.get(name)
        partitions = [
            answer.DescribeTopicPartitionsResponsePartition(
                version=version,
                eligible_leader_replicas=[],
                last_known_elr=[],
                **_partition_fields(node, partition),
            )
            for partition in (topic.partitions if topic else ())
        ]
        topics.append(
            answer(
                version=version,
                error_code=E.NONE if topic else E.UNKNOWN_TOPIC_OR_PARTITION,
                name=name,
                topic_id=topic.spec.topic_id if topic else None,
                is_internal=topic.is_internal if topic else False,
                partitions=partitions,
                topic_authorized_operations=sum(1 << code for code in _TOPIC_OPERATIONS),
            )
        )
    node.answer(call, DescribeTopicPartitionsResponse(version=version, topics=topics, next_cursor=None))


def describe_cluster(node: BrokerNode, call: Call, now_ms: int) -> None:
    """DescribeCluster v0 to v2."""
    version, cluster = call.version, node.cluster
    if version >= 1 and call.body.endpoint_type != _BROKERS:
        error = E.MISMATCHED_ENDPOINT_TYPE
        response = DescribeClusterResponse(version=version, error_code=error, cluster_id="", brokers=[])
        node.answer(call, response)
        return
    with_operations = call.body.include_cluster_authorized_operations
    response = DescribeClusterResponse(
        version=version,
        endpoint_type=_BROKERS,
        cluster_id=cluster.spec.cluster_id,
        controller_id=cluster.controller_id,
        brokers=[
            DescribeClusterResponse.DescribeClusterBroker(
                version=version,
                broker_id=each.node_id,
                host=host,
                port=port,
                rack=None,
                is_fenced=False,
            )
            for each in cluster.alive
            for host, port in [each.address(call.sender.listener)]
        ],
    )
    response.authorized_operations = _CLUSTER_OPERATIONS if with_operations else None
    node.answer(call, response)


def list_partition_reassignments(node: BrokerNode, call: Call, now_ms: int) -> None:
    """ListPartitionReassignments v0: there are never any."""
    node.answer(call, ListPartitionReassignmentsResponse(version=call.version, topics=[]))


HANDLERS: Final = {
    api.API_VERSIONS: api_versions,
    api.SASL_HANDSHAKE: sasl_handshake,
    api.SASL_AUTHENTICATE: sasl_authenticate,
    api.FIND_COORDINATOR: find_coordinator,
    api.METADATA: metadata,
    api.DESCRIBE_CLUSTER: describe_cluster,
    api.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions,
    api.LIST_PARTITION_REASSIGNMENTS: list_partition_reassignments,
    **topic_apis.HANDLERS,
    **config_apis.HANDLERS,
}
