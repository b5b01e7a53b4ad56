"""A coordinator asks the kind that a group is of; the first kind answers for groups that do not exist."""

from itertools import count

import pytest

from kgroup.group.coordinator.classic.groups import ClassicGroups
from kgroup.group.coordinator.coordinator import GroupKinds
from kgroup.group.coordinator.kinds import GroupsOfKind
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import Turn
from kgroup.group.coordinator.timers import Timers
from kgroup.protocol.records.keys import ConsumerGroupMetadataKey, GroupMetadataKey, OffsetCommitKey


class OtherGroups(ClassicGroups):
    """A second kind, as it would stand beside the classic one."""

    group_type = "consumer"
    record_keys = (ConsumerGroupMetadataKey,)


def groups_of(kind: type[ClassicGroups], *group_ids: str) -> GroupsOfKind:
    ids = count(1)
    groups = kind(GroupSettings(), Timers(), Turn(), lambda entry: None, lambda: str(next(ids)))
    for group_id in group_ids:
        groups.ensure(group_id, 0)
    return groups


@pytest.fixture
def kinds() -> GroupKinds:
    return GroupKinds(groups_of(ClassicGroups, "a", "b"), groups_of(OtherGroups, "c"))


@pytest.mark.parametrize(("group_id", "kind"), [("a", "classic"), ("c", "consumer"), ("nobody", "classic")])
def test_a_group_id_is_of_the_kind_that_has_it_else_of_the_first(
    kinds: GroupKinds, group_id: str, kind: str
) -> None:
    assert kinds.of(group_id).group_type == kind


def test_a_record_is_of_the_kind_that_its_key_names(kinds: GroupKinds) -> None:
    classic, other = kinds
    assert kinds.of_record(GroupMetadataKey(group="c")) is classic
    assert kinds.of_record(ConsumerGroupMetadataKey(group_id="a")) is other
    assert kinds.of_record(OffsetCommitKey(group="a", topic="orders", partition=0)) is None


def test_groups_are_listed_in_the_order_in_which_they_came_up(kinds: GroupKinds) -> None:
    assert [list(groups) for groups in kinds] == [["a", "b"], ["c"]]
    listed = [(each.group_id, each.group_type) for groups in kinds for each in groups.listing(frozenset())]
    assert listed == [("a", "classic"), ("b", "classic"), ("c", "consumer")]
