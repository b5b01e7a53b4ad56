"""Every capture that has a diary: replay and findings name what was done, and accuse nobody else."""

import json
import shutil
from pathlib import Path

import pytest

from kgroup.history.timeline.model import CauseKind, Grade
from tests.vectors import stories
from tests.vectors.case import VectorError
from tests.vectors.story import HeldError, is_true, read_story
from tests.vectors.story_findings import JUDGES, false_findings, find_in, finder, lag_failure
from tests.vectors.story_statuses import contradictions

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


@pytest.mark.parametrize(
    ("after_the_tool_ended_ms", "begun_before_ms", "is_made"),
    [
        (1_500, 0, True),
        (1_501, 0, False),
        (-1_500, 0, True),
        (-1_501, 0, False),
        (-38_500, 37_000, True),
        (-38_501, 37_000, False),
    ],
)
def test_a_reset_lies_in_the_time_in_which_its_tool_ran(after_the_tool_ended_ms, begun_before_ms, is_made):
    story = read_story(FIXTURES / "3.9.1" / "lives")
    said = next(s for s in story.said() if s.cause.kind is CauseKind.OFFSET_RESET)
    ended_ms = said.at_ms - after_the_tool_ended_ms
    for condition in story.truth:
        if condition["condition"] == "rewind-by-admin":
            condition.update(from_ms=ended_ms - begun_before_ms, to_ms=ended_ms)
    for event in story.of(said.group, "admin", "alter"):
        event["t"] = ended_ms
    assert is_true(story, said) is is_made


LIVES = [folder for folder in FOLDERS if folder.name == "lives"]


@pytest.mark.parametrize("folder", LIVES, ids=lambda folder: folder.parent.name)
def test_the_lag_conditions_of_a_rich_capture_are_all_judged_and_found(folder):
    story = read_story(folder)
    answers = find_in(folder, story.stopped_ms)
    judged = {t["condition"]: lag_failure(story, t, answers) for t in story.truth if t["condition"] in JUDGES}
    assert judged == dict.fromkeys(
        (
            "stuck-no-commits",
            "stuck-one-partition",
            "lag-growing",
            "caught-up-idle",
            "empty-with-lag-growing",
        )
    )


def test_conditions_that_are_over_or_gone_are_held():
    folder = FIXTURES / "3.9.1" / "lives"
    story = read_story(folder)
    answers = find_in(folder, story.stopped_ms)
    stuck = next(t for t in story.truth if t["condition"] == "stuck-no-commits")
    with pytest.raises(HeldError, match="over before the log ends"):
        lag_failure(story, {**stuck, "to_ms": stuck["to_ms"] - 61_000}, answers)
    with pytest.raises(HeldError, match="nothing of the group is left"):
        lag_failure(story, {**stuck, "group": "nosuch"}, answers)
    assert "no stopped-group" in (lag_failure(story, {**stuck, "group": "orders-app"}, answers) or "")


@pytest.mark.parametrize("folder", LIVES, ids=lambda folder: folder.parent.name)
def test_a_finding_without_a_cause_in_the_diary_is_false(folder):
    story = read_story(folder)
    answers = find_in(folder, story.stopped_ms)
    assert [group for group, false in false_findings(story, answers) if false] == []
    story.truth[:] = [t for t in story.truth if t["group"] not in ("warehouse-stuck", "search-indexer")]
    accused = [group for group, false in false_findings(story, answers) if false]
    assert accused == ["search-indexer", "warehouse-stuck"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(FIXTURES)))
def test_status_and_findings_fit_each_other_whenever_one_asks(folder):
    stopped_ms = read_story(folder).stopped_ms
    found_at = finder(folder)
    for later_s in (-60, 0, 60, 299, 600, 86_400):
        answers = found_at(stopped_ms + later_s * 1000)
        assert {group: against for group, against in contradictions(answers) if against} == {}, later_s


def test_a_status_without_a_finding_and_a_finding_without_a_status_contradict_each_other():
    folder = FIXTURES / "3.9.1" / "lives"
    answers = find_in(folder, read_story(folder).stopped_ms)
    others = answers.findings["orders-app"], answers.findings["left-behind"]
    answers.findings["warehouse-stuck"], answers.findings["orders-app"] = others[0], others[1]
    wrong = {group: against for group, against in contradictions(answers) if against}
    assert set(wrong) == {"warehouse-stuck", "orders-app"}
    assert "STOP, findings are []" in wrong["warehouse-stuck"][0]
    assert "OK, findings are ['dead-with-lag']" in wrong["orders-app"][0]


def test_a_folder_without_a_diary_is_no_story(tmp_path):
    with pytest.raises(VectorError):
        list(stories.cases(tmp_path))


def test_a_diary_whose_condition_lacks_a_field_is_one_failing_case(tmp_path):
    capture = tmp_path / "protocols"
    shutil.copytree(FIXTURES / "4.4.0" / "protocols", capture)
    story = json.loads((capture / "story.json").read_text(encoding="utf-8"))
    for condition in story["truth"]:
        condition.pop("topic", None)
    (capture / "story.json").write_text(json.dumps(story), encoding="utf-8")
    *_, last = stories.cases(tmp_path)
    assert last.failure == "KeyError: 'topic'"
