"""The undo journal: written, read again, cut short anywhere, and damaged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import InputError
from kgroup.operations.journal import (
    JournalHead,
    Step,
    StepKind,
    applied_line,
    begun_line,
    parse_journal,
    plan_text,
)
from kgroup.operations.model import Change, Position

HEAD = JournalHead(
    command="reset-offsets",
    cluster_id="c1",
    bootstrap_servers="a:9092",
    created_ms=1_700_000_000_000,
    existed={"billing": True, "näw\n": False},
)
STEPS = (
    Step(
        kind=StepKind.COMMIT,
        group="billing",
        changes=(
            Change(group="billing", topic="orders", partition=0, old=Position(5, 2, "m"), new=Position(0)),
            Change(group="billing", topic="orders", partition=1, old=None, new=Position(0)),
        ),
    ),
    Step(
        kind=StepKind.DELETE_OFFSETS,
        group="näw\n",
        changes=(Change(group="näw\n", topic="orders", partition=0, old=Position(9), new=None),),
    ),
    Step(kind=StepKind.DELETE_GROUP, group="näw\n", changes=()),
)
PLAN = plan_text(HEAD, STEPS)
REFUSED = {("orders", 1): "GROUP_AUTHORIZATION_FAILED"}
MARKS = [begun_line(0), applied_line(0, REFUSED), begun_line(1)]


def test_a_plan_is_read_as_it_was_written() -> None:
    journal = parse_journal(PLAN, "f")
    assert (journal.head, tuple(journal.steps)) == (HEAD, STEPS)
    assert (journal.begun, journal.applied, journal.failed) == (set(), set(), {})


def test_marks_say_how_far_it_came() -> None:
    journal = parse_journal(PLAN + "".join(MARKS), "f")
    assert (journal.begun, journal.applied, journal.failed) == ({0, 1}, {0}, {0: REFUSED})


@given(cut=st.integers(0, sum(map(len, MARKS))))
def test_a_mark_that_was_cut_short_was_not_made(cut: int) -> None:
    """A crash in the middle of a write leaves the beginning of a line, and never half of a plan."""
    marks = "".join(MARKS)[:cut]
    whole = marks.count("\n")
    journal = parse_journal(PLAN + marks, "f")
    assert (len(journal.begun) + len(journal.applied)) == whole


@given(cut=st.integers(0, len(PLAN) - 1))
def test_a_plan_that_was_cut_short_is_refused(cut: int) -> None:
    with pytest.raises(InputError, match=r"^f: (not an undo file|cut short)"):
        parse_journal(PLAN[:cut], "f")


@pytest.mark.parametrize("line", range(1, 6))
def test_a_plan_that_lacks_a_line_is_refused(line: int) -> None:
    lines = PLAN.splitlines(keepends=True)
    del lines[line]
    with pytest.raises(InputError, match=r"^f, line"):
        parse_journal("".join(lines), "f")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "f: not an undo file of kgroup"),
        ("orders,0,1\n", "f: not an undo file of kgroup"),
        ('{"format": "kgroup-undo/1"}\n{"planned": 0}\n', "f, line 1: no groups, or no time"),
        (PLAN + "{\n", "f, line 9: Expecting"),
        (PLAN + "7\n", "f, line 9: not an object"),
        (PLAN + '{"begun": 3}\n', "f, line 9: no mark of a step"),
        (PLAN + '{"begun": "0"}\n', "f, line 9: no mark of a step"),
        (PLAN + '{"applied": 0}\n', "f, line 9: failed: not a list"),
        (PLAN + '{"applied": 0, "failed": [1]}\n', "f, line 9: failed: not a list"),
        (PLAN.replace('"commit"', '"commot"'), "f, line 2: not the next step"),
        (PLAN.replace('"partition": 1', '"partition": "1"'), "f, line 4: no change of a partition"),
        (PLAN.replace('"offset": 9', '"offset": -9'), "f, line 6: old: offset: not 0 to"),
        (PLAN.replace('"new": null', '"now": null'), "f, line 6: new: missing"),
    ],
)
def test_damage_is_named_with_its_line(text: str, why: str) -> None:
    with pytest.raises(InputError, match=f"^{why}"):
        parse_journal(text, "f")
