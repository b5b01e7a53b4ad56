"""Parts of a timeline: what lies in a span, around a moment, and what a what-if starts from."""

from dataclasses import replace

import pytest

from kgroup.history.timeline.model import CauseKind, Pattern
from kgroup.history.timeline.span import Span, around, extent, to_play, within
from kgroup.history.what_if.changes import Changes
from kgroup.history.what_if.what_if import what_if
from tests.history.group_log import GroupLog, member


def timeline():
    """Generations 1 to 4 at 10, 20, 30 and 40 s, commits until 50 s, an offset deleted at 35 s."""
    log = GroupLog()
    log.generation(10, 1, member("a", 0, 1, 2))
    log.commits(11, 19, 2, 0, 1, 2)
    log.generation(20, 2, member("a", 0, 1), member("b", 2))
    log.commits(21, 29, 2, 0, 1, 2)
    log.generation(30, 3, member("a", 0), member("b", 1), member("c", 2))
    log.remove_commit(35, 2)
    log.generation(40, 4, member("a", 0, 1), member("b", 2))
    log.commits(42, 50, 2, 0, 1, 2)
    return log.timeline()


def numbers(part):
    return [generation.roster.generation for generation in part.generations]


def seconds(since=None, until=None):
    return Span(
        since_ms=None if since is None else round(since * 1000),
        until_ms=None if until is None else round(until * 1000),
    )


@pytest.mark.parametrize(
    ("span", "generations"),
    [
        (seconds(), [1, 2, 3, 4]),
        (seconds(20), [2, 3, 4]),
        (seconds(20.001), [3, 4]),
        (seconds(until=30), [1, 2]),
        (seconds(20, 40), [2, 3]),
        (seconds(41), []),
    ],
)
def test_a_span_begins_with_its_first_moment_and_ends_before_its_last(span, generations) -> None:
    assert numbers(within(timeline(), span)) == generations


@pytest.mark.parametrize(
    ("span", "meets"),
    [
        (seconds(), True),
        (seconds(20), True),
        (seconds(20.001), False),
        (seconds(until=10), False),
        (seconds(until=10.001), True),
        (seconds(12, 13), True),
    ],
)
def test_a_pattern_lies_in_a_span_if_some_of_it_does(span, meets) -> None:
    lasts = Pattern(
        name="rebalance-storm",
        from_ms=10_000,
        to_ms=20_000,
        first_generation=1,
        last_generation=9,
        member_ids=(),
        evidence="",
        remedy=None,
    )
    assert span.meets(lasts) is meets
    assert span.meets(replace(lasts, from_ms=None, to_ms=None))


def test_what_happened_between_generations_is_cut_too() -> None:
    assert len(within(timeline(), seconds(30, 40)).occurrences) == 1
    assert within(timeline(), seconds(36)).occurrences == []


@pytest.mark.parametrize(
    ("moment", "generations"),
    [
        (seconds(20, 21), [2]),
        (seconds(15, 35), [2, 3]),
        (seconds(25, 26), [2, 3]),  # nothing began then: what was in force, and what came next
        (seconds(5, 6), [1]),
        (seconds(60, 61), [4]),
    ],
)
def test_around_a_moment_without_a_rebalance_are_its_neighbours(moment, generations) -> None:
    assert numbers(around(timeline(), moment)) == generations


def test_the_extent_is_from_the_first_record_to_the_last() -> None:
    assert extent([timeline()]) == (10_000, 50_000)
    assert extent([]) is None


def test_what_is_played_starts_from_the_generation_in_force() -> None:
    part = to_play(timeline(), seconds(25, 35))
    assert numbers(part) == [2, 3]
    assert [cause.kind for cause in part.generations[0].causes] == [CauseKind.HISTORY_CUT]
    assert numbers(to_play(timeline(), seconds(until=25))) == [1, 2]
    assert numbers(to_play(timeline(), seconds(5, 15))) == [1]
    assert numbers(to_play(timeline(), seconds(60))) == []


def test_a_what_if_of_one_rebalance_counts_that_one() -> None:
    compared = what_if(to_play(timeline(), seconds(25, 35)), Changes(pause_ms=1000))
    assert [played.generation for played in compared.recorded.rounds] == [3]
    assert compared.recorded.moved == 2  # 1 from a to b, 2 from b to c
