"""Every error of every answer: what the member does about it. One row an error, one column an api."""

from collections.abc import Mapping

import pytest

from kgroup.group.member import errors as member_errors
from kgroup.group.member.errors import Reaction, reaction
from kgroup.group.member.identity import MemberState
from kgroup.group.member.settings import OffsetReset
from kgroup.group.member.step import CallbackKind, Commit, Poll
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.requests.client import (
    Fetch,
    FetchedPartition,
    FetchResponse,
    FindCoordinator,
    FindCoordinatorResponse,
    ListedOffset,
    ListOffsets,
    ListOffsetsResponse,
    Metadata,
    OffsetFetch,
    OffsetFetchResponse,
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
from tests.group.member.member_world import BROKER, MEMBER_ID, MemberWorld

ERRORS = [error for error in E if error is not E.NONE]
TABLES: Mapping[str, Mapping[E, Reaction]] = {
    "FindCoordinator": member_errors.FIND_COORDINATOR,
    "JoinGroup": member_errors.JOIN_GROUP,
    "SyncGroup": member_errors.SYNC_GROUP,
    "Heartbeat": member_errors.HEARTBEAT,
    "OffsetCommit": member_errors.OFFSET_COMMIT,
    "OffsetFetch": member_errors.OFFSET_FETCH,
    "ListOffsets": member_errors.LIST_OFFSETS,
    "Fetch": member_errors.FETCH,
}
# Errors that no retry cures, whatever was asked (Kafka 4.3.1 throws for them).
ALWAYS_FATAL = (E.GROUP_AUTHORIZATION_FAILED, E.FENCED_INSTANCE_ID, E.INVALID_GROUP_ID, E.UNSUPPORTED_VERSION)


@pytest.mark.parametrize("api", TABLES)
def test_success_goes_on_and_some_errors_end_it_everywhere(api: str) -> None:
    assert reaction(TABLES[api], E.NONE) is Reaction.PROCEED
    assert [reaction(TABLES[api], error) for error in ALWAYS_FATAL] == [Reaction.FATAL] * len(ALWAYS_FATAL)


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch"])
def test_a_coordinator_that_moved_is_looked_for(api: str) -> None:
    assert reaction(TABLES[api], E.NOT_COORDINATOR) is Reaction.FIND
    assert reaction(TABLES[api], E.COORDINATOR_NOT_AVAILABLE) is Reaction.FIND


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_find_coordinator(error: E) -> None:
    world = MemberWorld()
    world.subscribe()
    world.do(Poll())
    step = world.answer(FindCoordinator, FindCoordinatorResponse(error_code=error))
    if reaction(member_errors.FIND_COORDINATOR, error) is Reaction.FATAL:
        assert step.error is not None and step.error.error_code is error
        return
    assert step.error is None
    assert not world.waiting(FindCoordinator)  # first a pause
    world.advance(200)
    assert world.waiting(FindCoordinator)


def joining(**settings: object) -> MemberWorld:
    """A member whose second join, with an id, is under way."""
    world = MemberWorld(**settings)
    world.subscribe()
    world.settle(JoinGroup, rounds=3)
    world.answer(JoinGroup, JoinGroupResponse(error_code=E.MEMBER_ID_REQUIRED, member_id=MEMBER_ID))
    world.do(Poll())
    assert world.member.state is MemberState.PREPARING_REBALANCE
    return world


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_join_group(error: E) -> None:
    world = joining()
    step = world.answer(JoinGroup, JoinGroupResponse(error_code=error, member_id="other"))
    assert world.member.state is MemberState.UNJOINED
    expected_reaction = reaction(member_errors.JOIN_GROUP, error)
    if expected_reaction is Reaction.FATAL:
        assert step.error is not None and step.error.error_code is error
        return
    world.do(Poll())
    pauses = expected_reaction in (Reaction.RETRY, Reaction.FIND)
    assert bool(world.waiting(JoinGroup)) is not pauses
    if expected_reaction is Reaction.FIND:
        assert world.waiting(FindCoordinator)
    world.advance(200)
    world.settle(JoinGroup, rounds=2)
    [again] = world.waiting(JoinGroup)
    expected = {Reaction.ANEW: "", Reaction.TAKE_ID: "other"}.get(expected_reaction, MEMBER_ID)
    assert again.member_id == expected


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_sync_group(error: E) -> None:
    world = joining()
    world.settle(SyncGroup, rounds=2)
    assert world.member.state is MemberState.COMPLETING_REBALANCE
    step = world.answer(SyncGroup, SyncGroupResponse(error_code=error))
    expected_reaction = reaction(member_errors.SYNC_GROUP, error)
    if expected_reaction is Reaction.FATAL:
        assert step.error is not None and step.error.error_code is error
        return
    world.advance(200)
    world.settle(JoinGroup, rounds=2)
    [again] = world.waiting(JoinGroup)
    assert again.member_id == ("" if expected_reaction is Reaction.ANEW else MEMBER_ID)


def stable(**settings: object) -> MemberWorld:
    world = MemberWorld(**settings)
    world.subscribe()
    world.settle(Fetch)
    assert world.member.state is MemberState.STABLE
    assert set(world.partitions()) == {("orders", 0), ("orders", 1)}
    world.callbacks.clear()
    return world


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_heartbeat(error: E) -> None:
    world = stable()
    world.advance(3000)
    step = world.answer(Heartbeat, HeartbeatResponse(error_code=error))
    expected_reaction = reaction(member_errors.HEARTBEAT, error)
    if expected_reaction is Reaction.FATAL:
        assert step.error is not None and step.error.error_code is error
        return
    world.settle(JoinGroup, Fetch, rounds=2)
    kinds = [callback.kind for callback in world.callbacks]
    if expected_reaction in (Reaction.FIND, Reaction.RETRY):  # still a member: nothing is given up
        assert (world.member.state, kinds) == (MemberState.STABLE, [])
        return
    [again] = world.waiting(JoinGroup)
    assert again.member_id == ("" if expected_reaction is Reaction.ANEW else MEMBER_ID)
    assert kinds == [CallbackKind.REVOKED if expected_reaction is Reaction.REJOIN else CallbackKind.LOST]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_offset_commit(error: E) -> None:
    world = stable()
    world.do(Commit(commit_id=7, offsets=((("orders", 0), 5),)))
    [commit] = world.waiting(OffsetCommit)
    step = world.answer(OffsetCommit, world.commit_answer(commit, error))
    expected_reaction = reaction(member_errors.OFFSET_COMMIT, error)
    if expected_reaction in (Reaction.RETRY, Reaction.FIND):
        assert step.commits == ()
        world.advance(200)
        world.answer_usually(Fetch)
        world.answer_usually(Fetch)
        assert world.committed == {("orders", 0): 5}
        return
    assert [(each.commit_id, each.error_code) for each in step.commits] == [(7, error)]
    assert (step.error is not None) is (expected_reaction is Reaction.FATAL)
    if expected_reaction in (Reaction.REJOIN, Reaction.ANEW, Reaction.STALE):
        world.do(Poll())
        assert world.waiting(JoinGroup)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_offset_fetch(error: E) -> None:
    world = MemberWorld()
    world.subscribe()
    world.settle(OffsetFetch)
    step = world.answer(OffsetFetch, OffsetFetchResponse(error_code=error))
    if reaction(member_errors.OFFSET_FETCH, error) is Reaction.FATAL:
        assert step.error is not None and step.error.error_code is error
        return
    assert not world.waiting(OffsetFetch)
    world.advance(200)
    world.answer_usually(OffsetFetch)
    world.advance(200)
    assert world.waiting(OffsetFetch)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_list_offsets(error: E) -> None:
    world = MemberWorld(partitions=1)
    world.subscribe()
    world.settle(ListOffsets)
    listed = ListedOffset(partition=("orders", 0), error_code=error)
    step = world.answer(ListOffsets, ListOffsetsResponse(offsets=(listed,)))
    if reaction(member_errors.LIST_OFFSETS, error) is Reaction.FATAL:
        assert step.error is not None and step.error.error_code is error
        return
    assert world.waiting(Metadata)
    world.answer_usually()
    world.advance(200)
    assert world.waiting(ListOffsets)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_fetch(error: E) -> None:
    world = MemberWorld(partitions=1)
    world.subscribe()
    world.settle(Fetch)
    refused = FetchedPartition(partition=("orders", 0), error_code=error)
    step = world.answer(Fetch, FetchResponse(partitions=(refused,)))
    match reaction(member_errors.FETCH, error):
        case Reaction.FATAL | Reaction.NEW_SESSION if error.name.startswith(
            ("FETCH_SESSION", "INVALID_FETCH_S")
        ):
            assert world.member.positions["orders", 0].position == 0  # errors of a whole answer only
        case Reaction.FATAL:
            assert step.error is not None and step.error.error_code is error
        case Reaction.RESET:
            assert world.waiting(ListOffsets)
        case _:
            assert world.waiting(Metadata)
            world.answer_usually()
            world.advance(200)
            assert world.waiting(Fetch)


def test_a_lost_fetch_session_begins_anew() -> None:
    world = MemberWorld(partitions=1)
    world.subscribe()
    world.settle(Fetch)
    world.answer(Fetch, FetchResponse(session_id=5))
    [fetch] = world.waiting(Fetch)
    assert (fetch.session_id, fetch.session_epoch) == (5, 1)
    world.answer(Fetch, FetchResponse(error_code=E.FETCH_SESSION_ID_NOT_FOUND))
    [fetch] = world.waiting(Fetch)
    assert (fetch.session_id, fetch.session_epoch) == (0, 0)


def test_no_offset_and_no_policy_is_fatal() -> None:
    world = MemberWorld(auto_offset_reset=OffsetReset.NONE)
    world.subscribe()
    world.settle(Fetch, rounds=6)
    assert world.steps[-1].error is not None
    assert "auto.offset.reset is none" in str(world.steps[-1].error)


def test_the_coordinator_is_the_broker_that_was_named() -> None:
    world = MemberWorld()
    world.subscribe()
    world.do(Poll())
    world.answer(FindCoordinator, FindCoordinatorResponse(node=BROKER))
    world.do(Poll())
    assert [send.host for send in world.sent if isinstance(send.body, JoinGroup)] == ["broker"]
