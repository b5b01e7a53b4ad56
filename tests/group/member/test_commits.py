"""Commits: one after the other, again after errors that pass, never for the wrong generation."""

from kgroup.group.member.identity import MemberState
from kgroup.group.member.step import Assign, Commit, Poll
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.protocol.requests.client import Fetch, FindCoordinator
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    OffsetCommit,
    OffsetCommitResponse,
)
from tests.group.member.member_world import MemberWorld, stable, wait_ms

P0, P1 = ("orders", 0), ("orders", 1)


def committed_offsets(request: OffsetCommit) -> dict[tuple[str, int], int]:
    return {
        (topic.name, each.partition_index): each.committed_offset
        for topic in request.topics
        for each in topic.partitions
    }


def test_an_older_commit_never_lands_on_a_newer_one() -> None:
    world = stable()
    world.do(Commit(commit_id=1, offsets=((P0, 5),)))
    world.do(Commit(commit_id=2, offsets=((P0, 6),)))
    [commit] = world.waiting(OffsetCommit)
    assert committed_offsets(commit) == {P0: 5}
    step = world.answer(OffsetCommit, world.commit_answer(commit))
    assert [each.commit_id for each in step.commits] == [1]
    [commit] = world.waiting(OffsetCommit)
    assert committed_offsets(commit) == {P0: 6}


def test_a_commit_of_nothing_succeeds_at_once() -> None:
    world = MemberWorld()
    world.do(Assign(partitions=()))
    step = world.do(Commit(commit_id=3))
    assert [(each.commit_id, each.error_code) for each in step.commits] == [(3, E.NONE)]
    assert not world.waiting(OffsetCommit)


def test_a_commit_that_nobody_answers_is_made_again_until_its_time_is_over() -> None:
    world = stable(default_api_timeout_ms=1000)
    world.do(Commit(commit_id=4, offsets=((P0, 5),)))
    world.break_off(OffsetCommit)
    assert world.waiting(FindCoordinator)
    world.answer_usually(OffsetCommit, Fetch)
    world.advance(200)
    assert world.waiting(OffsetCommit)
    world.break_off(OffsetCommit)
    step = world.advance(1000)
    assert [(each.commit_id, each.error_code) for each in step.commits] == [(4, E.REQUEST_TIMED_OUT)]
    assert world.member.state is MemberState.STABLE


def test_a_commit_that_has_to_wait_is_what_a_member_comes_back_for() -> None:
    world = stable(heartbeat_interval_ms=3_000)
    world.do(Commit(commit_id=1))
    [commit] = world.waiting(OffsetCommit)
    world.answer(OffsetCommit, world.commit_answer(commit, E.COORDINATOR_LOAD_IN_PROGRESS))
    wait = wait_ms(world)
    assert wait is not None
    assert 0 < wait <= 200
    world.advance(wait)
    assert world.waiting(OffsetCommit)


def test_a_commit_in_flight_when_its_time_is_over_still_counts() -> None:
    world = stable(default_api_timeout_ms=1000)
    world.do(Commit(commit_id=4, offsets=((P0, 5),)))
    assert world.advance(1000).commits == ()
    [commit] = world.waiting(OffsetCommit)
    step = world.answer(OffsetCommit, world.commit_answer(commit))
    assert [(each.commit_id, each.error_code) for each in step.commits] == [(4, E.NONE)]


def test_one_refused_partition_refuses_the_commit() -> None:
    world = stable()
    world.do(Commit(commit_id=5, offsets=((P0, 5), (P1, 6))))
    [commit] = world.waiting(OffsetCommit)
    good, bad = world.commit_answer(commit), world.commit_answer(commit, E.OFFSET_METADATA_TOO_LARGE)
    mixed = OffsetCommitResponse(topics=[*good.topics, *bad.topics])
    step = world.answer(OffsetCommit, mixed)
    assert [(each.commit_id, each.error_code) for each in step.commits] == [(5, E.OFFSET_METADATA_TOO_LARGE)]
    assert step.error is None
    assert world.member.positions[P0].committed is None


def test_the_refusal_of_an_earlier_generations_commit_says_nothing_of_this_one() -> None:
    world = stable(partition_assignment_strategy=("cooperative-sticky",))
    world.do(Commit(commit_id=6, offsets=((P0, 5),)))
    [commit] = world.waiting(OffsetCommit)
    world.advance(3000)
    world.answer(Heartbeat, HeartbeatResponse(error_code=E.REBALANCE_IN_PROGRESS))
    world.settle(OffsetCommit, Fetch)
    assert world.generation == 2
    step = world.answer(OffsetCommit, world.commit_answer(commit, E.ILLEGAL_GENERATION))
    assert [(each.commit_id, each.error_code) for each in step.commits] == [(6, E.ILLEGAL_GENERATION)]
    world.do(Poll())
    assert world.member.state is MemberState.STABLE
    assert not world.waiting(JoinGroup)


def test_a_commit_amid_a_rebalance_fails_at_once_and_is_not_sent() -> None:
    """It would wait at the broker behind the JoinGroup, for as long as the slowest member takes."""
    world = stable(partition_assignment_strategy=("cooperative-sticky",))
    world.member_is_told_to_rejoin()
    world.do(Poll())
    assert world.member.state is MemberState.PREPARING_REBALANCE
    step = world.do(Commit(commit_id=9, offsets=((P0, 5),)))
    assert [(each.commit_id, each.error_code) for each in step.commits] == [(9, E.REBALANCE_IN_PROGRESS)]
    assert not world.waiting(OffsetCommit)
    world.settle(Fetch)
    world.do(Commit(commit_id=10, offsets=((P0, 5),)))
    assert world.waiting(OffsetCommit)


def test_a_commit_never_passes_for_one_of_a_later_generation_with_the_same_number() -> None:
    """A coordinator whose log has lost its end counts its generations from an earlier number again.

    Kafka's consumer has no such commit: it joins only in `poll`, and none waits from one poll to the next.
    """
    world = stable()
    world.do(Commit(commit_id=12, offsets=((P0, 5),)))
    world.advance(3000)
    [commit] = world.waiting(OffsetCommit)
    world.answer(OffsetCommit, world.commit_answer(commit, E.COORDINATOR_LOAD_IN_PROGRESS))
    world.answer(Heartbeat, HeartbeatResponse(error_code=E.ILLEGAL_GENERATION))
    world.generation = 0
    world.settle(Fetch)
    assert (world.member.state, world.member.generation) == (MemberState.STABLE, 1)
    world.advance(200)
    assert not world.waiting(OffsetCommit)
    ended = [each for step in world.steps for each in step.commits]
    assert [(each.commit_id, each.error_code) for each in ended] == [(12, E.ILLEGAL_GENERATION)]


def test_the_refusal_of_an_earlier_commit_throws_nobody_out_of_a_generation_with_the_same_number() -> None:
    world = stable(partition_assignment_strategy=("cooperative-sticky",))
    world.do(Commit(commit_id=13, offsets=((P0, 5),)))
    [commit] = world.waiting(OffsetCommit)
    world.advance(3000)
    world.answer(Heartbeat, HeartbeatResponse(error_code=E.ILLEGAL_GENERATION))
    world.generation = 0
    world.settle(OffsetCommit, Fetch)
    assert (world.member.state, world.member.generation) == (MemberState.STABLE, 1)
    world.answer(OffsetCommit, world.commit_answer(commit, E.ILLEGAL_GENERATION))
    assert world.member.state is MemberState.STABLE


def test_a_commit_of_a_member_that_was_thrown_out_fails_at_once() -> None:
    world = stable()
    world.advance(3000)
    world.answer(Heartbeat, HeartbeatResponse(error_code=E.UNKNOWN_MEMBER_ID))
    assert world.member.state is MemberState.UNJOINED
    step = world.do(Commit(commit_id=11, offsets=((P0, 5),)))
    assert [(each.commit_id, each.error_code) for each in step.commits] == [(11, E.UNKNOWN_MEMBER_ID)]
    assert not world.waiting(OffsetCommit)


def test_auto_commit_sends_every_position_when_its_interval_is_over() -> None:
    world = stable(enable_auto_commit=True, auto_commit_interval_ms=2000)
    world.answer_usually()
    world.do(Poll())  # hands out records, which count as processed at the next poll
    assert not world.waiting(OffsetCommit)
    world.advance(2000)
    world.do(Poll())
    [commit] = world.waiting(OffsetCommit)
    assert committed_offsets(commit) == {P0: 3, P1: 3}
    world.answer_usually()
    assert world.committed == {P0: 3, P1: 3}
    assert world.member.positions[P0].committed == 3


def test_auto_commit_does_not_pile_up_behind_a_commit_under_way() -> None:
    world = stable(enable_auto_commit=True, auto_commit_interval_ms=2000)
    world.do(Commit(commit_id=7, offsets=((P0, 1),)))
    world.advance(2000)
    world.do(Poll())
    [commit] = world.waiting(OffsetCommit)
    step = world.answer(OffsetCommit, world.commit_answer(commit))
    assert [each.commit_id for each in step.commits] == [7]
    assert not world.waiting(OffsetCommit)


def test_partitions_assigned_by_hand_are_committed_outside_of_any_generation() -> None:
    world = MemberWorld()
    world.do(Assign(partitions=(P0,)))
    world.settle(Fetch)
    world.do(Commit(commit_id=8, offsets=((P0, 2), (("payments", 4), 1))))
    [commit] = world.waiting(OffsetCommit)
    assert (commit.generation_id, commit.member_id) == (-1, "")
    world.answer(OffsetCommit, world.commit_answer(commit))
    assert world.member.positions[P0].committed == 2
    assert world.committed == {P0: 2, ("payments", 4): 1}
