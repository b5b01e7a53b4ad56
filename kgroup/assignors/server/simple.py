"""`simple`, the assignor of share groups (KIP-932): members share partitions where there are too few.

Source: SimpleAssignor of Kafka 4.3.1. With equal subscriptions all partitions are dealt with at once,
else every topic by itself between its own subscribers.
"""

from collections.abc import Collection, Mapping, Sequence

from kgroup.assignors.java_order import int_set_order, sorted_strings, spread_all
from kgroup.assignors.model import TargetAssignment, TargetMember, Topic
from kgroup.assignors.server.coordinator_view import CoordinatorView, coordinator_view
from kgroup.assignors.server.simple_sharing import Sharing

Assignable = Mapping[str, Sequence[int]] | None


class SimpleAssignor:
    """Kafka's SimpleAssignor."""

    name = "simple"

    def assign(
        self,
        members: Sequence[TargetMember],
        topics: Sequence[Topic],
        assignable: Mapping[str, Sequence[int]] | None = None,
        *,
        homogeneous: bool | None = None,
    ) -> TargetAssignment:
        """See `ServerAssignor.assign`.

        A partition may be with several members. Answers an empty assignment where no member names a
        topic, and with different subscriptions also where none of the topics exists.
        """
        view = coordinator_view(members, topics, homogeneous)
        if not any(member.topics for member in view.members):
            return {}
        share = _share_equal if view.homogeneous else _share_mixed
        return share(view, assignable)


def _share_equal(view: CoordinatorView, assignable: Assignable) -> TargetAssignment:
    """All partitions at once, each as one number: its topic's place above 32 bits, and its own id.

    Places are by name, so that numbers in ascending order stand for topics and partitions in theirs.
    """
    names = sorted_strings(view.topic_hashes)
    bases = {name: index << _ID_BITS for index, name in enumerate(names)}
    hashes = [31 * view.topic_hashes[name] for name in names]
    subscribed = view.subscribed(view.members[0])
    wanted_topics = set(subscribed)
    held: dict[int, list[int]] = {}
    for number, member in enumerate(view.members):
        held[number] = mine = []
        for name in view.in_map_order(member.assigned):
            if name in wanted_topics:
                base, partitions = bases[name], member.assigned[name]
                # Mostly it is one, and a function call takes longer than what it has to do.
                for partition in partitions if len(partitions) == 1 else int_set_order(partitions):
                    mine.append(base + partition)
    sharing = Sharing(
        targets=[bases[name] + n for name in subscribed for n in _targets(view, name, assignable)],
        takers=list(range(len(view.members))),
        held=held,
        spreads=lambda keys: spread_all([hashes[key >> _ID_BITS] + (key & _ID_MASK) for key in keys]),
    )
    shares = sharing.share()
    assignment: TargetAssignment = {}
    for number, member in enumerate(view.members):
        topics: dict[str, list[int]] = {}
        for key in sorted(shares[number]):
            name = names[key >> _ID_BITS]
            if name in topics:
                topics[name].append(key & _ID_MASK)
            else:
                topics[name] = [key & _ID_MASK]
        if not member.assigned.keys() <= topics.keys():
            shown = wanted_topics.intersection(member.assigned).union(topics)
            topics = {name: topics.get(name, []) for name in sorted_strings(shown)}
        assignment[member.member_id] = topics
    return assignment


_ID_BITS = 32
_ID_MASK = (1 << _ID_BITS) - 1


def _share_mixed(view: CoordinatorView, assignable: Assignable) -> TargetAssignment:
    """Topic by topic, in the order of their names."""
    takers: dict[str, list[int]] = {}
    for number, member in enumerate(view.members):
        for name in view.subscribed(member):
            takers.setdefault(name, []).append(number)
    if not takers:
        return {}
    holders: dict[str, dict[int, list[int]]] = {name: {} for name in takers}
    for number, member in enumerate(view.members):
        for name, numbers in member.assigned.items():
            holders.setdefault(name, {})[number] = int_set_order(numbers)
    hands: list[dict[str, list[int]]] = [{} for _ in view.members]
    for name in sorted_strings(holders):
        shares: Mapping[int, Collection[int]] = holders[name]
        if name in takers:
            targets = _targets(view, name, assignable)
            sharing = Sharing(targets=targets, takers=takers[name], held=holders[name], spreads=spread_all)
            shares = sharing.share()
        for number, partitions in shares.items():
            hands[number][name] = sorted(partitions)
    return {member.member_id: hand for member, hand in zip(view.members, hands, strict=True)}


def _targets(view: CoordinatorView, name: str, assignable: Assignable) -> Sequence[int]:
    everything = range(view.topics[name].partitions)
    if assignable is None:
        return everything
    allowed = set(assignable.get(name, ()))
    return [number for number in everything if number in allowed]
