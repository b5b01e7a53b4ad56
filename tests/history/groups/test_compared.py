"""What changed between two moments: each kind of change, and what is none."""

from uuid import UUID

import pytest

from kgroup.history.groups.compared import Change, ChangeKind, Committed, Moment, changes
from kgroup.history.groups.model import Group, GroupKind, GroupState, Member

K = ChangeKind
PLACE = ("orders", 3)


def member(name: str, instance_id: str | None = None) -> Member:
    return Member(member_id=f"{name}-id", instance_id=instance_id, client_id=name, client_host="/h")


def group(**how: object) -> Group:
    usual = {"kind": GroupKind.CLASSIC, "state": GroupState.STABLE, "protocol": "range"}
    return Group(group_id="g", **{**usual, **how})  # type: ignore[arg-type]  # a table of fields


def moment(there: Group | None = None, at: Committed | None = None) -> Moment:
    return Moment(
        groups={} if there is None else {"g": there},
        committed={} if at is None else {"g": {PLACE: at}},
    )


def found(before: Moment, after: Moment) -> list[tuple[ChangeKind, object, object, int | None]]:
    return [(each.kind, each.before, each.after, each.difference) for each in changes(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, group(), (K.GROUP_CAME, None, "classic, Stable")),
        (group(state=GroupState.EMPTY), None, (K.GROUP_GONE, "classic, Empty", None)),
        (group(), group(state=GroupState.EMPTY, protocol=None), (K.STATE, "Stable", "Empty")),
        (group(), group(protocol="sticky"), (K.PROTOCOL, "classic, range", "classic, sticky")),
        (group(), group(kind=GroupKind.CONSUMER, protocol=None), (K.PROTOCOL, "classic, range", "consumer")),
        (
            group(members=(member("a"), member("b"))),
            group(members=(member("b"),)),
            (K.MEMBERS_GONE, "a", None),
        ),
        (group(), group(members=(member("b", "static"), member("a"))), (K.MEMBERS_CAME, None, "a, static")),
    ],
)
def test_a_change_of_a_group(
    before: Group | None, after: Group | None, expected: tuple[ChangeKind, object, object]
) -> None:
    assert found(moment(before), moment(after)) == [(*expected, None)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Committed(offset=5), Committed(offset=9), (K.OFFSET_FORWARD, 5, 9, 4)),
        (Committed(offset=9), Committed(offset=0), (K.OFFSET_BACK, 9, 0, -9)),
        (None, Committed(offset=9), (K.OFFSET_CAME, None, 9, None)),
        (Committed(offset=9), None, (K.OFFSET_GONE, 9, None, None)),
        (
            Committed(offset=9, topic_id=UUID(int=1)),
            Committed(offset=9, topic_id=UUID(int=2)),
            (K.TOPIC_RECREATED, 9, 9, None),
        ),
    ],
)
def test_a_change_of_an_offset(
    before: Committed | None, after: Committed | None, expected: tuple[ChangeKind, object, object, int | None]
) -> None:
    assert found(moment(group(), before), moment(group(), after)) == [expected]


def test_the_same_is_no_change_and_an_id_that_only_one_side_knows_neither() -> None:
    same = moment(group(members=(member("a"),)), at=Committed(offset=9))
    known = moment(group(members=(member("a"),)), at=Committed(offset=9, topic_id=UUID(int=1)))
    assert found(same, same) == found(same, known) == []


def test_changes_name_their_group_and_place() -> None:
    (change,) = changes(moment(group(), at=Committed(offset=1)), moment(group(), at=Committed(offset=3)))
    assert change == Change(
        group="g", kind=K.OFFSET_FORWARD, topic="orders", partition=3, before=1, after=3, difference=2
    )
