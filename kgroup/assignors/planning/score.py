"""The quality of an assignment: balance, moves, unassigned partitions, and the cost of the rebalance."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgroup.assignors.client.cooperative_sticky import cooperative_claim
from kgroup.assignors.client.leader_view import racks_of_partitions
from kgroup.assignors.client.sticky import sticky_claim
from kgroup.assignors.model import Assignment, GroupMember
from kgroup.assignors.planning.plan import GroupPlan
from kgroup.assignors.registry import Protocol
from kgroup.protocol.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Counts of one assignment against what was before it.

    Of members: `partitions_min` and `partitions_max` are the partitions of one of them, `spread`
    their difference. Of partitions: `kept` stay with who read them, `moved` go to another member,
    `unassigned` are with nobody, of which `withheld` wait for their owner to give them up. `revoked`
    are taken from a member that stays, and `paused` are those that members who stay stop reading
    meanwhile: under an eager protocol all they have, else what is revoked. `rack_matches` of
    `rack_known` partitions are with a member in a rack of one of their replicas.
    `rebalances` is 2 where a second one must hand out what was withheld, and 0 where the coordinator
    moves partitions without one.
    """

    partitions_min: int
    partitions_max: int
    spread: int
    kept: int
    moved: int
    unassigned: int
    withheld: int
    revoked: int
    paused: int
    rack_matches: int
    rack_known: int
    rebalances: int


def score(plan: GroupPlan, assignment: Assignment, protocol: Protocol) -> Score:
    """Score the answer to a plan."""
    least, most = spread(assignment)
    pairs = [(member_id, p) for member_id, partitions in assignment.items() for p in partitions]
    assigned = {partition for _, partition in pairs}
    subscribed = {name for member in plan.members for name in member.topics}
    existing = {(t.name, n) for t in plan.topics if t.name in subscribed and not t.deleted for n in t.ids()}
    owned = {(member.member_id, partition) for member in plan.members for partition in member.owned}
    kept_pairs = owned.intersection(pairs)
    given_up = owned - kept_pairs
    kept_partitions = {partition for _, partition in kept_pairs}
    missing = existing - assigned
    withheld = {partition for _, partition in owned} & missing if protocol is Protocol.COOPERATIVE else set()
    matches, rack_known = _rack_matches(plan, pairs)
    return Score(
        partitions_min=least,
        partitions_max=most,
        spread=most - least,
        kept=len(kept_pairs),
        moved=len((assigned & plan.previous.keys()) - kept_partitions),
        unassigned=len(missing),
        withheld=len(withheld),
        revoked=len(given_up),
        paused=len(owned) if protocol is Protocol.EAGER else len(given_up),
        rack_matches=matches,
        rack_known=rack_known,
        rebalances=0 if protocol is Protocol.SERVER else 2 if withheld else 1,
    )


def _rack_matches(plan: GroupPlan, pairs: Sequence[tuple[str, TopicPartition]]) -> tuple[int, int]:
    rack_of = {member.member_id: member.rack_id for member in plan.members if member.rack_id}
    if not rack_of:
        return 0, 0
    racks = {
        (topic.name, number): near
        for topic in plan.topics
        if topic.replica_racks
        for number, near in zip(topic.ids(), racks_of_partitions(topic), strict=True)
    }
    with_racks = [
        (rack_of[m], racks[partition]) for m, partition in pairs if m in rack_of and racks.get(partition)
    ]
    return sum(rack in near for rack, near in with_racks), len(with_racks)


def spread(assignment: Assignment) -> tuple[int, int]:
    """Smallest and greatest number of partitions of one member; 0, 0 for an empty group."""
    sizes = [len(partitions) for partitions in assignment.values()]
    return min(sizes, default=0), max(sizes, default=0)


def kept(assignor: str, members: Sequence[GroupMember], assignment: Assignment) -> int:
    """The number of partitions that stay with a member that claimed them under a client-side assignor."""
    claim_of = sticky_claim if assignor == "sticky" else cooperative_claim
    claimed = {member.member_id: set(claim_of(member).partitions) for member in members}
    return sum(
        partition in claimed[member_id]
        for member_id, partitions in assignment.items()
        for partition in partitions
    )
