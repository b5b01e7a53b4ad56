"""Commits into an empty group."""

from kgroup.history.timeline.model import CauseKind
from tests.history.group_log import GroupLog, member


def reset_to(offset):
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    log.commit(2, 0, 100)
    log.generation(4, 2)
    log.commit(6, 0, offset)
    (reset,) = log.timeline().occurrences
    assert reset.cause.kind is CauseKind.OFFSET_RESET
    return reset.cause.evidence


def test_a_reset_forward_says_how_far_it_goes():
    assert reset_to(400) == "committed while the group had no members: t-0: 100 to 400 (300 further)"


def test_a_reset_back_says_where_to():
    assert reset_to(40) == "committed while the group had no members: t-0: 100 to 40"
