"""A member's requests in every version it speaks, to a node: whatever the version, it learns the same."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.producer.transaction import TxnOffsetCommitRequest

from kgroup.broker.cluster import OFFSETS_TOPIC
from kgroup.broker.partition import Partition
from kgroup.errors import SourceError
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.records.entries import TransactionMarker
from kgroup.protocol.requests.client import (
    CommittedOffset,
    Fetch,
    FetchedRecord,
    FetchResponse,
    FindCoordinator,
    FindCoordinatorResponse,
    ListedOffset,
    ListOffsets,
    ListOffsetsResponse,
    MemberRequest,
    MemberResponse,
    Metadata,
    MetadataResponse,
    Node,
    OffsetFetch,
    OffsetFetchResponse,
)
from kgroup.protocol.requests.consumer_group import (
    ConsumerAssignment,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kgroup.protocol.requests.coordinator import (
    CommitPartition,
    CommitTopic,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    LeavingMember,
    OffsetCommit,
    OffsetCommitResponse,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.protocol.subscription import Subscription, encode_subscription
from kgroup.wire.member_requests import API_KEYS, SPOKEN, api_of, choose_version, write_request
from kgroup.wire.member_responses import read_response
from tests.broker.world import BrokerWorld

SUBSCRIPTION = encode_subscription(Subscription(topics=("orders",)))
NODE = Node(node_id=1, host="127.0.0.1", port=9001)


def versions(api: str, lowest: int = 0) -> range:
    first, last = SPOKEN[api]
    return range(max(first, lowest), last + 1)


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld()
    assert world.cluster.create_topic("orders", 2, 1, {}, world.now_ms) is E.NONE
    return world


def partition(world: BrokerWorld) -> Partition:
    partition = world.cluster.partition("orders", 0)
    assert partition is not None
    return partition


def batch(*values: bytes, **more: Any) -> bytes:
    records = [
        LogRecord(offset=number, timestamp_ms=7 + number, key=None, value=value)
        for number, value in enumerate(values)
    ]
    return encode_batch(records, **more)


def ask(world: BrokerWorld, body: MemberRequest, version: int) -> MemberResponse:
    return read_response(body, version, world.ask(write_request(body, version)))


# ---- which version --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lowest", "highest", "chosen"),
    [(0, 3, 3), (0, 9, 9), (0, 11, 9), (9, 11, 9), (2, 2, 2)],
)
def test_the_highest_version_that_both_sides_speak(lowest: int, highest: int, chosen: int) -> None:
    assert choose_version("OffsetCommit", lowest, highest) == chosen


@pytest.mark.parametrize(("lowest", "highest"), [(0, 1), (10, 11)])
def test_no_version_in_common_is_an_error_with_both_ranges(lowest: int, highest: int) -> None:
    with pytest.raises(SourceError, match=f"OffsetCommit {lowest} to {highest}, and a member 2 to 9"):
        choose_version("OffsetCommit", lowest, highest)


def test_every_request_of_a_member_has_versions_and_a_key() -> None:
    assert set(API_KEYS) == set(SPOKEN)
    assert api_of(FindCoordinator(key="g")) == "FindCoordinator"
    assert API_KEYS["FindCoordinator"] == 10


# ---- the cluster ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", versions("FindCoordinator"))
def test_the_coordinator(world: BrokerWorld, version: int) -> None:
    answer = ask(world, FindCoordinator(key="g"), version)
    assert answer == FindCoordinatorResponse(node=NODE)


@pytest.mark.parametrize("version", versions("FindCoordinator", lowest=1))
def test_a_key_of_no_known_kind_has_no_coordinator(world: BrokerWorld, version: int) -> None:
    answer = ask(world, FindCoordinator(key="g", key_type=7), version)
    assert answer == FindCoordinatorResponse(error_code=E.INVALID_REQUEST, node=None)


@pytest.mark.parametrize("version", versions("Metadata"))
def test_topics_and_brokers(world: BrokerWorld, version: int) -> None:
    request = Metadata(topics=("orders", "not/a/name"))
    answer = ask(world, request, version)
    assert isinstance(answer, MetadataResponse)
    assert answer.nodes == (NODE,)
    orders, refused = answer.topics
    assert (orders.name, orders.error_code, orders.is_internal) == ("orders", E.NONE, False)
    assert [(each.partition, each.leader, each.replicas) for each in orders.partitions] == [
        (0, 1, (1,)),
        (1, 1, (1,)),
    ]
    assert (refused.name, refused.error_code) == ("not/a/name", E.INVALID_TOPIC_EXCEPTION)
    everything = ask(world, Metadata(topics=None), version)
    assert isinstance(everything, MetadataResponse)
    assert [topic.name for topic in everything.topics] == ["orders"]


@pytest.mark.parametrize("version", versions("Metadata", lowest=4))
def test_a_member_that_asks_for_a_topic_does_not_make_it(world: BrokerWorld, version: int) -> None:
    ask(world, Metadata(topics=("bills",)), version)
    assert "bills" not in world.cluster.topics


# ---- the group ------------------------------------------------------------------------------------


def join(member_id: str = "", group_id: str = "g") -> JoinGroup:
    return JoinGroup(
        group_id=group_id,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id=member_id,
        group_instance_id=None,
        protocol_type="consumer",
        protocols=(("range", SUBSCRIPTION),),
        reason="a test",
    )


def joined(world: BrokerWorld, version: int = 4) -> str:
    """The id of a member that is alone in generation 1."""
    first = ask(world, join(), version)
    assert isinstance(first, JoinGroupResponse)
    if first.error_code is E.MEMBER_ID_REQUIRED:
        first = ask(world, join(first.member_id), version)
        assert isinstance(first, JoinGroupResponse)
    assert (first.error_code, first.generation_id, first.protocol_name) == (E.NONE, 1, "range")
    assert [(each.member_id, each.metadata) for each in first.members] == [(first.member_id, SUBSCRIPTION)]
    assert first.leader == first.member_id
    return first.member_id


def sync(member_id: str, generation_id: int = 1) -> SyncGroup:
    return SyncGroup(
        group_id="g",
        generation_id=generation_id,
        member_id=member_id,
        group_instance_id=None,
        protocol_type="consumer",
        protocol_name="range",
        assignments=((member_id, b"all"),),
    )


@pytest.mark.parametrize("version", versions("JoinGroup"))
def test_joining(world: BrokerWorld, version: int) -> None:
    assert joined(world, version).startswith("tester-")
    refused = ask(world, join(group_id=""), version)
    assert isinstance(refused, JoinGroupResponse)
    assert (refused.error_code, refused.members) == (E.INVALID_GROUP_ID, [])


@pytest.mark.parametrize("version", versions("SyncGroup"))
def test_syncing(world: BrokerWorld, version: int) -> None:
    member_id = joined(world)
    synced = ask(world, sync(member_id), version)
    assert isinstance(synced, SyncGroupResponse)
    assert (synced.error_code, synced.assignment) == (E.NONE, b"all")
    # The protocol is told from version 5 on (KIP-559).
    protocol = ("consumer", "range") if version >= 5 else (None, None)
    assert (synced.protocol_type, synced.protocol_name) == protocol
    refused = ask(world, sync(member_id, 2), version)
    assert isinstance(refused, SyncGroupResponse)
    assert (refused.error_code, refused.assignment) == (E.ILLEGAL_GENERATION, b"")


@pytest.mark.parametrize("version", versions("Heartbeat"))
def test_heartbeats(world: BrokerWorld, version: int) -> None:
    member_id = joined(world)
    ask(world, sync(member_id), 5)
    alive = Heartbeat(group_id="g", generation_id=1, member_id=member_id, group_instance_id=None)
    assert ask(world, alive, version) == HeartbeatResponse()
    gone = replace(alive, member_id="nobody")
    assert ask(world, gone, version) == HeartbeatResponse(error_code=E.UNKNOWN_MEMBER_ID)


@pytest.mark.parametrize("version", versions("LeaveGroup"))
def test_leaving(world: BrokerWorld, version: int) -> None:
    member_id = joined(world)
    leaving = LeaveGroup(
        group_id="g",
        members=(LeavingMember(member_id=member_id, group_instance_id=None, reason="enough"),),
    )
    left = ask(world, leaving, version)
    assert isinstance(left, LeaveGroupResponse)
    assert left.error_code is E.NONE
    # From version 3 on each member has an error of its own.
    assert [(each.member_id, each.error_code) for each in left.members] == (
        [(member_id, E.NONE)] if version >= 3 else []
    )
    again = ask(world, leaving, version)
    assert isinstance(again, LeaveGroupResponse)
    errors = [again.error_code] if version < 3 else [each.error_code for each in again.members]
    assert errors == [E.UNKNOWN_MEMBER_ID]


# ---- offsets --------------------------------------------------------------------------------------


def commit(*partitions: int) -> OffsetCommit:
    return OffsetCommit(
        group_id="g",
        generation_id=-1,
        member_id="",
        group_instance_id=None,
        retention_time_ms=-1,
        topics=(
            CommitTopic(
                name="orders",
                topic_id=None,
                partitions=tuple(
                    CommitPartition(
                        partition_index=each,
                        committed_offset=5 + each,
                        committed_leader_epoch=-1,
                        committed_metadata="",
                    )
                    for each in partitions
                ),
            ),
        ),
    )


@pytest.mark.parametrize("version", versions("OffsetCommit"))
def test_committing(world: BrokerWorld, version: int) -> None:
    done = ask(world, commit(0, 7), version)
    assert isinstance(done, OffsetCommitResponse)
    [topic] = done.topics
    assert topic.name == "orders"
    assert [(each.partition_index, each.error_code) for each in topic.partitions] == [
        (0, E.NONE),
        (7, E.UNKNOWN_TOPIC_OR_PARTITION),
    ]


@pytest.mark.parametrize("version", versions("OffsetFetch"))
def test_committed_offsets(world: BrokerWorld, version: int) -> None:
    ask(world, commit(0), 8)
    answer = ask(world, OffsetFetch(group_id="g", topics=(("orders", (0, 1)),)), version)
    assert answer == OffsetFetchResponse(
        offsets=(
            CommittedOffset(partition=("orders", 0), offset=5),
            CommittedOffset(partition=("orders", 1), offset=-1),
        )
    )


@pytest.mark.parametrize("version", versions("OffsetFetch"))
def test_an_offset_that_a_transaction_is_about_to_move_is_not_taken(world: BrokerWorld, version: int) -> None:
    """KIP-447: from version 7 on the member is told to ask again; before, nobody could tell it."""
    ask(world, commit(0), 8)
    transactions = world.cluster.transactions
    copier = transactions.init_producer_id("copier", 30_000, (-1, -1), world.now_ms)
    producer = (copier.producer_id, copier.producer_epoch)
    of_group = (OFFSETS_TOPIC, world.cluster.offsets_partition("g"))
    transactions.add_partitions("copier", producer, [of_group], world.now_ms)
    moved = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    parts = [moved.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=9)]
    request = TxnOffsetCommitRequest(
        version=3,
        transactional_id="copier",
        group_id="g",
        producer_id=producer[0],
        producer_epoch=producer[1],
        topics=[moved(name="orders", partitions=parts)],
    )
    assert world.ask(request).topics[0].partitions[0].error_code == E.NONE
    answer = ask(world, OffsetFetch(group_id="g", topics=(("orders", (0,)),)), version)
    assert isinstance(answer, OffsetFetchResponse)
    [committed] = answer.offsets
    expected = (-1, E.UNSTABLE_OFFSET_COMMIT) if version >= 7 else (5, E.NONE)
    assert (committed.offset, committed.error_code) == expected


# ---- records --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", versions("ListOffsets"))
def test_the_ends_of_a_log(world: BrokerWorld, version: int) -> None:
    partition(world).append(batch(b"a", b"b"))
    offsets = []
    for timestamp in (-2, -1):
        answer = ask(world, ListOffsets(partitions=(("orders", 0),), timestamp=timestamp), version)
        assert isinstance(answer, ListOffsetsResponse)
        offsets.append(answer.offsets)
    assert offsets == [
        (ListedOffset(partition=("orders", 0), offset=0),),
        (ListedOffset(partition=("orders", 0), offset=2),),
    ]


def fetch(offset: int) -> Fetch:
    return Fetch(
        offsets=((("orders", 0), offset),),
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        partition_max_bytes=1 << 20,
    )


@pytest.mark.parametrize("version", versions("Fetch"))
def test_records_come_in_whole_batches(world: BrokerWorld, version: int) -> None:
    partition(world).append(batch(b"a", b"b"))
    answer = ask(world, fetch(1), version)
    assert isinstance(answer, FetchResponse)
    [fetched] = answer.partitions
    assert (fetched.partition, fetched.error_code) == (("orders", 0), E.NONE)
    assert (fetched.high_watermark, fetched.next_offset) == (2, 2)
    assert fetched.records == (
        FetchedRecord(offset=0, timestamp_ms=7, key=None, value=b"a"),
        FetchedRecord(offset=1, timestamp_ms=8, key=None, value=b"b"),
    )


@pytest.mark.parametrize("version", versions("Fetch"))
def test_an_offset_that_is_not_there_is_refused(world: BrokerWorld, version: int) -> None:
    answer = ask(world, fetch(9), version)
    assert isinstance(answer, FetchResponse)
    [fetched] = answer.partitions
    assert (fetched.error_code, fetched.records, fetched.next_offset) == (E.OFFSET_OUT_OF_RANGE, (), None)


def test_a_transactions_marker_is_no_record_and_moves_the_position(world: BrokerWorld) -> None:
    marker = TransactionMarker(producer_id=5, producer_epoch=0, committed=True, coordinator_epoch=0)
    partition(world).append_marker(marker, world.now_ms)
    answer = ask(world, fetch(0), 12)
    assert isinstance(answer, FetchResponse)
    [fetched] = answer.partitions
    assert (fetched.records, fetched.next_offset) == ((), 1)


def a_log_with_transactions(world: BrokerWorld) -> None:
    """Producer 5 aborts a, producer 6 commits b, 5 commits c, 6 leaves d open; e is no transaction's."""
    log = partition(world)

    def mark(producer_id: int, committed: bool) -> None:
        log.append_marker(
            TransactionMarker(
                producer_id=producer_id, producer_epoch=0, committed=committed, coordinator_epoch=0
            ),
            world.now_ms,
        )

    def append(producer_id: int, value: bytes) -> None:
        log.append(batch(value, transactional=True, producer_id=producer_id, producer_epoch=0))

    append(5, b"a")
    append(6, b"b")
    mark(5, committed=False)
    append(5, b"c")
    mark(6, committed=True)
    mark(5, committed=True)
    log.append(batch(b"e"))
    append(6, b"d")
    log.append(batch(b"f"))


@pytest.mark.parametrize(
    ("read_committed", "values", "next_offset"),
    [(False, [b"a", b"b", b"c", b"e", b"d", b"f"], 9), (True, [b"b", b"c", b"e"], 7)],
)
@pytest.mark.parametrize("version", versions("Fetch"))
def test_a_reader_of_committed_records_gets_no_others(
    world: BrokerWorld, version: int, read_committed: bool, values: list[bytes], next_offset: int
) -> None:
    """KIP-98: aborted ones are left out, and what lies beyond the first open transaction waits."""
    a_log_with_transactions(world)
    answer = ask(world, replace(fetch(0), read_committed=read_committed), version)
    assert isinstance(answer, FetchResponse)
    [fetched] = answer.partitions
    assert [record.value for record in fetched.records] == values
    assert fetched.next_offset == next_offset


@pytest.mark.parametrize("version", [each for each in versions("ListOffsets") if each >= 2])
@pytest.mark.parametrize(("read_committed", "end"), [(False, 9), (True, 7)])
def test_the_end_for_a_reader_of_committed_records_is_the_last_stable_offset(
    world: BrokerWorld, version: int, read_committed: bool, end: int
) -> None:
    a_log_with_transactions(world)
    request = ListOffsets(partitions=(("orders", 0),), timestamp=-1, read_committed=read_committed)
    answer = ask(world, request, version)
    assert isinstance(answer, ListOffsetsResponse)
    assert [each.offset for each in answer.offsets] == [end]


@pytest.mark.parametrize("version", versions("ConsumerGroupHeartbeat"))
def test_heartbeats_of_the_consumer_protocol(world: BrokerWorld, version: int) -> None:
    joining = ConsumerGroupHeartbeat(
        group_id="new",
        member_id="m-1",
        member_epoch=0,
        instance_id="shop",
        rack_id="r1",
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=(),
        subscribed_topic_regex="ord.*",
        server_assignor="range",
        topic_partitions=(),
    )
    joined = ask(world, joining, version)
    assert isinstance(joined, ConsumerGroupHeartbeatResponse)
    assert (joined.error_code, joined.member_id, joined.member_epoch) == (E.NONE, "m-1", 1)
    assert joined.assignment == ConsumerAssignment(topic_partitions=[])
    [member] = world.cluster.coordinator("new", 1, 0).coordinator.describe_consumer_group("new").members
    assert (member.instance_id, member.rack_id, member.subscribed_topic_regex) == ("shop", "r1", "ord.*")
    claiming = joining._replace(topic_partitions=((UUID(int=7), (0, 1)),), member_epoch=9)
    refused = ask(world, claiming, version)
    assert isinstance(refused, ConsumerGroupHeartbeatResponse)
    assert (refused.error_code, refused.assignment) == (E.FENCED_MEMBER_EPOCH, None)
    assert refused.error_message is not None
