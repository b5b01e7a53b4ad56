"""The way back, whatever was done of a plan before the process died."""

from hypothesis import given
from hypothesis import strategies as st

from kgroup.operations.journal import (
    JournalHead,
    Step,
    StepKind,
    applied_line,
    begun_line,
    parse_journal,
    plan_text,
)
from kgroup.operations.model import Change, Position, Target
from kgroup.operations.undo import DELETED_SINCE, GONE_SINCE, MOVED_SINCE, groups_to_delete, way_back
from kgroup.protocol.topic_partition import TopicPartition

Commits = dict[TopicPartition, Position]
POSITIONS = st.one_of(
    st.none(), st.builds(Position, st.integers(0, 5), st.integers(-1, 1), st.sampled_from("ab"))
)
HEAD = JournalHead(
    command="reset-offsets",
    cluster_id=None,
    bootstrap_servers="a:1",
    created_ms=0,
    existed={"g": True, "n": False},
)


def change(partition: int, old: Position | None, new: Position | None) -> Change:
    return Change(group="g", topic="t", partition=partition, old=old, new=new)


def step(*changes: Change) -> Step:
    return Step(kind=StepKind.COMMIT, group="g", changes=changes)


def made(commits: Commits, changes: tuple[Change, ...]) -> None:
    for each in changes:
        if each.new is None:
            commits.pop(each.place, None)
        else:
            commits[each.place] = each.new


def undone(text: str, commits: Commits) -> Commits:
    way = way_back(parse_journal(text, "f"), "g", commits)
    after = dict(commits)
    for place, target in way.targets.items():
        if target.position is None:
            after.pop(place, None)
        else:
            after[place] = target.position
    return after


@given(
    positions=st.lists(st.tuples(POSITIONS, POSITIONS), min_size=1, max_size=6),
    at_once=st.integers(1, 3),
    dies_after=st.integers(0, 40),
    refused=st.sets(st.integers(0, 5)),
)
def test_whenever_the_process_dies_undo_gives_the_state_before(
    positions: list[tuple[Position | None, Position | None]], at_once: int, dies_after: int, refused: set[int]
) -> None:
    """Each write of a mark and each request is a moment, and the last mark may be half written."""
    changes = [change(number, old, new) for number, (old, new) in enumerate(positions)]
    steps = [step(*changes[first : first + at_once]) for first in range(0, len(changes), at_once)]
    before = {each.place: each.old for each in changes if each.old is not None}
    commits, text = dict(before), plan_text(HEAD, steps)
    moments = 0
    for number, each in enumerate(steps):
        failed = {one.place: "REFUSED" for one in each.changes if one.partition in refused}
        for mark in (begun_line(number), None, applied_line(number, failed)):
            moments += 1
            if moments > dies_after:
                text += (mark or "")[: dies_after % 7]
                assert undone(text, commits) == before
                return
            if mark is None:
                made(commits, tuple(one for one in each.changes if one.place not in failed))
            else:
                text += mark
    assert undone(text, commits) == before


def test_undo_twice_is_undo_once() -> None:
    text = plan_text(HEAD, [step(change(0, Position(5), Position(0)))]) + begun_line(0) + applied_line(0, {})
    once = undone(text, {("t", 0): Position(0)})
    assert once == {("t", 0): Position(5)}
    assert way_back(parse_journal(text, "f"), "g", once).targets == {}


def test_what_was_refused_is_not_undone_even_if_it_looks_done() -> None:
    """Somebody else has committed what the plan was to write."""
    plan = plan_text(HEAD, [step(change(0, Position(5), Position(0)))])
    text = plan + begun_line(0) + applied_line(0, {("t", 0): "REFUSED"})
    assert way_back(parse_journal(text, "f"), "g", {("t", 0): Position(0)}).targets == {}


def test_what_has_moved_since_is_restored_with_a_word() -> None:
    plan = plan_text(HEAD, [step(change(0, Position(5), Position(0)))])
    text = plan + begun_line(0) + applied_line(0, {})
    way = way_back(parse_journal(text, "f"), "g", {("t", 0): Position(3)})
    assert way.targets == {("t", 0): Target(position=Position(5), why=MOVED_SINCE)}


def test_what_has_been_deleted_since_is_restored_with_a_word() -> None:
    plan = plan_text(HEAD, [step(change(0, Position(5), Position(0)))])
    text = plan + begun_line(0) + applied_line(0, {})
    way = way_back(parse_journal(text, "f"), "g", {})
    assert way.targets == {("t", 0): Target(position=Position(5), why=DELETED_SINCE)}


def test_a_partition_that_is_gone_is_left() -> None:
    plan = plan_text(HEAD, [step(*(change(number, Position(5), Position(0)) for number in (0, 1)))])
    text = plan + begun_line(0) + applied_line(0, {})
    way = way_back(parse_journal(text, "f"), "g", {("t", 1): Position(0)})
    way.leave_gone({("t", 0), ("elsewhere", 1)})
    assert (way.targets, way.left) == (
        {("t", 1): Target(position=Position(5))},
        {("t", 0): GONE_SINCE},
    )


def test_what_nobody_can_say_is_left_alone() -> None:
    """The process died at the request, and now there is a third offset: was it made, and read on from?"""
    text = plan_text(HEAD, [step(change(0, Position(5), Position(0)))]) + begun_line(0)
    way = way_back(parse_journal(text, "f"), "g", {("t", 0): Position(3)})
    assert (way.targets, list(way.left)) == ({}, [("t", 0)])


def test_metadata_and_leader_epoch_belong_to_the_state_before() -> None:
    old, new = Position(5, 3, "m"), Position(5)
    text = plan_text(HEAD, [step(change(0, old, new))]) + begun_line(0) + applied_line(0, {})
    assert undone(text, {("t", 0): new}) == {("t", 0): old}


def test_steps_of_other_groups_are_others() -> None:
    text = plan_text(HEAD, [step(change(0, Position(5), Position(0)))]) + begun_line(0) + applied_line(0, {})
    assert way_back(parse_journal(text, "f"), "n", {("t", 0): Position(0)}).targets == {}


def test_only_a_group_that_the_change_made_is_deleted_and_only_when_it_is_empty() -> None:
    of_new = Change(group="n", topic="t", partition=0, old=None, new=Position(1))
    steps = [
        step(change(0, None, Position(1))),
        Step(kind=StepKind.COMMIT, group="n", changes=(of_new,)),
    ]
    journal = parse_journal(plan_text(HEAD, steps) + begun_line(0) + begun_line(1), "f")
    assert groups_to_delete(journal, {"g": {}, "n": {}}) == ["n"]
    assert groups_to_delete(journal, {"g": {}, "n": {("t", 0): Position(1)}}) == []
    of_others = parse_journal(plan_text(HEAD, steps) + begun_line(0), "f")
    assert groups_to_delete(of_others, {"g": {}, "n": {}}) == [], "somebody else has made it since"
