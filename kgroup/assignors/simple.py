"""`simple`, the assignor of share groups (KIP-932): members share partitions where there are too few.

Source: SimpleAssignor of Kafka 4.3.1. With equal subscriptions all partitions are dealt with at once,
else every topic by itself between its own subscribers.
"""

from collections.abc import Mapping, Sequence

from kgroup.assignors.coordinator_view import CoordinatorView, coordinator_view
from kgroup.assignors.java_order import int_set_order, spread
from kgroup.assignors.model import TargetAssignment, TargetMember, Topic, TopicPartition
from kgroup.assignors.simple_sharing import Sharing

Assignable = Mapping[str, Sequence[int]] | None


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


def _share_equal(view: CoordinatorView, assignable: Assignable) -> TargetAssignment:
    subscribed = view.subscribed(view.members[0])
    wanted = set(subscribed)
    held: dict[int, list[TopicPartition]] = {}
    for number, member in enumerate(view.members):
        held[number] = [
            (name, partition)
            for name in view.in_map_order(member.assigned)
            if name in wanted
            for partition in int_set_order(member.assigned[name])
        ]
    assignment = {
        member.member_id: {name: list(parts) for name, parts in member.assigned.items() if name in wanted}
        for member in view.members
    }
    targets = [partition for name in subscribed for partition in _targets(view, name, assignable)]
    hashes = {name: 31 * code for name, code in view.topic_hashes.items()}
    sharing = Sharing(
        targets=targets,
        takers=list(range(len(view.members))),
        held=held,
        spread_of=lambda partition: spread(hashes[partition[0]] + partition[1]),
    )
    _apply(view, sharing, assignment)
    return assignment


def _share_mixed(view: CoordinatorView, assignable: Assignable) -> TargetAssignment:
    takers: dict[str, list[int]] = {}
    for number, member in enumerate(view.members):
        for name in view.subscribed(member):
            takers.setdefault(name, []).append(number)
    if not takers:
        return {}
    assignment = {
        member.member_id: {name: list(parts) for name, parts in member.assigned.items()} for member in view.members
    }
    for name, numbers in takers.items():
        held = {
            number: [(name, partition) for partition in int_set_order(member.assigned[name])]
            for number, member in enumerate(view.members)
            if name in member.assigned
        }
        sharing = Sharing(
            targets=_targets(view, name, assignable),
            takers=numbers,
            held=held,
            spread_of=lambda partition: spread(partition[1]),
        )
        _apply(view, sharing, assignment)
    return assignment


def _targets(view: CoordinatorView, name: str, assignable: Assignable) -> list[TopicPartition]:
    everything = range(view.topics[name].partitions)
    if assignable is None:
        return [(name, number) for number in everything]
    allowed = set(assignable.get(name, ()))
    return [(name, number) for number in everything if number in allowed]


def _apply(view: CoordinatorView, sharing: Sharing, assignment: TargetAssignment) -> None:
    sharing.share()
    hands = [assignment[member.member_id] for member in view.members]
    for number, (name, partition) in sharing.revoked:
        hands[number][name].remove(partition)
    for number, (name, partition) in sharing.given:
        hand = hands[number]
        if name in hand:
            hand[name].append(partition)
        else:
            hand[name] = [partition]
