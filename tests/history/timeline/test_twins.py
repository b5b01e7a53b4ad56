"""What a log cannot say of departures: two lives with different causes that leave the same records."""

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.causes_twins import Diary, diaries_of, twins_of
from kgroup.protocol.requests.coordinator import JoinGroup

SEEDS = range(1000, 1006)


@pytest.fixture(scope="module")
def diaries() -> list[Diary]:
    return [diary for seed in SEEDS for diary in diaries_of(seed)]


def test_a_coordinator_that_is_asked_the_same_writes_the_same(diaries: list[Diary]) -> None:
    assert len(diaries) > len(SEEDS)
    assert all(diary.played(diary.calls) == diary.records for diary in diaries)
    assert any(diary.records for diary in diaries)


def test_every_expired_session_has_a_twin_that_left_at_that_moment(diaries: list[Diary]) -> None:
    found = Counter(twin[:2] for diary in diaries for twin in twins_of(diary))
    assert found["session-expired", True] > 0
    assert found["session-expired", False] == 0


def test_who_said_something_within_its_session_has_left(diaries: list[Diary]) -> None:
    """A member that committed just before it was gone was not silent: of it the log tells."""
    found = Counter(twin[:2] for diary in diaries for twin in twins_of(diary))
    assert found["leave", False] > 0


def test_a_life_without_one_of_its_joins_is_another_one(diaries: list[Diary]) -> None:
    diary = next(diary for diary in diaries if diary.departures)
    join = next(
        number
        for number, call in enumerate(diary.calls)
        if call.name == "decide" and isinstance(call.arguments[0].body, JoinGroup)
    )
    without = [call for number, call in enumerate(diary.calls) if number != join]
    assert diary.played(without) != diary.records
    later = [replace(call, now_ms=None if call.now_ms is None else call.now_ms + 1) for call in diary.calls]
    assert diary.played(later) != diary.records
