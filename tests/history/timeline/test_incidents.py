"""Commits into an empty group."""

import pytest

from kgroup.history.timeline.model import CauseKind, Grade
from tests.history.group_log import GroupLog, member

UNKNOWN = (Grade.UNKNOWN, (CauseKind.OFFSET_RESET, CauseKind.NO_MEMBERSHIP))
TOLD = (Grade.INFERRED, ())


def resets(*commits, back=True):
    """The commits (seconds, partition, offset) come into a group whose one member left at 4."""
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1))
    log.commit(2, 0, 100)
    log.commit(2, 1, 100)
    log.generation(4, 2)
    for at, partition, offset in commits:
        log.commit(at, partition, offset)
    if back:
        log.generation(100, 3, member("a", 0, 1))
    found = log.timeline().occurrences
    assert {one.cause.kind for one in found} <= {CauseKind.OFFSET_RESET}
    return found


def test_a_reset_forward_says_how_far_it_goes():
    (reset,) = resets((6, 0, 400))
    assert reset.cause.evidence == (
        "committed once, all at the same time, while the group had no members: t-0: 100 to 400 (300 further)"
    )


def test_a_reset_back_says_where_to():
    (reset,) = resets((6, 0, 40))
    assert reset.cause.evidence == "committed while the group had no members: t-0: 100 to 40"
    assert reset.cause.grade is Grade.RECORDED


# the commits while nobody is in the group, and the grade and the alternatives
FORWARD = {
    "all partitions at once": ([(6, 0, 400), (6.5, 1, 900)], TOLD),
    "one of two partitions": ([(6, 1, 400)], TOLD),
    "one partition after the other": ([(6, 0, 400), (8, 1, 400)], UNKNOWN),
    "again and again, as a consumer with assign() does": ([(6, 0, 400), (6.5, 0, 420)], UNKNOWN),
    "again much later": ([(6, 0, 400), (60, 0, 420)], UNKNOWN),
    "to where it was": ([(6, 0, 100)], UNKNOWN),
}


@pytest.mark.parametrize(("commits", "told"), FORWARD.values(), ids=FORWARD)
@pytest.mark.parametrize("back", [True, False])
def test_a_step_forward_is_a_reset_if_it_was_done_at_once(commits, told, back):
    (reset,) = resets(*commits, back=back)
    assert (reset.cause.grade, reset.cause.alternatives) == told


def rewinds(log: GroupLog) -> list[tuple[int | None, int]]:
    """The generations in which offsets went back, and of how many partitions each time."""
    return [
        (one.generation, len(one.partitions))
        for one in log.timeline().occurrences
        if one.cause.kind is CauseKind.REWIND
    ]


@pytest.mark.parametrize(("between", "found"), [(False, [(1, 2)]), (True, [(1, 1), (2, 1)])])
def test_what_goes_back_before_and_after_a_rebalance_is_not_one_act(between, found):
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1))
    log.commit(2, 0, 100)
    log.commit(2, 1, 100)
    log.commit(4, 0, 50)
    if between:
        log.generation(4.1, 2, member("a", 0, 1))
    log.commit(4.2, 1, 50)
    assert rewinds(log) == found


@pytest.mark.parametrize(("is_cut", "grade"), [(False, Grade.RECORDED), (True, Grade.INFERRED)])
def test_that_there_never_was_a_member_only_a_whole_log_can_say(is_cut, grade):
    log = GroupLog()
    if is_cut:
        log.commit(1, 0, 5)
        log.gap()
    log.commits(2, 8, 2, 0)
    (first, *_) = log.timeline().occurrences
    assert (first.cause.kind, first.cause.grade) == (CauseKind.NO_MEMBERSHIP, grade)


def test_two_that_something_else_parts_are_none():
    found = resets((6, 0, 400), (20, 1, 50), (60, 0, 500))
    assert [one.cause.grade for one in found] == [Grade.UNKNOWN, Grade.RECORDED, Grade.UNKNOWN]
