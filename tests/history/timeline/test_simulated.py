"""Replay of simulated worlds full of trouble, of which the trace tells the truth."""

from collections import Counter

import pytest

from benchmarks.causes_simulated import Judged, judge_seed, table
from kgroup.history.timeline.model import CauseKind, Grade

SEEDS = range(16)


@pytest.fixture(scope="module")
def judged() -> list[Judged]:
    return [one for seed in SEEDS for one in judge_seed(seed)]


def test_nearly_everything_that_replay_is_sure_of_is_what_happened(judged):
    """Not all: what follows from a rhythm of commits is likely, and these members and clocks are erratic."""
    graded = [one for one in judged if one.is_graded]
    false = [one for one in graded if not one.is_true]
    assert len(graded) > 5 * len(SEEDS)
    assert len(false) <= 0.05 * len(graded), false


def test_what_a_record_says_is_always_true(judged):
    recorded = [one for one in judged if one.cause.grade is Grade.RECORDED]
    assert [one for one in recorded if not one.is_true] == []


def test_these_worlds_have_members_that_leave_and_members_that_expire(judged):
    happened = Counter(kind for one in judged for kind in one.happened)
    assert happened[CauseKind.LEAVE] > 0 and happened[CauseKind.SESSION_EXPIRED] > 0
    lines = table(judged).splitlines()
    assert lines[0].split() == ["cause", "graded", "precision", "named", "recall", "left", "open"]
    assert any(line.startswith("leave") for line in lines)


def test_a_member_that_left_because_nobody_polled_is_told_from_one_that_was_stopped():
    """In seed 3116 a slow member's poll interval runs out; in the seeds above members are stopped."""
    (one,) = (one for one in judge_seed(3116) if CauseKind.POLL_INTERVAL_EXCEEDED in one.happened)
    assert one.cause.kind is CauseKind.POLL_INTERVAL_EXCEEDED
    assert one.is_graded and one.is_true and CauseKind.LEAVE not in one.happened
