"""What a change's answer and the look afterwards say of it."""

import pytest

from kgroup.operations.model import Change, Position
from kgroup.operations.outcomes import Answer, Result, outcome

OLD, NEW, OTHER = Position(5, 1, "m"), Position(0), Position(3)
PLACE = ("orders", 2)
OK = Answer(refused={})
SILENT = Answer(refused=None)
REFUSED = Answer(refused={PLACE: "UNKNOWN_MEMBER_ID"})


@pytest.mark.parametrize(
    ("answer", "now", "text"),
    [
        (None, OLD, "not tried"),
        (OK, NEW, "done"),
        (OK, OLD, "differs: reads back as 5 of leader epoch 1 'm'"),
        (OK, OTHER, "differs: reads back as 3"),
        (OK, None, "differs: reads back as no offset"),
        (SILENT, NEW, "done"),
        (SILENT, OLD, "refused"),
        (SILENT, OTHER, "unknown: no answer, and now it is 3"),
        (REFUSED, OLD, "refused: UNKNOWN_MEMBER_ID (somebody has joined the group meanwhile)"),
        (REFUSED, NEW, "refused: UNKNOWN_MEMBER_ID (somebody has joined the group meanwhile)"),
    ],
)
def test_how_a_change_ended(answer: Answer | None, now: Position | None, text: str) -> None:
    change = Change(group="g", topic="orders", partition=2, old=OLD, new=NEW)
    commits = {} if now is None else {PLACE: now}
    assert outcome(change, answer, commits).text() == text


def test_an_answer_without_a_look_is_not_enough() -> None:
    change = Change(group="g", topic="orders", partition=2, old=OLD, new=NEW)
    assert outcome(change, OK, None).result is Result.UNKNOWN


def test_a_deletion_reads_back_as_nothing() -> None:
    change = Change(group="g", topic="orders", partition=2, old=OLD, new=None)
    assert outcome(change, OK, {}).result is Result.DONE
    assert outcome(change, OK, {PLACE: OLD}).result is Result.DIFFERS


def test_the_same_offset_with_other_metadata_is_not_what_was_written() -> None:
    change = Change(group="g", topic="orders", partition=2, old=None, new=NEW)
    assert outcome(change, OK, {PLACE: Position(0, -1, "x")}).result is Result.DIFFERS
