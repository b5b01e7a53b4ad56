"""Who was away from a group, and for how long."""

import pytest

from kgroup.history.advise.absences import absences
from tests.history.group_log import GroupLog, member


@pytest.mark.parametrize(
    ("back_s", "away_ms"),
    [(50, 0), (80, 30_000), (None, None)],
    ids=["in-the-same-round", "later", "never"],
)
def test_a_process_is_away_until_it_has_another_member_id(back_s: int | None, away_ms: int | None) -> None:
    log = GroupLog()
    stays, again = member("a", 0), member("b-again", 1, client="b")
    log.generation(0, 1, stays, member("b", 1))
    if back_s != 50:
        log.generation(50, 2, member("a", 0, 1))
    if back_s is not None:
        log.generation(back_s, 3, stays, again)
    (gone,) = absences(log.timeline().generations)
    assert (gone.process, gone.away_ms) == ("b", away_ms)
