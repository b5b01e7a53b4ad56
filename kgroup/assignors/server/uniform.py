"""`uniform`, the default assignor of consumer groups (KIP-848): balanced, and moves little.

Source: UniformAssignor of Kafka 4.3.1. There are two algorithms: this one for groups whose members
all subscribe to the same topics, and `uniform_mixed` for the others.
"""

from collections.abc import Mapping, Sequence

from kgroup.assignors.java_order import int_set_order, table_for_copy
from kgroup.assignors.model import TargetAssignment, TargetMember, Topic
from kgroup.assignors.server.coordinator_view import CoordinatorView, coordinator_view, left_unassigned
from kgroup.assignors.server.uniform_mixed import assign_mixed


class UniformAssignor:
    """Kafka's UniformAssignor."""

    name = "uniform"

    def assign(
        self,
        members: Sequence[TargetMember],
        topics: Sequence[Topic],
        assignable: Mapping[str, Sequence[int]] | None = None,
        *,
        homogeneous: bool | None = None,
    ) -> TargetAssignment:
        """See `ServerAssignor.assign`; `assignable` does not apply to consumer groups.

        Answers an empty assignment where no member subscribes to a topic that exists.
        """
        view = coordinator_view(members, topics, homogeneous)
        if not view.members:
            return {}
        return view.by_name(_assign_equal(view) if view.homogeneous else assign_mixed(view))


def _assign_equal(view: CoordinatorView) -> TargetAssignment:
    """Members keep up to their quota, then those below it take what is free, one after the other.

    Where the division leaves partitions, that many members get one more: first those that have more
    than the quota already, in the order of the map, then the *last* of the others.
    """
    first = view.members[0]
    subscribed = view.in_map_order(view.subscribed(first), table_for_copy(len(first.topics)))
    if not subscribed:
        return {}
    free = _unowned(view, subscribed)
    quota, extra = divmod(sum(view.topics[name].partitions for name in subscribed), len(view.members))
    assignment: TargetAssignment = {}
    unfilled: list[tuple[str, int]] = []
    wanted_topics = set(subscribed)
    for member in view.members:
        keep = {
            name: list(dict.fromkeys(numbers))
            for name, numbers in member.assigned.items()
            if name in wanted_topics
        }
        assignment[member.member_id] = keep
        size = sum(map(len, keep.values()))
        if size <= quota:
            unfilled.append((member.member_id, quota - size))
            continue
        takes_extra = extra > 0
        extra -= takes_extra
        free += _give_up(view, member, keep, quota + takes_extra)
    start = 0
    for index, (member_id, room) in enumerate(unfilled):
        stop = start + room + (index >= len(unfilled) - extra)
        for name, number in free[start:stop]:
            assignment[member_id].setdefault(name, []).append(number)
        start = stop
    if start < len(free):
        raise left_unassigned()
    return assignment


def _unowned(view: CoordinatorView, subscribed: list[str]) -> list[tuple[str, int]]:
    owned: dict[str, set[int]] = {name: set() for name in subscribed}
    for member in view.members:
        for name, numbers in member.assigned.items():
            if name in owned:
                owned[name].update(numbers)
    return [
        (name, number)
        for name in subscribed
        for number in range(view.topics[name].partitions)
        if number not in owned[name]
    ]


def _give_up(
    view: CoordinatorView, member: TargetMember, keep: dict[str, list[int]], quota: int
) -> list[tuple[str, int]]:
    """Shorten what the member keeps to `quota` partitions; return what it gives up for others.

    That goes by the order of its map by topic id and of each set of partitions.
    """
    given_up: list[tuple[str, int]] = []
    for name in view.in_map_order(member.assigned):
        if name not in keep:
            continue
        if len(keep[name]) <= quota:
            quota -= len(keep[name])
            continue
        in_order = int_set_order(member.assigned[name])
        keep[name] = in_order[:quota]
        given_up += [(name, number) for number in in_order[quota:]]
        if quota == 0:
            del keep[name]
        quota = 0
    return given_up
