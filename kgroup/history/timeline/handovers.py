"""Consumer-group members that wait for partitions another member has not given up yet (KIP-848).

A target says who shall have a partition; it is given only when its owner has revoked it, which the record of
the owner's current assignment shows. From the target until that record the next owner waits. Who stands still
for too long now is for `lag.findings.reconciliation` to say; here is how long each handover took.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping

from kgroup.history.timeline.model import Partition, Wait


class Handovers:
    """Fed in log order with targets and with what members have; times are epoch ms."""

    def __init__(self) -> None:
        self._has: dict[str, frozenset[Partition]] = {}
        self._open: list[tuple[Wait, set[Partition]]] = []

    def target(self, targets: Mapping[str, Collection[Partition]], at_ms: int) -> list[Wait]:
        """Take a new target, by member id. Returns the waits that begin with it, by who waits for whom.

        Those that it leaves as they are go on; one of which nothing is wanted any more ends, unreleased.
        """
        wanted = self._wanted(targets)
        goes_on: list[tuple[Wait, set[Partition]]] = []
        for wait, left in self._open:
            still = wanted.get((wait.member_id, wait.holder_id), set())
            left.intersection_update(still)
            still.difference_update(left)
            if left:
                goes_on.append((wait, left))
            else:
                wait.until_ms = at_ms
        begun = [
            (Wait(member_id=waiter, holder_id=holder, partitions=tuple(sorted(left)), since_ms=at_ms), left)
            for (waiter, holder), left in sorted(wanted.items())
            if left
        ]
        self._open = [*goes_on, *begun]
        return [wait for wait, _ in begun]

    def has(self, member_id: str, partitions: frozenset[Partition], at_ms: int) -> None:
        """A member's current partitions, including those it still must give up; empty if it is gone."""
        self._has[member_id] = partitions
        goes_on: list[tuple[Wait, set[Partition]]] = []
        for wait, left in self._open:
            if wait.holder_id == member_id:
                left.intersection_update(partitions)
            if left:
                goes_on.append((wait, left))
            else:
                wait.until_ms, wait.released = at_ms, True
        self._open = goes_on

    def _wanted(
        self, targets: Mapping[str, Collection[Partition]]
    ) -> defaultdict[tuple[str, str], set[Partition]]:
        """The partitions of a target that another member has, by who wants them of whom."""
        holders = {partition: who for who, owned in self._has.items() for partition in owned}
        wanted: defaultdict[tuple[str, str], set[Partition]] = defaultdict(set)
        for member_id, target in targets.items():
            for partition in set(target) - self._has.get(member_id, frozenset()):
                holder = holders.get(partition, member_id)
                if holder != member_id:
                    wanted[member_id, holder].add(partition)
        return wanted
