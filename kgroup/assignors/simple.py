"""`simple`, the assignor of share groups (KIP-932): members share partitions where there are too few.

Source: SimpleAssignor of Kafka 4.3.1. With equal subscriptions all partitions are dealt with at once,
else every topic by itself between its own subscribers.
"""

from collections.abc import Mapping, Sequence

from kgroup.assignors.coordinator_view import CoordinatorView, coordinator_view
from kgroup.assignors.java_order import int_set_order, spread_all
from kgroup.assignors.model import TargetAssignment, TargetMember, Topic
from kgroup.assignors.simple_sharing import Sharing

Assignable = Mapping[str, Sequence[int]] | None

# An assignment whose lists belong to the members' present one until they change.
Shares = dict[str, dict[str, Sequence[int]]]


class SimpleAssignor:
    """Kafka's SimpleAssignor."""

    name = "simple"

    def assign(
        self,
        members: Sequence[TargetMember],
        topics: Sequence[Topic],
        assignable: Mapping[str, Sequence[int]] | None = None,
    ) -> TargetAssignment:
        """See `ServerAssignor.assign`.

        A partition may be with several members. Answers an empty assignment where no member names a
        topic, and with different subscriptions also where none of the topics exists.
        """
        view = coordinator_view(members, topics)
        if not any(member.topics for member in view.members):
            return {}
        share = _share_equal if view.homogeneous else _share_mixed
        return view.by_name(share(view, assignable))


def _share_equal(view: CoordinatorView, assignable: Assignable) -> Shares:
    """All partitions at once, each as one number: its topic's place above 32 bits, and its own id."""
    names = list(view.topic_hashes)
    bases = {name: place << _ID_BITS for place, name in enumerate(names)}
    hashes = [31 * code for code in view.topic_hashes.values()]
    subscribed = view.subscribed(view.members[0])
    wanted = set(subscribed)
    held: dict[int, list[int]] = {}
    for number, member in enumerate(view.members):
        held[number] = mine = []
        for name in view.in_map_order(member.assigned):
            if name in wanted:
                base = bases[name]
                mine += [base + partition for partition in int_set_order(member.assigned[name])]
    sharing = Sharing(
        targets=[bases[name] + n for name in subscribed for n in _targets(view, name, assignable)],
        takers=list(range(len(view.members))),
        held=held,
        spreads=lambda keys: spread_all([hashes[key >> _ID_BITS] + (key & _ID_MASK) for key in keys]),
    )
    sharing.share()
    assignment: Shares = {
        member.member_id: {name: parts for name, parts in member.assigned.items() if name in wanted}
        for member in view.members
    }
    hands = list(assignment.values())
    for number, keys in sharing.revoked.items():
        for name, revoked in _by_topic(keys, names).items():
            hands[number][name] = [partition for partition in hands[number][name] if partition not in revoked]
    for number, keys in sharing.given.items():
        hand = hands[number]
        for name, given in _by_topic(keys, names).items():
            hand[name] = [*hand[name], *given] if name in hand else given
    return assignment


_ID_BITS = 32
_ID_MASK = (1 << _ID_BITS) - 1


def _by_topic(keys: Sequence[int], names: Sequence[str]) -> dict[str, list[int]]:
    by_place: dict[int, list[int]] = {}
    for key in keys:
        place = key >> _ID_BITS
        if place in by_place:
            by_place[place].append(key & _ID_MASK)
        else:
            by_place[place] = [key & _ID_MASK]
    return {names[place]: numbers for place, numbers in by_place.items()}


def _share_mixed(view: CoordinatorView, assignable: Assignable) -> Shares:
    takers: dict[str, list[int]] = {}
    for number, member in enumerate(view.members):
        for name in view.subscribed(member):
            takers.setdefault(name, []).append(number)
    if not takers:
        return {}
    assignment = {member.member_id: dict(member.assigned) for member in view.members}
    hands = list(assignment.values())
    holders: dict[str, dict[int, list[int]]] = {name: {} for name in takers}
    for number, member in enumerate(view.members):
        for name, partitions in member.assigned.items():
            if name in holders:
                holders[name][number] = int_set_order(partitions)
    for name, numbers in takers.items():
        sharing = Sharing(
            targets=_targets(view, name, assignable), takers=numbers, held=holders[name], spreads=spread_all
        )
        sharing.share()
        for number, revoked in sharing.revoked.items():
            hands[number][name] = [partition for partition in hands[number][name] if partition not in revoked]
        for number, given in sharing.given.items():
            hands[number][name] = [*hands[number].get(name, ()), *given]
    return assignment


def _targets(view: CoordinatorView, name: str, assignable: Assignable) -> Sequence[int]:
    everything = range(view.topics[name].partitions)
    if assignable is None:
        return everything
    allowed = set(assignable.get(name, ()))
    return [number for number in everything if number in allowed]
