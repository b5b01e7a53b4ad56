"""Epochs that one round of a classic group would have been, and those that would have been two."""

from typing import Any

import pytest

from kgroup.history.timeline.model import CauseKind
from kgroup.history.what_if.classic_rounds import ROUND_MS, in_rounds
from kgroup.history.what_if.schedule import Departure, Moment

STAY: Any = object()


def comes(key: int, at_ms: int | None, **more: Any) -> Moment:
    return Moment(index=key, at_ms=at_ms, joins=((key, STAY),), **more)


def goes(key: int, at_ms: int) -> Moment:
    return Moment(index=0, at_ms=at_ms, departures=(Departure(key, CauseKind.LEAVE, 0),))


def rounds(*moments: Moment, of_epochs: bool = True) -> list[tuple[list[int], list[int]]]:
    """Who comes and who goes in each round."""
    return [
        ([key for key, _ in each.joins], [departure.key for departure in each.departures])
        for each in in_rounds(moments, [of_epochs] * len(moments))
    ]


@pytest.mark.parametrize("later_ms", [0, 1, ROUND_MS - 1])
def test_who_comes_while_a_round_lasts_is_in_it(later_ms: int) -> None:
    assert rounds(comes(1, 0), comes(2, later_ms)) == [([1, 2], [])]


def test_a_round_that_is_over_is_over() -> None:
    assert rounds(comes(1, 0), comes(2, ROUND_MS)) == [([1], []), ([2], [])]


def test_a_round_lasts_from_its_first_moment() -> None:
    assert rounds(comes(1, 0), comes(2, 2_000), comes(3, 4_000)) == [([1, 2], []), ([3], [])]


def test_who_came_before_may_go_in_it() -> None:
    assert rounds(comes(2, 0), goes(1, 100)) == [([2], [1])]


def test_who_comes_in_it_and_goes_again_makes_two() -> None:
    assert rounds(comes(1, 0), goes(1, 100)) == [([1], []), ([], [1])]


def test_moments_of_classic_groups_without_a_time_or_supposed_are_rounds_of_their_own() -> None:
    assert rounds(comes(1, 0), comes(2, 1), of_epochs=False) == [([1], []), ([2], [])]
    assert rounds(comes(1, 0), comes(2, None)) == [([1], []), ([2], [])]
    assert rounds(comes(1, 0), comes(2, 1, recorded=False)) == [([1], []), ([2], [])]
