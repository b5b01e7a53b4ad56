"""Every capture that has a diary: replay finds what was done, and accuses nobody else."""

from pathlib import Path

import pytest

from kgroup.group.timeline_model import CauseKind, Grade
from tests.vectors import stories
from tests.vectors.case import VectorError
from tests.vectors.story import is_true, read_story

FIXTURES = Path(__file__).parents[2] / "fixtures"
FOLDERS = sorted(story.parent for story in FIXTURES.rglob("story.json"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(FIXTURES)))
def test_what_was_done_to_each_group_is_found_and_nothing_else(folder):
    cases = list(stories.cases(folder))
    assert cases
    assert [case for case in cases if case.failure] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(FIXTURES)))
def test_the_storm_is_named_and_only_the_storm(folder):
    story = read_story(folder)
    stormy = {t["group"] for t in story.truth if t["condition"] == "rebalance-storm"}
    named = {
        group
        for group, timeline in story.timelines.items()
        if any(pattern.name == "rebalance-storm" for pattern in timeline.patterns)
    }
    assert named == {group for group in stormy if not story.timelines[group].is_cut}


def test_enough_is_graded_for_that_to_mean_something():
    graded = [
        said
        for folder in FOLDERS
        for said in read_story(folder).said()
        if said.cause.grade is not Grade.UNKNOWN
    ]
    leaves = [said for said in graded if said.cause.kind is CauseKind.LEAVE]
    assert len(graded) > 600
    assert len(leaves) > 150


def test_a_cause_that_no_event_made_is_false():
    story = read_story(FIXTURES / "3.9.1" / "lives")
    said = next(s for s in story.said() if s.cause.kind is CauseKind.SESSION_EXPIRED)
    assert is_true(story, said) is True
    story.events[:] = [event for event in story.events if event["what"] != "kill-member"]
    assert is_true(story, said) is False


def test_a_folder_without_a_diary_is_no_story(tmp_path):
    with pytest.raises(VectorError):
        list(stories.cases(tmp_path))
