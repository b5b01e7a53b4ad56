"""A member through several rounds: what of an earlier life may not reach the next one, and what has to.

The rules are those of AbstractCoordinator, ConsumerCoordinator and SubscriptionState of Kafka 4.3.1.
"""

from kgroup.group.member.identity import MemberState
from kgroup.group.member.positions import Position, PositionState
from kgroup.group.member.settings import OffsetReset
from kgroup.group.member.step import Poll, Subscribe, Unsubscribe
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.requests.client import (
    CommittedOffset,
    Fetch,
    FetchedRecord,
    FindCoordinator,
    FindCoordinatorResponse,
    ListOffsets,
    Metadata,
    MetadataResponse,
    Node,
    OffsetFetch,
    OffsetFetchResponse,
    PartitionMetadata,
    TopicMetadata,
)
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    OffsetCommit,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.protocol.subscription import decode_subscription
from tests.group.member.member_world import BROKER, MEMBER_ID, MemberWorld, assignment, stable

FIRST = ("orders", 0)


def subscribed(**settings: object) -> MemberWorld:
    world = MemberWorld(**settings)
    world.subscribe()
    return world


def committed(*offsets: int) -> OffsetFetchResponse:
    return OffsetFetchResponse(
        offsets=tuple(
            CommittedOffset(partition=("orders", number), offset=offset)
            for number, offset in enumerate(offsets)
        )
    )


# ---- answers of an earlier generation -----------------------------------------------------------------


def test_committed_offsets_fetched_for_the_assignment_before_are_not_taken() -> None:
    world = subscribed()
    world.settle(OffsetFetch)
    assert len(world.waiting(OffsetFetch)) == 1
    world.member_is_told_to_rejoin()
    world.settle(OffsetFetch)
    assert world.member.generation == 2
    # The one of generation 1 has no answer yet: meanwhile another owner may have committed 7.
    assert len(world.waiting(OffsetFetch)) == 2
    world.answer(OffsetFetch, committed(3, 3))
    assert {each.state for each in world.member.positions.values()} == {PositionState.INITIALIZING}
    world.answer(OffsetFetch, committed(7, 7))
    assert {each.position for each in world.member.positions.values()} == {7}


def test_the_answer_to_a_heartbeat_of_before_the_join_says_nothing() -> None:
    world = stable()
    world.member_is_told_to_rejoin()
    world.advance(3000)
    assert world.waiting(Heartbeat)
    world.do(Poll())
    [join] = world.waiting(JoinGroup)
    world.answer(Heartbeat, HeartbeatResponse(error_code=E.UNKNOWN_MEMBER_ID))
    assert (world.member.state, world.member.member_id) == (MemberState.PREPARING_REBALANCE, MEMBER_ID)
    assert world.waiting(JoinGroup) == [join]


def test_the_answer_to_the_join_of_a_life_before_says_nothing() -> None:
    world = subscribed()
    world.settle(JoinGroup)
    world.answer(JoinGroup, JoinGroupResponse(error_code=E.MEMBER_ID_REQUIRED, member_id=MEMBER_ID))
    world.do(Poll())
    world.do(Unsubscribe())
    world.do(Subscribe(topics=("orders",)))
    world.answer(
        JoinGroup,
        JoinGroupResponse(generation_id=5, protocol_name="range", leader="other", member_id=MEMBER_ID),
    )
    assert (world.member.state, world.member.generation) == (MemberState.UNJOINED, -1)
    assert not world.waiting(SyncGroup)


# ---- heartbeats ---------------------------------------------------------------------------------------


def test_heartbeats_go_on_between_the_sync_and_the_poll_that_takes_its_share() -> None:
    world = subscribed()
    world.settle(SyncGroup)
    world.answer(SyncGroup, SyncGroupResponse(assignment=assignment(FIRST)))
    world.advance(3000)
    assert len(world.waiting(Heartbeat)) == 1


def test_heartbeats_go_on_while_the_leader_assigns() -> None:
    world = subscribed()
    world.settle(SyncGroup)
    assert world.member.state is MemberState.COMPLETING_REBALANCE
    world.advance(2999)
    assert not world.waiting(Heartbeat)
    world.advance(1)
    assert len(world.waiting(Heartbeat)) == 1


def test_a_coordinator_that_says_that_a_round_is_on_is_not_silent() -> None:
    world = stable(session_timeout_ms=9000, heartbeat_interval_ms=3000)
    world.advance(3000)
    world.advance(5000)
    world.answer(Heartbeat, HeartbeatResponse(error_code=E.REBALANCE_IN_PROGRESS))
    world.advance(8999)
    assert not world.waiting(FindCoordinator)
    world.advance(1)
    assert world.waiting(FindCoordinator)


# ---- pauses -------------------------------------------------------------------------------------------


def joins_after(world: MemberWorld, pause_ms: int) -> None:
    """The next join goes out after this pause and not before; jitter is in the middle."""
    world.advance(pause_ms - 1)
    world.do(Poll())
    assert not world.waiting(JoinGroup)
    world.advance(1)
    world.do(Poll())
    assert len(world.waiting(JoinGroup)) == 1


LOADING = JoinGroupResponse(error_code=E.COORDINATOR_LOAD_IN_PROGRESS)


def test_refusals_in_a_row_cost_longer_pauses_and_a_generation_ends_the_row() -> None:
    world = subscribed(retry_backoff_ms=100)
    world.settle(JoinGroup)
    for pause_ms in (100, 200, 400):
        world.answer(JoinGroup, LOADING)
        joins_after(world, pause_ms)
    world.settle(Fetch)
    assert world.member.state is MemberState.STABLE
    world.member_is_told_to_rejoin()
    world.do(Poll())
    world.answer(JoinGroup, LOADING)
    joins_after(world, 100)


def test_a_join_whose_connection_breaks_is_made_again_after_a_pause() -> None:
    world = subscribed(retry_backoff_ms=100)
    world.settle(JoinGroup)
    world.break_off(JoinGroup)
    world.answer(FindCoordinator, FindCoordinatorResponse(node=BROKER))
    joins_after(world, 100)


# ---- what goes on from one generation to the next -----------------------------------------------------


def test_a_sticky_member_tells_the_next_leader_what_it_had() -> None:
    world = subscribed(partition_assignment_strategy=("sticky",))
    world.settle(JoinGroup, rounds=3)
    [join] = world.waiting(JoinGroup)
    assert decode_subscription(join.protocols[0][1]).user_data is None
    world.settle(Fetch)
    world.member_is_told_to_rejoin()
    world.do(Poll())
    [join] = world.waiting(JoinGroup)
    assert b"orders" in (decode_subscription(join.protocols[0][1]).user_data or b"")


def test_auto_commit_waits_a_whole_interval_from_the_assignment_on() -> None:
    world = subscribed(enable_auto_commit=True, auto_commit_interval_ms=5000)
    world.settle(SyncGroup)
    world.advance(6000)
    world.answer(SyncGroup, SyncGroupResponse(assignment=assignment(FIRST)))
    assert list(world.do(Poll()).commits) == []
    world.settle(Fetch, rounds=2)
    world.advance(4999)
    world.do(Poll())
    assert not world.waiting(OffsetCommit)
    world.advance(1)
    world.do(Poll())
    assert world.waiting(OffsetCommit)


def test_a_committed_offset_of_0_is_one() -> None:
    world = subscribed(auto_offset_reset=OffsetReset.LATEST)
    world.committed = {("orders", 0): 0, ("orders", 1): 0}
    world.settle(Fetch, ListOffsets)
    assert not world.waiting(ListOffsets)
    assert {each.position for each in world.member.positions.values()} == {0}


def test_brokers_that_moved_are_those_of_the_newest_metadata() -> None:
    world = stable()
    moved = Node(node_id=2, host="moved", port=9093)
    world.answer_usually()
    world.do(Poll())
    world.advance(300_000)
    world.sent = [send for send in world.sent if isinstance(send.body, Metadata)]
    partitions = tuple(PartitionMetadata(partition=number, leader=2) for number in range(2))
    topic = TopicMetadata(name="orders", partitions=partitions)
    world.answer(Metadata, MetadataResponse(nodes=(moved,), topics=(topic,)))
    world.do(Poll())
    assert {send.host for send in world.sent if isinstance(send.body, Fetch)} <= {"moved"}
    world.member._view.refresh()
    assert world.member._view.nodes == (moved,)
    assert world.member._view.leader(FIRST) == moved


# ---- positions ----------------------------------------------------------------------------------------


def record(offset: int) -> FetchedRecord:
    return FetchedRecord(offset=offset, timestamp_ms=0, key=None, value=b"")


def test_a_position_moves_behind_each_record_that_was_handed_out() -> None:
    position = Position()
    position.move_to(5)
    position.take_fetched([record(offset) for offset in (3, 4, 5, 6, 8)], 12)
    assert position.position == 5
    assert [each.offset for each in position.hand_out(2)] == [5, 6]
    assert position.position == 7
    assert [each.offset for each in position.hand_out(2)] == [8]
    # The offsets 9 to 11 hold markers or were cleaned away.
    assert (position.position, position.fetched_to) == (12, None)


def test_a_position_moves_over_a_batch_without_records() -> None:
    position = Position()
    position.move_to(5)
    position.take_fetched([], 9)
    assert (position.position, position.fetched_to) == (9, None)


def test_a_member_tells_its_rack() -> None:
    """KIP-881: version 3 of the subscription has it."""
    for rack in ("west", None):
        world = subscribed(client_rack=rack)
        world.settle(JoinGroup)
        [join] = world.waiting(JoinGroup)
        assert decode_subscription(join.protocols[0][1]).rack == rack
