"""Every API with the rights it takes: a request, the rights, and what is heard without each of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin.cluster import DescribeClusterRequest
from kafka.protocol.admin.configs import DescribeConfigsRequest, IncrementalAlterConfigsRequest
from kafka.protocol.admin.groups import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.admin.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    DescribeTopicPartitionsRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.consumer.fetch import FetchRequest
from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kafka.protocol.consumer.offsets import ListOffsetsRequest, OffsetForLeaderEpochRequest
from kafka.protocol.metadata import ApiVersionsRequest, FindCoordinatorRequest, MetadataRequest
from kafka.protocol.producer.produce import ProduceRequest
from kafka.protocol.producer.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.wire.consumer_group_messages import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from tests.broker.apis.record_requests import batch
from tests.broker.world import join

TOPIC_REFUSED, GROUP_REFUSED = E.TOPIC_AUTHORIZATION_FAILED, E.GROUP_AUTHORIZATION_FAILED
CLUSTER_REFUSED = E.CLUSTER_AUTHORIZATION_FAILED
TRANSACTION_REFUSED = E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
AUTHORIZATION_ERRORS = {TOPIC_REFUSED, GROUP_REFUSED, CLUSTER_REFUSED, TRANSACTION_REFUSED}


@dataclass(frozen=True)
class Row:
    """`rights` as lines of an ACL file, without who; `request` makes the request anew each time."""

    request: Callable[[], Any]
    rights: dict[str, E]

    @property
    def api_key(self) -> int:
        return int(self.request().API_KEY)


def errors_in(answer: Any) -> Iterator[E]:
    """Every error code anywhere in an answer."""
    if isinstance(answer, (list, tuple)):
        for each in answer:
            yield from errors_in(each)
    elif hasattr(answer, "to_dict"):
        yield from _errors_in_fields(answer.to_dict())


def _errors_in_fields(fields: Any) -> Iterator[E]:
    if isinstance(fields, dict):
        for name, value in fields.items():
            if name.endswith("error_code") and name != "topic_config_error_code":
                yield E(value)
            yield from _errors_in_fields(value)
    elif isinstance(fields, list):
        for each in fields:
            yield from _errors_in_fields(each)


# ---- requests: topic orders, group g, transactional id tx ------------------------------------------


def produce(version: int = 9, transactional_id: str | None = None) -> ProduceRequest:
    data = ProduceRequest.TopicProduceData
    records = batch(1, transactional=transactional_id is not None)
    partition = data.PartitionProduceData(version=version, index=0, records=records)
    topics = [data(version=version, name="orders", partition_data=[partition])]
    return ProduceRequest(
        version=version, transactional_id=transactional_id, acks=-1, timeout_ms=1, topic_data=topics
    )


def fetch(version: int = 11) -> FetchRequest:
    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition(
        version=version, partition=0, current_leader_epoch=-1, fetch_offset=0, partition_max_bytes=1 << 20
    )
    topics = [topic(version=version, topic="orders", partitions=[partition])]
    return FetchRequest(
        version=version,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=0,
        topics=topics,
        rack_id="",
    )


def of_partitions(request: Any, version: int, topic_type: Any, part_type: Any, **part: Any) -> Any:
    name = "topic" if request is OffsetForLeaderEpochRequest else "name"
    parts = [part_type(version=version, **part)]
    return request(
        version=version, topics=[topic_type(version=version, **{name: "orders", "partitions": parts})]
    )


def list_offsets() -> Any:
    topic = ListOffsetsRequest.ListOffsetsTopic
    return of_partitions(
        ListOffsetsRequest,
        7,
        topic,
        topic.ListOffsetsPartition,
        partition_index=0,
        current_leader_epoch=-1,
        timestamp=-1,
    )


def leader_epoch() -> Any:
    topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    return of_partitions(
        OffsetForLeaderEpochRequest,
        4,
        topic,
        topic.OffsetForLeaderPartition,
        partition=0,
        current_leader_epoch=-1,
        leader_epoch=0,
    )


def delete_records() -> Any:
    topic = DeleteRecordsRequest.DeleteRecordsTopic
    return of_partitions(
        DeleteRecordsRequest, 2, topic, topic.DeleteRecordsPartition, partition_index=0, offset=0
    )


def metadata(name: str | None = "orders", version: int = 9, auto_create: bool = False, **more: Any) -> Any:
    each = MetadataRequest.MetadataRequestTopic
    topics = None if name is None else [each(version=version, name=name)]
    return MetadataRequest(version=version, topics=topics, allow_auto_topic_creation=auto_create, **more)


def commit_topics(request: Any, version: int, topic: str = "orders") -> list[Any]:
    each = getattr(request, f"{request.__name__}Topic")
    partition = getattr(each, f"{request.__name__}Partition")(
        version=version, partition_index=0, committed_offset=1, committed_metadata=""
    )
    return [each(version=version, name=topic, partitions=[partition])]


def offset_commit(version: int = 8) -> Any:
    return OffsetCommitRequest(
        version=version,
        group_id="g",
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=commit_topics(OffsetCommitRequest, version),
    )


def txn_offset_commit() -> Any:
    return TxnOffsetCommitRequest(
        version=3,
        transactional_id="tx",
        group_id="g",
        producer_id=1,
        producer_epoch=0,
        generation_id=-1,
        member_id="",
        topics=commit_topics(TxnOffsetCommitRequest, 3),
    )


def offset_fetch(version: int = 7, all_topics: bool = False) -> Any:
    if version < 8:
        topic = OffsetFetchRequest.OffsetFetchRequestTopic
        topics = [topic(version=version, name="orders", partition_indexes=[0])]
        return OffsetFetchRequest(version=version, group_id="g", topics=None if all_topics else topics)
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    topics = [
        group.OffsetFetchRequestTopics(version=version, name="orders", partition_indexes=[0]),
    ]
    groups = [group(version=version, group_id="g", topics=None if all_topics else topics)]
    return OffsetFetchRequest(version=version, groups=groups)


def offset_delete() -> Any:
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic
    partition = topic.OffsetDeleteRequestPartition(version=0, partition_index=0)
    topics = [topic(version=0, name="orders", partitions=[partition])]
    return OffsetDeleteRequest(version=0, group_id="g", topics=topics)


def find_coordinator(version: int, key_type: int, key: str) -> Any:
    if version < 4:
        return FindCoordinatorRequest(version=version, key=key, key_type=key_type)
    return FindCoordinatorRequest(version=version, key_type=key_type, coordinator_keys=[key])


def member(request: Any, version: int, **more: Any) -> Any:
    return request(version=version, group_id="g", member_id="m", **more)


def create_topics(name: str = "new") -> Any:
    topic = CreateTopicsRequest.CreatableTopic
    topics = [topic(version=7, name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[])]
    return CreateTopicsRequest(version=7, topics=topics, timeout_ms=1, validate_only=False)


def create_partitions() -> Any:
    topic = CreatePartitionsRequest.CreatePartitionsTopic
    topics = [topic(version=3, name="orders", count=5, assignments=None)]
    return CreatePartitionsRequest(version=3, topics=topics, timeout_ms=1, validate_only=False)


def delete_topics(version: int = 5, name: str | None = "orders", topic_id: Any = None) -> Any:
    if version < 6:
        return DeleteTopicsRequest(version=version, topic_names=[name], timeout_ms=1)
    topics = [DeleteTopicsRequest.DeleteTopicState(version=version, name=name, topic_id=topic_id)]
    return DeleteTopicsRequest(version=version, topics=topics, timeout_ms=1)


def describe_configs(resource_type: int, name: str) -> Any:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        version=4, resource_type=resource_type, resource_name=name, configuration_keys=None
    )
    return DescribeConfigsRequest(
        version=4, resources=[resource], include_synonyms=False, include_documentation=False
    )


def alter_configs(resource_type: int, name: str) -> Any:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    config = resource.AlterableConfig(
        version=1, name="consumer.session.timeout.ms", config_operation=0, value="50000"
    )
    resources = [resource(version=1, resource_type=resource_type, resource_name=name, configs=[config])]
    return IncrementalAlterConfigsRequest(version=1, resources=resources, validate_only=False)


def add_partitions(topic: str = "orders") -> Any:
    each = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    return AddPartitionsToTxnRequest(
        version=3,
        v3_and_below_transactional_id="tx",
        v3_and_below_producer_id=1,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=[each(version=3, name=topic, partitions=[0])],
    )


def init_producer_id(transactional_id: str | None) -> Any:
    return InitProducerIdRequest(
        version=4,
        transactional_id=transactional_id,
        transaction_timeout_ms=1000,
        producer_id=-1,
        producer_epoch=-1,
    )


def describe_topic_partitions() -> Any:
    topics = [DescribeTopicPartitionsRequest.TopicRequest(version=0, name="orders")]
    return DescribeTopicPartitionsRequest(
        version=0, topics=topics, response_partition_limit=2000, cursor=None
    )


READ_GROUP = {"READ group g": GROUP_REFUSED}
WRITE_TX = {"WRITE transactional-id tx": TRANSACTION_REFUSED}
WRITE_TOPIC = {"WRITE topic orders": TOPIC_REFUSED}
READ_TOPIC = {"READ topic orders": TOPIC_REFUSED}
DESCRIBE_TOPIC = {"DESCRIBE topic orders": TOPIC_REFUSED}


def consumer_heartbeat() -> ConsumerGroupHeartbeatRequest:
    """The first of a member, in a group of its own."""
    return ConsumerGroupHeartbeatRequest(
        version=1,
        group_id="new",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )


ROWS = {
    "Produce": Row(produce, WRITE_TOPIC),
    "Produce in a transaction": Row(lambda: produce(transactional_id="tx"), WRITE_TX | WRITE_TOPIC),
    "Fetch": Row(fetch, READ_TOPIC),
    "ListOffsets": Row(list_offsets, DESCRIBE_TOPIC),
    "OffsetForLeaderEpoch": Row(leader_epoch, DESCRIBE_TOPIC),
    "DeleteRecords": Row(delete_records, {"DELETE topic orders": TOPIC_REFUSED}),
    "Metadata v0": Row(lambda: metadata(version=0), DESCRIBE_TOPIC),
    "Metadata": Row(metadata, DESCRIBE_TOPIC),
    "Metadata of all": Row(lambda: metadata(None), {}),
    "Metadata that makes a topic": Row(
        lambda: metadata("new", auto_create=True), {"DESCRIBE,CREATE topic new": TOPIC_REFUSED}
    ),
    "DescribeTopicPartitions": Row(describe_topic_partitions, DESCRIBE_TOPIC),
    "DescribeCluster": Row(lambda: DescribeClusterRequest(version=0), {}),
    "ListPartitionReassignments": Row(
        lambda: ListPartitionReassignmentsRequest(version=0, topics=None, timeout_ms=1),
        {"DESCRIBE cluster kafka-cluster": CLUSTER_REFUSED},
    ),
    "SaslHandshake": Row(lambda: SaslHandshakeRequest(version=1, mechanism="PLAIN"), {}),
    "SaslAuthenticate": Row(lambda: SaslAuthenticateRequest(version=2, auth_bytes=b""), {}),
    "ApiVersions": Row(lambda: ApiVersionsRequest(version=0), {}),
    "ConsumerGroupHeartbeat": Row(
        consumer_heartbeat, {"READ group new": GROUP_REFUSED, "DESCRIBE topic orders": TOPIC_REFUSED}
    ),
    "ConsumerGroupDescribe": Row(
        lambda: ConsumerGroupDescribeRequest(version=1, group_ids=["g"], include_authorized_operations=False),
        {"DESCRIBE group g": GROUP_REFUSED},
    ),
    "OffsetCommit": Row(offset_commit, READ_GROUP | READ_TOPIC),
    "OffsetFetch v1": Row(lambda: offset_fetch(1), {"DESCRIBE group g": GROUP_REFUSED} | DESCRIBE_TOPIC),
    "OffsetFetch v7": Row(offset_fetch, {"DESCRIBE group g": GROUP_REFUSED} | DESCRIBE_TOPIC),
    "OffsetFetch v8": Row(lambda: offset_fetch(8), {"DESCRIBE group g": GROUP_REFUSED} | DESCRIBE_TOPIC),
    "OffsetFetch of all": Row(lambda: offset_fetch(7, True), {"DESCRIBE group g": GROUP_REFUSED}),
    "OffsetFetch of all v8": Row(lambda: offset_fetch(8, True), {"DESCRIBE group g": GROUP_REFUSED}),
    "OffsetDelete": Row(offset_delete, {"DELETE group g": GROUP_REFUSED} | READ_TOPIC),
    "TxnOffsetCommit": Row(txn_offset_commit, WRITE_TX | READ_GROUP | READ_TOPIC),
    "FindCoordinator of a group v3": Row(
        lambda: find_coordinator(3, 0, "g"), {"DESCRIBE group g": GROUP_REFUSED}
    ),
    "FindCoordinator of a group": Row(
        lambda: find_coordinator(4, 0, "g"), {"DESCRIBE group g": GROUP_REFUSED}
    ),
    "FindCoordinator of a transaction v3": Row(
        lambda: find_coordinator(3, 1, "tx"), {"DESCRIBE transactional-id tx": TRANSACTION_REFUSED}
    ),
    "FindCoordinator of a transaction": Row(
        lambda: find_coordinator(4, 1, "tx"), {"DESCRIBE transactional-id tx": TRANSACTION_REFUSED}
    ),
    "JoinGroup": Row(lambda: join(group="new"), {"READ group new": GROUP_REFUSED}),
    "SyncGroup": Row(lambda: member(SyncGroupRequest, 3, generation_id=1, assignments=[]), READ_GROUP),
    "Heartbeat": Row(lambda: member(HeartbeatRequest, 3, generation_id=1), READ_GROUP),
    "LeaveGroup v2": Row(lambda: member(LeaveGroupRequest, 2), READ_GROUP),
    "LeaveGroup": Row(lambda: LeaveGroupRequest(version=4, group_id="g", members=[]), READ_GROUP),
    "DescribeGroups": Row(
        lambda: DescribeGroupsRequest(version=5, groups=["g"]), {"DESCRIBE group g": GROUP_REFUSED}
    ),
    "ListGroups": Row(lambda: ListGroupsRequest(version=3), {}),
    "DeleteGroups": Row(
        lambda: DeleteGroupsRequest(version=2, groups_names=["g"]), {"DELETE group g": GROUP_REFUSED}
    ),
    "CreateTopics": Row(create_topics, {"CREATE topic new": TOPIC_REFUSED}),
    "CreateTopics by the cluster's right": Row(
        create_topics, {"CREATE cluster kafka-cluster": TOPIC_REFUSED}
    ),
    "CreatePartitions": Row(create_partitions, {"ALTER topic orders": TOPIC_REFUSED}),
    "DeleteTopics": Row(delete_topics, {"DELETE topic orders": TOPIC_REFUSED}),
    "DeleteTopics by the cluster's right": Row(
        lambda: delete_topics(6), {"ALL cluster kafka-cluster": TOPIC_REFUSED}
    ),
    "DescribeConfigs of a topic": Row(
        lambda: describe_configs(2, "orders"), {"DESCRIBE_CONFIGS topic orders": TOPIC_REFUSED}
    ),
    "DescribeConfigs of a broker": Row(
        lambda: describe_configs(4, "1"), {"DESCRIBE_CONFIGS cluster kafka-cluster": CLUSTER_REFUSED}
    ),
    "DescribeConfigs of a group": Row(
        lambda: describe_configs(32, "g"), {"DESCRIBE_CONFIGS group g": GROUP_REFUSED}
    ),
    "IncrementalAlterConfigs of a topic": Row(
        lambda: alter_configs(2, "orders"), {"ALTER_CONFIGS topic orders": TOPIC_REFUSED}
    ),
    "IncrementalAlterConfigs of a broker": Row(
        lambda: alter_configs(4, "1"), {"ALTER_CONFIGS cluster kafka-cluster": CLUSTER_REFUSED}
    ),
    "IncrementalAlterConfigs of a group": Row(
        lambda: alter_configs(32, "g"), {"ALTER_CONFIGS group g": GROUP_REFUSED}
    ),
    "InitProducerId": Row(lambda: init_producer_id("tx"), WRITE_TX),
    "InitProducerId without a transaction": Row(
        lambda: init_producer_id(None), {"IDEMPOTENT_WRITE cluster kafka-cluster": CLUSTER_REFUSED}
    ),
    "InitProducerId of who may write": Row(
        lambda: init_producer_id(None), {"WRITE topic o prefixed": CLUSTER_REFUSED}
    ),
    "AddPartitionsToTxn": Row(add_partitions, WRITE_TX | WRITE_TOPIC),
    "AddOffsetsToTxn": Row(
        lambda: AddOffsetsToTxnRequest(
            version=3, transactional_id="tx", producer_id=1, producer_epoch=0, group_id="g"
        ),
        WRITE_TX | READ_GROUP,
    ),
    "EndTxn": Row(
        lambda: EndTxnRequest(
            version=3, transactional_id="tx", producer_id=1, producer_epoch=0, committed=True
        ),
        WRITE_TX,
    ),
}
