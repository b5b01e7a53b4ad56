"""Rounds that go wrong: nothing to assign by, assignments that fit nothing, coordinators that are gone."""

import pytest

from kgroup.group.member.identity import MemberState
from kgroup.group.member.step import (
    Assign,
    CallbackKind,
    Close,
    Commit,
    MemberStep,
    Poll,
    Subscribe,
    SubscribePattern,
    Unsubscribe,
)
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.requests.client import Fetch, FindCoordinator, Metadata
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroup,
    OffsetCommit,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.protocol.subscription import (
    NamedTopicPartitions,
    Subscription,
    decode_assignment,
    encode_subscription,
)
from tests.group.member.member_world import MEMBER_ID, MemberWorld, assignment, wait_ms

BOTH = (("orders", 0), ("orders", 1))


def joining(**settings: object) -> MemberWorld:
    """A member whose second join, with an id, is under way."""
    world = MemberWorld(**settings)
    world.subscribe()
    world.settle(JoinGroup, rounds=3)
    world.answer(JoinGroup, JoinGroupResponse(error_code=E.MEMBER_ID_REQUIRED, member_id=MEMBER_ID))
    world.do(Poll())
    return world


def subscription(*topics: str) -> bytes:
    return encode_subscription(
        Subscription(topics=topics, user_data=None, owned_partitions=(), generation_id=-1, rack_id=None)
    )


def lead(world: MemberWorld, *metadata: bytes, protocol: str = "range") -> MemberStep:
    """Answer the join: the member leads a group of itself and others with these subscriptions."""
    names = [MEMBER_ID, *(f"other-{number}" for number in range(1, len(metadata)))][: len(metadata)]
    members = [
        JoinGroupResponseMember(member_id=name, group_instance_id=None, metadata=each)
        for name, each in zip(names, metadata, strict=True)
    ]
    answer = JoinGroupResponse(
        generation_id=1, protocol_name=protocol, leader=MEMBER_ID, member_id=MEMBER_ID, members=members
    )
    return world.answer(JoinGroup, answer)


def stable(**settings: object) -> MemberWorld:
    world = MemberWorld(**settings)
    world.subscribe()
    world.settle(Fetch)
    assert world.member.state is MemberState.STABLE
    world.callbacks.clear()
    return world


# ---- leading --------------------------------------------------------------------------------------


def test_a_protocol_that_the_member_did_not_offer_is_fatal() -> None:
    step = lead(joining(), subscription("orders"), protocol="roundrobin")
    assert step.error is not None and step.error.error_code is E.INCONSISTENT_GROUP_PROTOCOL
    assert "the coordinator chose 'roundrobin'" in str(step.error)


def test_a_leader_that_cannot_read_a_subscription_assigns_nothing() -> None:
    world = joining()
    step = lead(world, subscription("orders"), b"\0\1\0\0\0\5")
    assert step.error is not None and "Subscription.topics at byte 2" in str(step.error)
    assert not world.waiting(SyncGroup)
    assert world.do(Poll()).error is step.error  # and so it stays


def test_a_leader_whose_assignor_throws_assigns_nothing() -> None:
    world = joining(partition_assignment_strategy=("sticky",))
    step = lead(world, protocol="sticky")  # not even the leader is a member
    assert step.error is not None and "/ by zero" in str(step.error)
    assert not world.waiting(SyncGroup)


def test_a_leader_asks_for_the_topics_of_all_before_it_assigns() -> None:
    world = joining()
    world.topics["payments"] = 1
    lead(world, subscription("orders"), subscription("payments"))
    assert not world.waiting(SyncGroup)
    [metadata] = world.waiting(Metadata)
    assert metadata.topics == ("orders", "payments")
    world.answer_usually(SyncGroup, Fetch)
    [sync] = world.waiting(SyncGroup)
    shares = {who: decode_assignment(share).assigned_partitions for who, share in sync.assignments}
    assert shares == {
        MEMBER_ID: (NamedTopicPartitions(topic="orders", partitions=(0, 1)),),
        "other-1": (NamedTopicPartitions(topic="payments", partitions=(0,)),),
    }


def test_a_coordinator_lost_while_the_leader_waits_for_metadata_means_another_join() -> None:
    world = joining()
    lead(world, subscription("orders"), subscription("payments"))
    world.advance(3000)
    world.break_off(Heartbeat)
    world.answer_usually(FindCoordinator)
    assert not world.waiting(SyncGroup)
    assert world.member.state is MemberState.UNJOINED
    world.settle(JoinGroup, rounds=2)
    [again] = world.waiting(JoinGroup)
    assert again.member_id == MEMBER_ID


# ---- the share of the member ----------------------------------------------------------------------


def test_an_assignment_that_cannot_be_read_is_fatal() -> None:
    world = joining()
    world.settle(SyncGroup, rounds=2)
    world.answer(SyncGroup, SyncGroupResponse(assignment=b"\0\1\0\0"))
    step = world.do(Poll())
    assert step.error is not None and "Assignment.assigned_partitions at byte 2" in str(step.error)
    assert not world.member.positions


def test_an_empty_assignment_is_none_of_the_partitions() -> None:
    world = joining()
    world.settle(SyncGroup, rounds=2)
    world.answer(SyncGroup, SyncGroupResponse(assignment=b""))
    step = world.do(Poll())
    assert [(each.kind, each.partitions) for each in step.callbacks] == [(CallbackKind.ASSIGNED, ())]
    assert world.member.state is MemberState.STABLE


def test_partitions_of_a_topic_that_the_member_has_given_up_meanwhile_are_not_taken() -> None:
    world = joining()
    world.settle(SyncGroup, rounds=2)
    world.topics["payments"] = 1
    world.subscribe("payments")
    world.answer_usually()
    step = world.do(Poll())  # the assignment is of orders still
    assert step.callbacks == ()
    assert not world.member.positions
    world.settle(Fetch)
    assert set(world.partitions()) == {("payments", 0)}


def test_a_cooperative_member_keeps_what_it_has_when_the_new_assignment_does_not_fit() -> None:
    world = stable(partition_assignment_strategy=("cooperative-sticky",))
    world.member_is_told_to_rejoin()
    world.do(Poll())
    world.answer_usually(SyncGroup, Fetch)
    world.answer(SyncGroup, SyncGroupResponse(assignment=assignment(("payments", 0))))
    step = world.do(Poll())
    assert step.callbacks == ()
    assert set(world.partitions()) == set(BOTH)
    assert world.waiting(JoinGroup)


def test_a_topic_that_only_the_leader_knows_is_taken_if_the_pattern_matches_it() -> None:
    world = MemberWorld()
    world.do(SubscribePattern(pattern="orders.*"))
    world.settle(SyncGroup, rounds=5)
    world.answer(SyncGroup, SyncGroupResponse(assignment=assignment(("orders", 0), ("orders-new", 0))))
    step = world.do(Poll())
    assert step.callbacks[0].partitions == (("orders", 0), ("orders-new", 0))
    assert world.member.state is MemberState.STABLE
    world.do(Poll())
    assert not world.waiting(JoinGroup)


def test_a_topic_that_the_pattern_does_not_match_is_not_taken() -> None:
    world = MemberWorld()
    world.do(SubscribePattern(pattern="orders.*"))
    world.settle(SyncGroup, rounds=5)
    world.answer(SyncGroup, SyncGroupResponse(assignment=assignment(("old-orders", 0))))
    assert world.do(Poll()).callbacks == ()
    assert world.waiting(JoinGroup)


# ---- living ---------------------------------------------------------------------------------------


def test_a_changed_subscription_means_another_join_that_gives_up_what_left_it() -> None:
    world = stable(partition_assignment_strategy=("cooperative-sticky",))
    world.topics["payments"] = 1
    world.do(Subscribe(topics=("payments",)))
    world.do(Poll())
    assert [(each.kind, each.partitions) for each in world.callbacks] == [(CallbackKind.REVOKED, BOTH)]
    assert world.waiting(JoinGroup)


def test_no_answer_to_a_join_or_a_sync_means_another_coordinator_and_another_join() -> None:
    for request in (JoinGroup, SyncGroup):
        world = joining()
        world.settle(request, rounds=2)
        world.break_off(request)
        assert world.member.state is MemberState.UNJOINED
        assert world.waiting(FindCoordinator)
        world.advance(200)
        world.settle(JoinGroup, rounds=2)
        [again] = world.waiting(JoinGroup)
        assert again.member_id == MEMBER_ID


def test_a_heartbeat_without_an_answer_costs_the_coordinator_and_not_the_membership() -> None:
    world = stable()
    world.advance(3000)
    world.break_off(Heartbeat)
    world.settle(Fetch, rounds=2)
    assert world.member.state is MemberState.STABLE
    assert world.callbacks == []
    world.advance(3000)
    assert world.waiting(Heartbeat)


def test_a_commit_before_a_join_is_waited_for_no_longer_than_max_poll_interval() -> None:
    world = stable(enable_auto_commit=True, max_poll_interval_ms=20_000, default_api_timeout_ms=60_000)
    world.member_is_told_to_rejoin()
    world.do(Poll())
    assert world.waiting(OffsetCommit) and not world.waiting(JoinGroup)
    for _ in range(6):
        world.advance(3000)
        world.do(Poll())
        world.answer_usually(OffsetCommit, Fetch)
        assert not world.waiting(JoinGroup)
    world.advance(3000)
    world.do(Poll())
    assert world.waiting(JoinGroup)


@pytest.mark.parametrize(("assignor", "goes_on"), [("range", False), ("cooperative-sticky", True)])
def test_what_the_commit_before_a_join_will_not_have_is_not_handed_out(assignor: str, goes_on: bool) -> None:
    """KAFKA-14196: partitions that will be revoked stand still; what a cooperative member keeps goes on."""
    world = stable(enable_auto_commit=True, partition_assignment_strategy=(assignor,), max_poll_records=1)
    world.answer_usually()
    world.do(Poll())
    world.member_is_told_to_rejoin()
    world.do(Poll())
    assert world.waiting(OffsetCommit) and not world.waiting(JoinGroup)
    handed_out = list(world.records)
    world.do(Poll())
    assert (len(world.records) > len(handed_out)) is goes_on


def test_a_commit_that_waits_is_not_sent_in_a_later_generation() -> None:
    """Its partitions may have another owner, whose commits it would overwrite with older ones."""
    world = stable()
    world.advance(3000)
    world.do(Commit(commit_id=1, offsets=((("orders", 0), 3),)))
    [commit] = world.waiting(OffsetCommit)
    world.answer(OffsetCommit, world.commit_answer(commit, E.COORDINATOR_LOAD_IN_PROGRESS))
    world.answer(Heartbeat, HeartbeatResponse(error_code=E.UNKNOWN_MEMBER_ID))
    world.settle(Fetch)
    assert world.member.state is MemberState.STABLE
    world.advance(1_000)
    assert not world.waiting(OffsetCommit)
    outcomes = [outcome for step in world.steps for outcome in step.commits]
    assert [(each.commit_id, each.error_code) for each in outcomes] == [(1, E.ILLEGAL_GENERATION)]


def test_leaving_without_a_coordinator_tells_nobody() -> None:
    world = stable()
    world.advance(3000)
    world.break_off(Heartbeat)
    world.do(Unsubscribe())
    assert not world.waiting(LeaveGroup)
    assert [each.kind for each in world.callbacks] == [CallbackKind.REVOKED]


@pytest.mark.parametrize("subscribed", [True, False])
def test_a_refused_commit_of_partitions_assigned_by_hand_says_nothing_of_a_group(subscribed: bool) -> None:
    world = stable() if subscribed else MemberWorld()
    if not subscribed:
        world.do(Assign(partitions=(("orders", 0),)))
        world.settle(Fetch)
    world.do(Commit(commit_id=1))
    [commit] = world.waiting(OffsetCommit)
    world.answer(OffsetCommit, world.commit_answer(commit, E.UNKNOWN_MEMBER_ID))
    world.do(Poll())
    assert bool(world.waiting(JoinGroup)) is subscribed


def test_a_join_that_another_coordinator_has_to_take_waits_for_a_pause_too() -> None:
    """As AbstractCoordinator.joinGroupIfNeeded sleeps `retry.backoff.ms` after any error that may go away."""
    world = MemberWorld()
    world.subscribe()
    world.settle(JoinGroup)
    world.answer(JoinGroup, JoinGroupResponse(error_code=E.NOT_COORDINATOR))
    world.settle(JoinGroup)
    assert not world.waiting(FindCoordinator), "the other one is known"
    assert not world.waiting(JoinGroup)
    world.advance(200)
    world.settle(JoinGroup)
    assert world.waiting(JoinGroup)


# ---- when to come back ----------------------------------------------------------------------------


def test_a_stable_member_comes_back_for_its_next_heartbeat() -> None:
    world = stable()
    assert wait_ms(world) == 3000
    world.advance(1000)
    assert wait_ms(world) == 2000
    world.advance(2000)
    assert world.waiting(Heartbeat)
    assert wait_ms(world) == 42_000  # the heartbeat is out: what is left of the session
    world.answer_usually(Fetch)
    assert wait_ms(world) == 3000


def test_a_member_whose_user_does_not_poll_comes_back_at_max_poll_interval() -> None:
    world = stable(max_poll_interval_ms=2000)
    assert wait_ms(world) == 2000
    world.advance(2000)
    assert world.waiting(LeaveGroup)


def test_a_refused_join_is_due_after_its_pause() -> None:
    world = joining()
    world.answer(JoinGroup, JoinGroupResponse(error_code=E.COORDINATOR_LOAD_IN_PROGRESS))
    pause = wait_ms(world)
    assert pause is not None and 0 < pause <= 200
    world.advance(pause)
    world.do(Poll())
    assert world.waiting(JoinGroup)


def test_a_commit_before_a_join_is_due_when_it_is_given_up() -> None:
    world = stable(enable_auto_commit=True, max_poll_interval_ms=4000)
    world.member_is_told_to_rejoin()
    world.do(Poll())
    assert world.waiting(OffsetCommit)
    deadlines = []
    for _ in range(2):
        deadlines.append(wait_ms(world))
        world.advance(deadlines[-1] or 0)
        world.answer_usually(OffsetCommit, Fetch)
    assert sum(deadlines) == 4000  # type: ignore[arg-type]


def test_a_closed_member_has_nothing_left_to_do() -> None:
    world = stable(group_instance_id="till-1")
    assert world.do(Close()).closed
    assert wait_ms(world) is None
