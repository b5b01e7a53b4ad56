"""Consumers that start at the end of a log: what is a skip, and what is an answer that came too late."""

import pytest

from kgroup.group.member.positions import Position, PositionState
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import (
    CommittedOffset,
    ListedOffset,
    ListOffsetsResponse,
    OffsetFetchResponse,
)
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.swarm import Swarm, run_seed
from kgroup.sim.watch.checkers import Checkers
from kgroup.sim.watch.resets import Resets
from kgroup.sim.watch.result import NO_SKIP
from kgroup.sim.watch.tallies import Measures

LATE = (102168, Swarm.MIGRATION)
"""c1 asks for ends, loses its partitions, gets them again with commits, and then hears of the ends."""
P: TopicPartition = ("orders", 4)


def committed(offset: int) -> OffsetFetchResponse:
    answer = CommittedOffset(partition=P, offset=offset, error_code=ErrorCode.NONE)
    return OffsetFetchResponse(error_code=ErrorCode.NONE, offsets=(answer,))


ENDS_AT_SIX = ListOffsetsResponse(offsets=(ListedOffset(partition=P, offset=6, error_code=ErrorCode.NONE),))


def at(offset: int | None) -> dict[TopicPartition, Position]:
    state = PositionState.AWAIT_RESET if offset is None else PositionState.FETCHING
    return {P: Position(state=state, position=offset)}


def broken(
    commit: int, before: dict[TopicPartition, Position], after: dict[TopicPartition, Position]
) -> list[str]:
    """The checkers that fire when a member with this commit hears of the end, and is then where it is."""
    checkers = Checkers(Measures(), lambda: 0)
    resets = Resets("g", "c1", checkers, lambda partition: 0)
    resets.heard(committed(commit), {})
    resets.acted({})
    resets.heard(ENDS_AT_SIX, before)
    resets.acted(after)
    return [violation.checker for violation in checkers.violations]


def test_who_has_a_commit_and_goes_to_the_end_skips() -> None:
    assert broken(4, at(4), at(6)) == [NO_SKIP]
    assert broken(4, at(None), at(6)) == [NO_SKIP]


@pytest.mark.parametrize(
    ("commit", "before", "after"),
    [
        pytest.param(-1, at(None), at(6), id="no-commit"),
        pytest.param(4, at(4), at(4), id="not-taken"),
        pytest.param(6, at(6), at(6), id="is-there-already"),
        pytest.param(4, at(4), {}, id="lost"),
    ],
)
def test_anything_else_is_none(
    commit: int, before: dict[TopicPartition, Position], after: dict[TopicPartition, Position]
) -> None:
    assert broken(commit, before, after) == []


def test_an_end_that_is_heard_of_too_late_is_no_position() -> None:
    assert run_seed(*LATE).violations == ()
