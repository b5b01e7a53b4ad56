"""The generations of a time that is to be played again."""

import pytest

from kgroup.history.reenactment.plan import window
from tests.history.group_log import GroupLog, member

LOG = GroupLog()
for number, at_s in enumerate((0, 50, 100), 1):
    LOG.generation(at_s, number, member(f"m{number}", 0))
GENERATIONS = LOG.timeline().generations
START_MS = GENERATIONS[0].roster.at_ms or 0


@pytest.mark.parametrize(
    ("since_s", "until_s", "played"),
    [
        (None, None, [(1, 0), (2, 50), (3, 100)]),
        (50, None, [(2, 50), (3, 100)]),
        (51, None, [(2, 51), (3, 100)]),
        (None, 100, [(1, 0), (2, 50)]),
        (None, 101, [(1, 0), (2, 50), (3, 100)]),
        (60, 90, [(2, 60)]),
    ],
    ids=["all", "from-one-on", "from-the-midst-of-one", "up-to-one", "with-the-last", "within-one"],
)
def test_what_is_in_force_at_the_beginning_is_played_and_what_comes_at_the_end_is_not(
    since_s: int | None, until_s: int | None, played: list[tuple[int, int]]
) -> None:
    generations, times = window(
        GENERATIONS,
        None if since_s is None else START_MS + since_s * 1000,
        None if until_s is None else START_MS + until_s * 1000,
    )
    numbers = [generation.roster.generation for generation in generations]
    assert list(zip(numbers, [(at_ms - START_MS) // 1000 for at_ms in times], strict=True)) == played
