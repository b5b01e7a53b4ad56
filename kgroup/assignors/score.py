"""How good an assignment is: balance, what moves, what is left out, and what a rebalance costs."""

from collections.abc import Sequence

from kgroup.assignors.cooperative_sticky import cooperative_claim
from kgroup.assignors.model import Assignment, GroupMember
from kgroup.assignors.sticky import sticky_claim


def spread(assignment: Assignment) -> tuple[int, int]:
    """Smallest and greatest number of partitions of one member; 0, 0 for an empty group."""
    sizes = [len(partitions) for partitions in assignment.values()]
    return min(sizes, default=0), max(sizes, default=0)


def kept(assignor: str, members: Sequence[GroupMember], assignment: Assignment) -> int:
    """How many partitions stay with a member that claimed them."""
    claim_of = sticky_claim if assignor == "sticky" else cooperative_claim
    claimed = {member.member_id: set(claim_of(member).partitions) for member in members}
    return sum(
        partition in claimed[member_id]
        for member_id, partitions in assignment.items()
        for partition in partitions
    )
