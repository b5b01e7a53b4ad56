"""Positions and records: which answers count, what is asked again, and who is asked."""

import pytest

from kgroup.group.member.positions import PositionState
from kgroup.group.member.settings import OffsetReset
from kgroup.group.member.step import Assign, Close, Pause, Poll, Resume, Seek, UseError
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.requests.client import (
    CommittedOffset,
    Fetch,
    FetchResponse,
    FindCoordinator,
    ListedOffset,
    ListOffsets,
    ListOffsetsResponse,
    Metadata,
    OffsetFetch,
    OffsetFetchResponse,
)
from tests.group.member.member_world import MemberWorld, wait_ms

P0, P1 = ("orders", 0), ("orders", 1)


def reading(**settings: object) -> MemberWorld:
    """A member without a group that reads both partitions."""
    world = MemberWorld(**({"group_id": None, "enable_auto_commit": False} | settings))
    world.do(Assign(partitions=(P0, P1)))
    world.settle(Fetch)
    return world


def test_without_a_group_positions_come_from_the_policy_alone() -> None:
    world = reading(auto_offset_reset=OffsetReset.LATEST)
    assert [send for send in world.sent if isinstance(send.body, OffsetFetch | FindCoordinator)] == []
    [fetch] = world.waiting(Fetch)
    assert dict(fetch.offsets) == {P0: 0, P1: 0}


def test_latest_is_asked_for_with_its_own_timestamp() -> None:
    for policy, timestamp in ((OffsetReset.LATEST, -1), (OffsetReset.EARLIEST, -2)):
        world = MemberWorld(auto_offset_reset=policy)
        world.subscribe()
        world.settle(ListOffsets)
        [list_offsets] = world.waiting(ListOffsets)
        assert (list_offsets.partitions, list_offsets.timestamp) == ((P0, P1), timestamp)


def test_an_end_that_may_not_be_asked_for_ends_the_member_and_names_the_partition() -> None:
    world = MemberWorld()
    world.subscribe()
    world.settle(ListOffsets)
    refused = ListedOffset(partition=P1, offset=-1, error_code=E.TOPIC_AUTHORIZATION_FAILED)
    step = world.answer(ListOffsets, ListOffsetsResponse(offsets=(refused,)))
    assert step.error is not None
    assert (step.error.api, step.error.error_code) == (
        "ListOffsets of orders-1",
        E.TOPIC_AUTHORIZATION_FAILED,
    )


def test_without_a_group_only_the_age_of_its_metadata_is_a_deadline() -> None:
    world = reading(metadata_max_age_ms=60_000)
    wait = wait_ms(world)
    assert wait is not None
    assert 0 < wait <= 60_000


def test_no_more_records_than_max_poll_records_and_the_other_partition_next() -> None:
    world = reading(max_poll_records=2)
    world.answer_usually()
    for expected in ([(P0, 0), (P0, 1)], [(P1, 0), (P1, 1)], [(P0, 2), (P1, 2)]):
        world.records.clear()
        world.do(Poll())
        assert world.records == expected
    # Partitions with records in store are not asked for.
    assert [dict(fetch.offsets) for fetch in world.waiting(Fetch)] == [{P0: 3, P1: 3}]


def test_one_committed_offset_that_cannot_be_told_yet_does_not_hold_up_the_others() -> None:
    world = MemberWorld()
    world.subscribe()
    world.settle(OffsetFetch)
    world.answer(
        OffsetFetch,
        OffsetFetchResponse(
            offsets=(
                CommittedOffset(partition=P0, offset=7),
                CommittedOffset(partition=P1, error_code=E.UNSTABLE_OFFSET_COMMIT),
            )
        ),
    )
    states = {each: position.state for each, position in world.member.positions.items()}
    assert states == {P0: PositionState.FETCHING, P1: PositionState.INITIALIZING}
    world.advance(200)
    [again] = world.waiting(OffsetFetch)
    assert again.topics == (("orders", (1,)),)


def test_a_seek_is_not_undone_by_the_committed_offset_that_comes_after_it() -> None:
    world = MemberWorld()
    world.committed = {P0: 3, P1: 3}
    world.subscribe()
    world.settle(OffsetFetch)
    world.do(Seek(partition=P0, offset=8))
    world.answer_usually(Fetch)
    assert {each: position.position for each, position in world.member.positions.items()} == {P0: 8, P1: 3}


def test_a_seek_is_not_undone_by_the_reset_that_comes_after_it() -> None:
    world = MemberWorld()
    world.subscribe()
    world.settle(ListOffsets)
    world.do(Seek(partition=P0, offset=8))
    world.answer_usually(Fetch)
    assert {each: position.position for each, position in world.member.positions.items()} == {P0: 8, P1: 0}


def test_a_coordinator_that_does_not_say_the_committed_offsets_is_looked_for() -> None:
    world = MemberWorld()
    world.subscribe()
    world.settle(OffsetFetch)
    world.break_off(OffsetFetch)
    assert world.waiting(FindCoordinator)
    world.answer_usually(OffsetFetch)
    world.advance(200)
    assert world.waiting(OffsetFetch)


def test_a_leader_that_does_not_answer_costs_new_metadata_and_a_pause() -> None:
    for request in (ListOffsets, Fetch):
        world = MemberWorld()
        world.subscribe()
        world.settle(request)
        world.break_off(request)
        assert world.waiting(Metadata) and not world.waiting(request)
        world.answer_usually(request)
        world.advance(200)
        assert world.waiting(request)


def test_a_fetch_session_ends_with_its_connection() -> None:
    world = reading()
    world.answer(Fetch, FetchResponse(session_id=5))
    world.break_off(Fetch)
    world.answer_usually(Fetch)
    world.advance(200)
    [fetch] = world.waiting(Fetch)
    assert (fetch.session_id, fetch.session_epoch) == (0, 0)


def test_a_fetch_session_is_told_what_left_it() -> None:
    world = reading()
    [first] = world.waiting(Fetch)
    fetched = world.fetched(P0, 0)
    assert first.forgotten == ()
    world.answer(Fetch, FetchResponse(session_id=5, partitions=(fetched,)))
    [fetch] = world.waiting(Fetch)
    assert ([each for each, _ in fetch.offsets], fetch.forgotten) == ([P1], (P0,))


def test_an_error_of_the_whole_fetch_is_retried_or_fatal() -> None:
    world = reading()
    world.answer(Fetch, FetchResponse(error_code=E.KAFKA_STORAGE_ERROR))
    assert world.waiting(Metadata) and not world.waiting(Fetch)
    world.answer_usually()
    world.advance(200)
    assert world.waiting(Fetch)
    step = world.answer(Fetch, FetchResponse(error_code=E.CLUSTER_AUTHORIZATION_FAILED))
    assert step.error is not None and step.error.error_code is E.CLUSTER_AUTHORIZATION_FAILED


def test_partitions_that_are_not_assigned_any_more_are_not_read() -> None:
    world = reading()
    world.do(Assign(partitions=(P1,)))
    world.answer(Fetch, FetchResponse(partitions=(world.fetched(P0, 0), world.fetched(P1, 0))))
    world.do(Poll())
    assert {partition for partition, _ in world.records} == {P1}


def test_an_offset_of_a_partition_that_went_away_is_dropped() -> None:
    world = MemberWorld()
    world.subscribe()
    world.settle(ListOffsets)
    gone = ListedOffset(partition=("orders", 9), offset=4)
    world.answer(ListOffsets, ListOffsetsResponse(offsets=(gone,)))
    assert ("orders", 9) not in world.member.positions


# ---- what a user holds back ------------------------------------------------------------------------


def test_a_paused_partition_gives_nothing_and_keeps_what_was_fetched() -> None:
    """KafkaConsumer.pause: fetched records stay, and nothing more is asked for."""
    world = reading()
    world.answer_usually()
    world.do(Pause(partitions=(P0,)))
    world.do(Poll())
    assert {partition for partition, _ in world.records} == {P1}
    [fetch] = world.waiting(Fetch)
    assert set(dict(fetch.offsets)) == {P1}
    world.records.clear()
    world.do(Resume(partitions=(P0,)))
    world.do(Poll())
    assert world.records == [(P0, 0), (P0, 1), (P0, 2)]


def test_of_a_paused_partition_of_which_nothing_is_left_no_more_is_asked_for() -> None:
    world = reading()
    world.do(Pause(partitions=(P0,)))
    world.answer(Fetch, FetchResponse(partitions=(world.fetched(P1, 0),)))
    world.do(Poll())
    [fetch] = world.waiting(Fetch)
    assert set(dict(fetch.offsets)) == {P1}
    world.do(Resume(partitions=(P0,)))
    world.answer(Fetch, FetchResponse())
    [fetch] = world.waiting(Fetch)
    assert set(dict(fetch.offsets)) == {P0, P1}


def test_a_user_in_poll_is_not_woken_for_what_it_has_paused() -> None:
    world = reading()
    world.answer_usually()
    world.do(Pause(partitions=(P0, P1)))
    assert not world.member.wants_poll(world.now_ms)
    world.do(Resume(partitions=(P1,)))
    assert world.member.wants_poll(world.now_ms)


@pytest.mark.parametrize("call", [Pause(partitions=(P0, ("bills", 7))), Resume(partitions=(("bills", 7),))])
def test_only_what_is_assigned_can_be_held_back(call: Pause | Resume) -> None:
    world = reading()
    with pytest.raises(UseError, match="bills-7 is not assigned"):
        world.do(call)
    assert not any(position.is_paused for position in world.member.positions.values())


def test_closing_commits_what_was_read_of_user_assigned_partitions() -> None:
    """Kafka: ConsumerCoordinator.close commits with auto-commit, in a group or not."""
    world = reading(group_id="g", enable_auto_commit=True)
    world.answer_usually()
    world.do(Poll())
    world.do(Close())
    world.answer_usually(Fetch)
    assert world.committed == {P0: 3, P1: 3}
