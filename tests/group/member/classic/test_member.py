"""The member's rules, one by one: no clock, no network, every answer by hand."""

from dataclasses import replace

import pytest

from kgroup.errors import InputError
from kgroup.group.member.classic.member import ClassicMember
from kgroup.group.member.identity import MEMBER_TRANSITIONS, Identity, MemberState
from kgroup.group.member.one_user import SingleUser
from kgroup.group.member.outbox import COORDINATOR_CONNECTION, Backoff
from kgroup.group.member.positions import SubscriptionKind
from kgroup.group.member.settings import MemberSettings
from kgroup.group.member.step import (
    Answered,
    Assign,
    CallbackKind,
    Close,
    Poll,
    Subscribe,
    SubscribePattern,
    Unsubscribe,
    UseError,
)
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import (
    Fetch,
    FindCoordinator,
    FindCoordinatorResponse,
    Metadata,
    Node,
)
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    OffsetCommit,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.protocol.subscription import decode_subscription
from tests.group.member.member_world import MEMBER_ID, MemberWorld, assignment, stable, wait_ms

BOTH = (("orders", 0), ("orders", 1))


# ---- subscriptions --------------------------------------------------------------------------------

KINDS = {
    SubscriptionKind.TOPICS: Subscribe(topics=("orders",)),
    SubscriptionKind.PATTERN: SubscribePattern(pattern="or.*"),
    SubscriptionKind.USER_ASSIGNED: Assign(partitions=(("orders", 0),)),
}


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_kinds_of_subscription_exclude_each_other(first: SubscriptionKind, second: SubscriptionKind) -> None:
    world = MemberWorld()
    assert world.member.subscription_kind is SubscriptionKind.NONE
    world.do(KINDS[first])
    if first is second:
        world.do(KINDS[second])
    else:
        with pytest.raises(UseError, match="exclude each other"):
            world.do(KINDS[second])
        assert world.member.subscription_kind is first
        world.do(Unsubscribe())
        world.do(KINDS[second])
    assert world.member.subscription_kind is second


def test_polling_without_a_subscription_is_an_error() -> None:
    with pytest.raises(UseError, match="not subscribed"):
        MemberWorld().do(Poll())


def test_a_pattern_takes_whole_names_and_no_internal_topics() -> None:
    world = MemberWorld()
    world.topics |= {"orders-2": 1, "my-orders": 1, "__consumer_offsets": 50}
    world.do(SubscribePattern(pattern="(orders|__).*"))
    world.settle(Fetch)
    assert set(world.partitions()) == {*BOTH, ("orders-2", 0)}


def test_user_assigned_partitions_are_read_without_joining() -> None:
    world = MemberWorld()
    world.committed["orders", 1] = 4
    world.do(Assign(partitions=BOTH))
    world.settle(Fetch, rounds=5)
    assert not world.waiting(JoinGroup)
    assert [position.position for position in world.member.positions.values()] == [0, 4]


def test_one_user_at_a_time() -> None:
    guard = SingleUser()
    with guard.using("a"):
        with guard.using("a"):  # a callback calls back in
            pass
        with pytest.raises(UseError, match="one at a time"), guard.using("b"):
            pass
    with guard.using("b"):
        pass


# ---- states ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", MemberState)
@pytest.mark.parametrize("end", MemberState)
def test_states_change_along_the_table_only(start: MemberState, end: MemberState) -> None:
    identity = Identity(state=start)
    if start is end or end in MEMBER_TRANSITIONS[start]:
        identity.move(end)
        assert identity.state is end
    else:
        with pytest.raises(AssertionError):
            identity.move(end)


def test_a_join_goes_through_every_state() -> None:
    world = MemberWorld()
    seen = [world.member.state]
    world.subscribe()
    for _ in range(8):
        world.do(Poll())
        seen.append(world.member.state)
        if world.sent and not world.waiting(Fetch):
            send = world.sent.pop(0)
            world.do(Answered(request_id=send.request_id, body=world.usual_answer(send)))
            seen.append(world.member.state)
    order = [state for state, before in zip(seen, [None, *seen], strict=False) if state is not before]
    assert order[:6] == [
        MemberState.UNJOINED,
        MemberState.PREPARING_REBALANCE,
        MemberState.UNJOINED,  # MEMBER_ID_REQUIRED
        MemberState.PREPARING_REBALANCE,
        MemberState.COMPLETING_REBALANCE,
        MemberState.STABLE,
    ]


def test_the_search_for_the_coordinator_goes_to_the_least_loaded_node() -> None:
    nodes = [Node(node_id=-1, host="a", port=1), Node(node_id=-2, host="b", port=1)]
    member = ClassicMember(MemberSettings(group_id="g"), nodes, lambda: 0.0)
    sent = list(member.handle(Subscribe(topics=("orders",)), 0).requests)
    assert [(type(send.body), send.host) for send in sent] == [(FindCoordinator, "b"), (Metadata, "a")]
    # The answer says: not yet. Node a still has a request in flight, so b is asked again.
    refused = FindCoordinatorResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    member.handle(Answered(request_id=sent[0].request_id, body=refused), 0)
    again = member.expire(1000).requests
    assert [(type(send.body), send.host) for send in again] == [(FindCoordinator, "b")]


# ---- preparing ------------------------------------------------------------------------------------


def test_before_it_joins_again_it_commits_then_revokes_and_stops_heartbeats() -> None:
    world = stable(enable_auto_commit=True)
    world.answer_usually()
    world.do(Poll())
    world.callbacks.clear()
    world.advance(3000)
    world.answer(Heartbeat, HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    world.sent.clear()
    world.do(Poll())
    assert world.waiting(OffsetCommit)
    assert not world.callbacks and not world.waiting(JoinGroup)
    world.answer_usually(Fetch)
    world.do(Poll())
    assert [(each.kind, each.partitions) for each in world.callbacks] == [(CallbackKind.REVOKED, BOTH)]
    [join] = world.waiting(JoinGroup)
    assert join.member_id == MEMBER_ID
    world.advance(60_000)
    assert not world.waiting(Heartbeat)
    world.settle(Fetch, rounds=3)
    assert world.callbacks[-1].kind is CallbackKind.ASSIGNED
    world.advance(3000)
    assert world.waiting(Heartbeat)


def test_a_cooperative_member_revokes_only_what_moves_and_joins_again() -> None:
    world = stable(partition_assignment_strategy=("cooperative-sticky",))
    world.callbacks.clear()
    world.advance(3000)
    world.answer(Heartbeat, HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    world.do(Poll())
    assert world.callbacks == []
    [join] = world.waiting(JoinGroup)
    owned = decode_subscription(join.protocols[0][1]).owned_partitions
    assert [(each.topic, each.partitions) for each in owned] == [("orders", (0, 1))]
    world.answer_usually(Fetch, SyncGroup)
    world.answer(SyncGroup, SyncGroupResponse(assignment=assignment(("orders", 0))))
    world.do(Poll())
    assert [(each.kind, each.partitions) for each in world.callbacks] == [
        (CallbackKind.REVOKED, (("orders", 1),)),
        (CallbackKind.ASSIGNED, ()),
    ]
    assert world.waiting(JoinGroup)


def test_eager_unless_every_assignor_is_cooperative() -> None:
    world = stable(partition_assignment_strategy=("cooperative-sticky", "range"))
    world.callbacks.clear()
    world.advance(3000)
    world.answer(Heartbeat, HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    world.do(Poll())
    assert [each.kind for each in world.callbacks] == [CallbackKind.REVOKED]


# ---- living ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("heartbeat_ms", "fits"), [(2000, True), (2001, False), (5999, False)])
def test_three_heartbeats_fit_into_a_session(heartbeat_ms: int, fits: bool) -> None:
    """Advice, as in Kafka's documentation: its consumer takes anything below the session."""
    settings = MemberSettings(group_id="g", session_timeout_ms=6000, heartbeat_interval_ms=heartbeat_ms)
    assert (settings.advice is None) == fits
    if settings.advice is not None:
        assert settings.advice.startswith(f"heartbeat.interval.ms={heartbeat_ms} is more than a third of")


def test_a_heartbeat_comes_before_the_session_ends() -> None:
    """Kafka: Heartbeat, which throws an IllegalArgumentException."""
    with pytest.raises(
        InputError, match=r"heartbeat\.interval\.ms=6000 is not below session\.timeout\.ms=6000"
    ):
        MemberSettings(group_id="g", session_timeout_ms=6000, heartbeat_interval_ms=6000)


def test_a_user_that_stops_polling_leaves_and_has_lost_everything() -> None:
    world = stable(max_poll_interval_ms=10_000)
    world.callbacks.clear()
    for _ in range(3):
        world.advance(3000)
        world.answer_usually(Fetch)
    assert not world.waiting(LeaveGroup)
    world.advance(1000)
    [leave] = world.waiting(LeaveGroup)
    assert leave.members[0].member_id == MEMBER_ID
    assert (world.member.state, world.member.member_id) == (MemberState.UNJOINED, "")
    world.do(Poll())
    assert [(each.kind, each.partitions) for each in world.callbacks] == [(CallbackKind.LOST, BOTH)]
    assert world.waiting(JoinGroup)


def test_a_coordinator_that_is_silent_for_a_session_is_looked_for() -> None:
    world = stable(session_timeout_ms=9000, heartbeat_interval_ms=3000)
    world.advance(3000)
    world.advance(6000)
    assert world.waiting(FindCoordinator)


def test_closing_commits_revokes_and_leaves() -> None:
    world = stable(enable_auto_commit=True)
    world.answer_usually()
    world.do(Poll())
    world.callbacks.clear()
    assert not world.do(Close()).closed
    assert not world.waiting(LeaveGroup)
    world.answer_usually(LeaveGroup, Fetch)
    assert [each.kind for each in world.callbacks] == [CallbackKind.REVOKED]
    [send] = [send for send in world.sent if isinstance(send.body, LeaveGroup)]
    assert world.do(Answered(request_id=send.request_id, body=world.usual_answer(send))).closed
    assert not world.member.positions
    with pytest.raises(UseError, match="closed"):
        world.do(Poll())


def test_a_static_member_closes_without_leaving() -> None:
    world = stable(group_instance_id="till-1")
    assert world.do(Close()).closed
    assert not world.waiting(LeaveGroup)
    assert not world.member.positions


def test_closing_ends_even_when_nobody_answers() -> None:
    world = stable(enable_auto_commit=True)
    world.answer_usually()
    world.do(Poll())
    world.do(Close())
    assert world.advance(30_000).closed


def test_leaving_does_not_wait_behind_a_parked_join() -> None:
    world = MemberWorld()
    world.subscribe()
    world.settle(JoinGroup, rounds=3)
    world.answer(JoinGroup, JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=MEMBER_ID))
    world.do(Poll())
    world.do(Close())
    connections = {type(send.body): send.connection_id for send in world.sent}
    assert connections[JoinGroup] == COORDINATOR_CONNECTION - 1
    assert connections[LeaveGroup] == 1


def test_unsubscribing_revokes_and_leaves() -> None:
    world = stable()
    world.callbacks.clear()
    world.do(Unsubscribe())
    assert [each.kind for each in world.callbacks] == [CallbackKind.REVOKED]
    assert world.waiting(LeaveGroup)
    assert world.member.state is MemberState.UNJOINED


def test_the_leader_notices_new_partitions_and_joins_again() -> None:
    world = stable(metadata_max_age_ms=1000)
    assert world.member.is_leader
    world.topics["orders"] = 3
    world.advance(1000)
    world.settle(Fetch)
    assert set(world.partitions()) == {*BOTH, ("orders", 2)}
    assert world.generation == 2


def test_a_follower_leaves_new_partitions_to_the_leader() -> None:
    world = MemberWorld(metadata_max_age_ms=1000)
    world.subscribe()
    world.settle(JoinGroup, rounds=3)
    for _ in range(2):
        send = next(send for send in world.sent if isinstance(send.body, JoinGroup))
        usual = world.usual_answer(send)
        assert isinstance(usual, JoinGroupResponse)
        world.answer(JoinGroup, replace(usual, leader="somebody", members=[]))
        world.do(Poll())
    world.answer(SyncGroup, SyncGroupResponse(assignment=assignment(*BOTH)))
    world.settle(Fetch)
    assert (world.member.state, world.member.is_leader) == (MemberState.STABLE, False)
    world.topics["orders"] = 3
    world.advance(1000)
    assert world.waiting(Metadata)
    world.settle(Fetch)
    assert (world.member.state, world.generation) == (MemberState.STABLE, 1)


def test_a_leader_that_skips_the_assignment_sends_none() -> None:
    world = MemberWorld(group_instance_id="till-1")
    world.subscribe()
    world.settle(JoinGroup, rounds=2)
    [join] = world.waiting(JoinGroup)
    answer = world.usual_answer(next(send for send in world.sent if isinstance(send.body, JoinGroup)))
    assert isinstance(answer, JoinGroupResponse)
    skipping = JoinGroupResponse(
        generation_id=answer.generation_id,
        protocol_name="range",
        leader=MEMBER_ID,
        member_id=MEMBER_ID,
        members=answer.members,
        skip_assignment=True,
    )
    world.answer(JoinGroup, skipping)
    world.settle(SyncGroup, rounds=1)
    [sync] = world.waiting(SyncGroup)
    assert sync.assignments == ()
    assert join.group_instance_id == "till-1"


def test_backing_off_doubles_up_to_the_maximum() -> None:
    backoff = Backoff(MemberSettings(group_id="g"), lambda: 0.5)
    pauses = []
    for _ in range(6):
        backoff.failed(0)
        pauses.append(backoff.ready_ms)
    assert pauses == [100, 200, 400, 800, 1000, 1000]
    backoff.succeeded()
    assert backoff.is_ready(0)


def test_what_waits_for_something_else_than_time_is_no_deadline() -> None:
    """A fetch failed, and the metadata that says whom to ask now does not come: nothing to wake for."""
    world = stable()
    world.break_off(Fetch)
    for _ in range(3):
        world.advance(200)
    assert world.waiting(Metadata)
    wait = wait_ms(world)
    assert wait is not None
    assert wait > 0


def test_whoever_wants_a_rebalance_gets_one_with_the_next_poll() -> None:
    world = stable()
    world.member.enforce_rebalance()
    world.do(Poll())
    [join] = world.waiting(JoinGroup)
    assert join.reason == "rebalance enforced by user"


def test_a_pause_that_is_over_is_no_deadline_whatever_ended_it() -> None:
    """The time of a user's call counts like that of a timer: else whoever waits would wake at once."""
    world = stable()
    world.break_off(Fetch)
    world.now_ms += 200
    world.do(Poll())
    assert world.waiting(Metadata)
    wait = wait_ms(world)
    assert wait is not None
    assert wait > 0


def test_a_user_in_poll_is_woken_for_records_rounds_and_commits_only() -> None:
    world = stable(enable_auto_commit=True, auto_commit_interval_ms=5_000)
    assert not world.member.wants_poll(world.now_ms)
    world.advance(3_000)
    world.answer_usually(Fetch)
    assert not world.member.wants_poll(world.now_ms), "a heartbeat was answered"
    world.answer_usually()
    assert world.member.wants_poll(world.now_ms), "there are records"
    world.do(Poll())
    assert not world.member.wants_poll(world.now_ms)
    world.advance(3_000)
    assert world.member.wants_poll(world.now_ms), "it is time for a commit"
    world.do(Poll())
    world.answer(Heartbeat, HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    assert world.member.wants_poll(world.now_ms), "the group is rebalancing"
