"""`range` of consumer groups (KIP-848): every topic cut into consecutive runs, one per subscriber.

Source: group-coordinator RangeAssignor of Kafka 4.3.1. It keeps nothing of the present assignment.
"""

from collections.abc import Mapping, Sequence

from kgroup.assignors.java_order import sorted_strings
from kgroup.assignors.model import TargetAssignment, TargetMember, Topic
from kgroup.assignors.server.coordinator_view import coordinator_view, static_then_id


class ServerRangeAssignor:
    """Kafka's server-side RangeAssignor."""

    name = "range"

    def assign(
        self,
        members: Sequence[TargetMember],
        topics: Sequence[Topic],
        assignable: Mapping[str, Sequence[int]] | None = None,
        *,
        homogeneous: bool | None = None,
    ) -> TargetAssignment:
        """See `ServerAssignor.assign`; `assignable` does not apply to consumer groups."""
        view = coordinator_view(members, topics, homogeneous)
        ordered = sorted(view.members, key=static_then_id)
        assignment: dict[str, dict[str, list[int]]] = {member.member_id: {} for member in ordered}
        everyone = [member.member_id for member in ordered]
        takers: dict[str, list[str]] = {name: [] for name in sorted_strings(view.topics)}
        if view.homogeneous:
            takers = {
                name: everyone for name in takers if any(name in member.topics for member in ordered[:1])
            }
        else:
            for member in ordered:
                for name in dict.fromkeys(member.topics):
                    if name in takers:
                        takers[name].append(member.member_id)
        for name, member_ids in takers.items():
            _cut(name, view.topics[name].partitions, member_ids, assignment)
        return assignment


def _cut(name: str, partitions: int, member_ids: list[str], assignment: TargetAssignment) -> None:
    if not member_ids:
        return
    quota, extra = divmod(partitions, len(member_ids))
    start = 0
    for index, member_id in enumerate(member_ids):
        stop = start + quota + (index < extra)
        if start == stop:
            return
        assignment[member_id][name] = list(range(start, stop))
        start = stop
