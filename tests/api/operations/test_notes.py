"""Lines on many groups: what is the same for several is said once."""

from kgroup.api.operations.notes import GroupNotes, note_lines
from kgroup.operations.model import Change, PlanRow, Position


def rows(group: str, again: int) -> list[PlanRow]:
    change = Change(group=group, topic="t", partition=0, old=Position(again), new=Position(0))
    return [PlanRow(change=change)]


def test_of_one_group_every_line_names_it() -> None:
    notes = GroupNotes(group="g", before=["clamped"], rows=rows("g", 5), after=["expires"], unread=["t-0"])
    assert note_lines([notes]) == (
        "g: clamped",
        "time unknown: t-0",
        "g: 5 records will be read again",
        "g: expires",
    )


def test_sums_of_a_few_groups_are_told_of_each_and_what_is_the_same_once() -> None:
    notes = [GroupNotes(group=name, rows=rows(name, 5), after=["expires"], unread=["t-0"]) for name in "ab"]
    assert note_lines(notes) == (
        "time unknown: t-0",
        "a: 5 records will be read again",
        "b: 5 records will be read again",
        "a, b: expires",
    )


def test_sums_of_many_groups_are_told_of_all() -> None:
    names = [f"g{number}" for number in range(300)]
    notes = [GroupNotes(group=name, rows=rows(name, 5), after=["expires"]) for name in names]
    sums, rest = note_lines(notes)
    assert sums == "300 groups: 1,500 records will be read again"
    assert rest.startswith("g0, g1, ") and rest.endswith(" more: expires")


def test_a_group_without_sums_has_none() -> None:
    assert note_lines([GroupNotes(group="g", after=["is as it was before"])]) == ("g: is as it was before",)
