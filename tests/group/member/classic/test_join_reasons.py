"""The reasons that a member gives with JoinGroup and LeaveGroup: those of Kafka 4.3.1's own consumer."""

from collections.abc import Callable

import pytest

from kgroup.group.member.step import CallbackKind, Close, Commit, Poll, Subscribe, Unsubscribe
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.requests.client import Fetch, FindCoordinator
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
from tests.group.member.member_world import MEMBER_ID, MemberWorld, assignment, stable


def next_reason(world: MemberWorld) -> str | None:
    """The reason of the join that the member comes to."""
    for _ in range(6):
        world.do(Poll())
        joins = world.waiting(JoinGroup)
        if joins:
            return joins[-1].reason
        world.answer_usually(Fetch, JoinGroup)
        world.advance(200)
    raise AssertionError("it joins no more")


def joining(**settings: object) -> MemberWorld:
    world = MemberWorld(**settings)
    world.subscribe()
    world.settle(JoinGroup, rounds=3)
    return world


def test_the_first_join_gives_no_reason() -> None:
    assert [join.reason for join in joining().waiting(JoinGroup)] == [""]


def test_the_second_join_names_the_id_that_was_given() -> None:
    world = joining()
    world.answer(JoinGroup, JoinGroupResponse(error_code=E.MEMBER_ID_REQUIRED, member_id=MEMBER_ID))
    assert next_reason(world) == f"need to re-join with the given member-id: {MEMBER_ID}"


@pytest.mark.parametrize(
    ("error", "exception"),
    [
        (E.UNKNOWN_MEMBER_ID, "UnknownMemberIdException"),
        (E.COORDINATOR_LOAD_IN_PROGRESS, "CoordinatorLoadInProgressException"),
        (E.NOT_COORDINATOR, "NotCoordinatorException"),
        (E.REBALANCE_IN_PROGRESS, "RebalanceInProgressException"),
    ],
)
def test_a_refused_join_is_named_by_javas_exception(error: E, exception: str) -> None:
    world = joining()
    world.answer(JoinGroup, JoinGroupResponse(error_code=error))
    assert next_reason(world) == f"rebalance failed due to {exception}"


@pytest.mark.parametrize(
    ("error", "exception"),
    [
        (E.REBALANCE_IN_PROGRESS, "RebalanceInProgressException"),
        (E.ILLEGAL_GENERATION, "IllegalGenerationException"),
        (E.COORDINATOR_NOT_AVAILABLE, "CoordinatorNotAvailableException"),
    ],
)
def test_and_so_is_a_refused_sync(error: E, exception: str) -> None:
    world = MemberWorld()
    world.subscribe()
    world.settle(SyncGroup, rounds=6)
    world.answer(SyncGroup, SyncGroupResponse(error_code=error))
    assert next_reason(world) == f"rebalance failed due to {exception}"


def test_no_answer_is_a_disconnect() -> None:
    world = joining()
    world.break_off(JoinGroup)
    assert next_reason(world) == "rebalance failed due to DisconnectException"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (E.REBALANCE_IN_PROGRESS, "group is already rebalancing"),
        (E.UNKNOWN_MEMBER_ID, "encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"),
        (E.ILLEGAL_GENERATION, "encountered ILLEGAL_GENERATION from HEARTBEAT response"),
    ],
)
def test_a_heartbeat_that_sends_to_join(error: E, reason: str) -> None:
    world = stable()
    world.advance(3000)
    world.answer(Heartbeat, HeartbeatResponse(error_code=error))
    assert next_reason(world) == reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (E.REBALANCE_IN_PROGRESS, "offset commit failed since group is already rebalancing"),
        (E.UNKNOWN_MEMBER_ID, "encountered UNKNOWN_MEMBER_ID from OFFSET_COMMIT response"),
        (E.ILLEGAL_GENERATION, "encountered ILLEGAL_GENERATION from OFFSET_COMMIT response"),
    ],
)
def test_a_commit_that_sends_to_join(error: E, reason: str) -> None:
    world = stable()
    world.do(Commit(commit_id=1, offsets=((("orders", 0), 1),)))
    [commit] = world.waiting(OffsetCommit)
    world.answer(OffsetCommit, world.commit_answer(commit, error))
    assert next_reason(world) == reason


def _topic_grows(world: MemberWorld) -> None:
    world.topics["orders"] = 3
    world.advance(1_000)
    world.answer_usually(Fetch)


def _subscription_changes(world: MemberWorld) -> None:
    world.topics["bills"] = 1
    world.do(Subscribe(topics=("orders", "bills")))


@pytest.mark.parametrize(
    ("change", "reason"),
    [(_topic_grows, "cached metadata has changed"), (_subscription_changes, "subscription has changed")],
)
def test_what_the_member_sees_by_itself(change: Callable[[MemberWorld], None], reason: str) -> None:
    world = stable(metadata_max_age_ms=1_000)
    change(world)
    assert next_reason(world) == reason


def test_partitions_that_a_cooperative_member_gave_up() -> None:
    world = stable(partition_assignment_strategy=("cooperative-sticky",))
    world.member_is_told_to_rejoin()
    world.do(Poll())
    world.answer_usually(Fetch, SyncGroup)
    world.answer(SyncGroup, SyncGroupResponse(assignment=assignment(("orders", 0))))
    assert next_reason(world) == "need to revoke partitions and re-join"


def test_an_assignment_for_a_subscription_of_before() -> None:
    world = MemberWorld()
    world.topics["bills"] = 1
    world.subscribe()
    world.settle(SyncGroup, rounds=6)
    world.do(Subscribe(topics=("bills",)))
    world.answer(SyncGroup, SyncGroupResponse(assignment=assignment(("orders", 0))))
    assert next_reason(world) == "received assignment does not match the current subscription"


@pytest.mark.parametrize(
    ("end", "reason"),
    [(Close(), "the consumer is being closed"), (Unsubscribe(), "the consumer unsubscribed from all topics")],
)
def test_an_end_that_the_user_wants(end: Close | Unsubscribe, reason: str) -> None:
    world = stable()
    world.do(end)
    [leave] = world.waiting(LeaveGroup)
    assert [member.reason for member in leave.members] == [reason]


def test_a_user_that_does_not_poll_and_comes_back() -> None:
    world = stable(max_poll_interval_ms=10_000)
    for _ in range(4):
        world.advance(2_500)
        world.answer_usually(Fetch, LeaveGroup)
    [leave] = world.waiting(LeaveGroup)
    assert leave.members[0].reason == "consumer poll timeout has expired."
    assert next_reason(world) == "consumer pro-actively leaving the group"


# ---- callbacks of an end ---------------------------------------------------------------------------


def test_what_is_revoked_at_the_end_is_of_the_generation_that_ends() -> None:
    world = stable()
    world.do(Close())
    ended = [each for each in world.callbacks if each.kind is CallbackKind.REVOKED]
    assert [each.generation for each in ended] == [1]
    assert world.member.generation == -1


def test_what_a_member_has_amid_a_round_is_lost_at_its_end() -> None:
    """Kafka: ConsumerCoordinator.onLeavePrepare."""
    world = stable(partition_assignment_strategy=("cooperative-sticky",))
    world.member_is_told_to_rejoin()
    world.do(Poll())
    assert world.waiting(JoinGroup)
    world.callbacks.clear()
    world.do(Unsubscribe())
    assert [(each.kind, len(each.partitions)) for each in world.callbacks] == [(CallbackKind.LOST, 2)]


def test_a_coordinator_that_is_looked_for_is_told_why_when_it_is_found() -> None:
    world = joining()
    world.answer(JoinGroup, JoinGroupResponse(error_code=E.NOT_COORDINATOR))
    world.advance(200)
    assert world.waiting(FindCoordinator)
