"""The APIs a node supports, and their versions: Kafka 4.3's, as far as kafka-python's codec goes."""

from typing import Final

from kafka.protocol.admin import cluster, configs, groups, topics
from kafka.protocol.consumer import fetch, group, offsets
from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)
from kafka.protocol.producer import produce, transaction
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from kgroup.protocol.requests.coordinator import CommitPartition, FetchedOffset, PartitionResult
from kgroup.wire import consumer_group_messages as messages
from kgroup.wire.frames import Api

PRODUCE: Final = 0
FETCH: Final = 1
LIST_OFFSETS: Final = 2
METADATA: Final = 3
OFFSET_COMMIT: Final = 8
OFFSET_FETCH: Final = 9
FIND_COORDINATOR: Final = 10
JOIN_GROUP: Final = 11
HEARTBEAT: Final = 12
LEAVE_GROUP: Final = 13
SYNC_GROUP: Final = 14
DESCRIBE_GROUPS: Final = 15
LIST_GROUPS: Final = 16
SASL_HANDSHAKE: Final = 17
API_VERSIONS: Final = 18
CREATE_TOPICS: Final = 19
DELETE_TOPICS: Final = 20
DELETE_RECORDS: Final = 21
INIT_PRODUCER_ID: Final = 22
OFFSET_FOR_LEADER_EPOCH: Final = 23
ADD_PARTITIONS_TO_TXN: Final = 24
ADD_OFFSETS_TO_TXN: Final = 25
END_TXN: Final = 26
TXN_OFFSET_COMMIT: Final = 28
DESCRIBE_CONFIGS: Final = 32
SASL_AUTHENTICATE: Final = 36
CREATE_PARTITIONS: Final = 37
DELETE_GROUPS: Final = 42
INCREMENTAL_ALTER_CONFIGS: Final = 44
LIST_PARTITION_REASSIGNMENTS: Final = 46
OFFSET_DELETE: Final = 47
DESCRIBE_CLUSTER: Final = 60
CONSUMER_GROUP_HEARTBEAT: Final = 68
CONSUMER_GROUP_DESCRIBE: Final = 69
DESCRIBE_TOPIC_PARTITIONS: Final = 75

_ROWS: Final = {
    "OffsetCommitRequestPartition": CommitPartition,
    "TxnOffsetCommitRequestPartition": CommitPartition,
    "OffsetCommitResponsePartition": PartitionResult,
    "TxnOffsetCommitResponsePartition": PartitionResult,
    "OffsetDeleteResponsePartition": PartitionResult,
    "OffsetFetchResponsePartition": FetchedOffset,
    "OffsetFetchResponsePartitions": FetchedOffset,
}
"""The structs that come by the hundred in one request, and the tuples that they are."""

_SPOKEN: Final = (
    # librdkafka wants to see version 0 of Produce, though it never sends it (KAFKA-18659).
    Api(produce.ProduceRequest, produce.ProduceResponse, 3, 13, advertised_lowest=0),
    Api(fetch.FetchRequest, fetch.FetchResponse, 4, 18),
    Api(offsets.ListOffsetsRequest, offsets.ListOffsetsResponse, 1, 11),
    Api(MetadataRequest, MetadataResponse, 0, 13),
    Api(group.OffsetCommitRequest, group.OffsetCommitResponse, 2, 10, rows=_ROWS),
    Api(group.OffsetFetchRequest, group.OffsetFetchResponse, 1, 10, rows=_ROWS),
    Api(FindCoordinatorRequest, FindCoordinatorResponse, 0, 6),
    Api(group.JoinGroupRequest, group.JoinGroupResponse, 0, 9, rows=_ROWS),
    Api(group.HeartbeatRequest, group.HeartbeatResponse, 0, 4, rows=_ROWS),
    Api(group.LeaveGroupRequest, group.LeaveGroupResponse, 0, 5, rows=_ROWS),
    Api(group.SyncGroupRequest, group.SyncGroupResponse, 0, 5, rows=_ROWS),
    Api(groups.DescribeGroupsRequest, groups.DescribeGroupsResponse, 0, 6),
    Api(groups.ListGroupsRequest, groups.ListGroupsResponse, 0, 5),
    Api(SaslHandshakeRequest, SaslHandshakeResponse, 0, 1),
    Api(ApiVersionsRequest, ApiVersionsResponse, 0, 4),
    Api(topics.CreateTopicsRequest, topics.CreateTopicsResponse, 2, 7),
    Api(topics.DeleteTopicsRequest, topics.DeleteTopicsResponse, 1, 6),
    Api(topics.DeleteRecordsRequest, topics.DeleteRecordsResponse, 0, 2),
    Api(transaction.InitProducerIdRequest, transaction.InitProducerIdResponse, 0, 5),
    Api(offsets.OffsetForLeaderEpochRequest, offsets.OffsetForLeaderEpochResponse, 2, 4),
    Api(transaction.AddPartitionsToTxnRequest, transaction.AddPartitionsToTxnResponse, 0, 3),
    Api(transaction.AddOffsetsToTxnRequest, transaction.AddOffsetsToTxnResponse, 0, 4),
    Api(transaction.EndTxnRequest, transaction.EndTxnResponse, 0, 5),
    Api(transaction.TxnOffsetCommitRequest, transaction.TxnOffsetCommitResponse, 0, 5, rows=_ROWS),
    Api(configs.DescribeConfigsRequest, configs.DescribeConfigsResponse, 1, 4),
    Api(SaslAuthenticateRequest, SaslAuthenticateResponse, 0, 2),
    Api(topics.CreatePartitionsRequest, topics.CreatePartitionsResponse, 0, 3),
    Api(groups.DeleteGroupsRequest, groups.DeleteGroupsResponse, 0, 2),
    Api(configs.IncrementalAlterConfigsRequest, configs.IncrementalAlterConfigsResponse, 0, 1),
    Api(topics.ListPartitionReassignmentsRequest, topics.ListPartitionReassignmentsResponse, 0, 0),
    Api(group.OffsetDeleteRequest, group.OffsetDeleteResponse, 0, 0, rows=_ROWS),
    Api(cluster.DescribeClusterRequest, cluster.DescribeClusterResponse, 0, 2),
    Api(messages.ConsumerGroupHeartbeatRequest, messages.ConsumerGroupHeartbeatResponse, 0, 1, rows=_ROWS),
    Api(messages.ConsumerGroupDescribeRequest, messages.ConsumerGroupDescribeResponse, 0, 1),
    Api(topics.DescribeTopicPartitionsRequest, topics.DescribeTopicPartitionsResponse, 0, 0),
)
APIS: Final = {api.key: api for api in _SPOKEN}
