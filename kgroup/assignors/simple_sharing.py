"""Sharing partitions between the members of a share group: who gives up and who gets what.

Source: the assignment builders of Kafka 4.3.1's SimpleAssignor.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import ceil
from typing import Generic, TypeVar

from kgroup.assignors.java_order import (
    JavaHashSet,
    computed_order_in,
    computed_table,
    spread_order,
    table_for,
)
from kgroup.assignors.model import AssignorError

# A partition of the group, or of one topic.
P = TypeVar("P", bound=Hashable)


class Sharing(Generic[P]):
    """One round of sharing `targets` between the members `takers`, who are numbers.

    Takers come in ascending order. `held` is what members hold now, in Java's order; members that
    are no takers lose all of it. Every target should be with as many members as it takes to give
    each taker something. The results are `revoked` and `given`, by member.
    """

    def __init__(
        self,
        *,
        targets: Sequence[P],
        takers: list[int],
        held: Mapping[int, list[P]],
        spreads: Callable[[Sequence[P]], list[int]],
    ) -> None:
        self._targets = targets
        self._takers = takers
        self._held = held
        self._spreads = spreads
        self._per_target = -(-len(takers) // len(targets)) if targets else 0
        share = self._per_target * len(targets) / len(takers)
        bounds = [ceil(share * place) for place in range(len(takers) + 1)]
        self._desired = {m: bounds[place + 1] - bounds[place] for place, m in enumerate(takers)}
        self._counts = {number: len(partitions) for number, partitions in held.items()}
        self._sharers: dict[P, list[int]] = {}
        for number, partitions in held.items():
            for partition in partitions:
                self._sharers.setdefault(partition, []).append(number)
        self._lost: dict[P, list[int]] = {}
        self.revoked: dict[int, list[P]] = {}
        self.given: dict[int, list[P]] = {}

    def share(self) -> None:
        """Take from members with too much, then from partitions with too many members, and give."""
        self._revoke_overfilled()
        self._revoke_overshared()
        self._give()

    def _revoke(self, number: int, partition: P) -> None:
        self._lost.setdefault(partition, []).append(number)
        self._counts[number] -= 1
        self.revoked.setdefault(number, []).append(partition)

    def _revoke_overfilled(self) -> None:
        for number, partitions in self._held.items():
            surplus = len(partitions) - self._desired.get(number, 0)
            if surplus > 0:
                in_order = spread_order(partitions, self._spreads(partitions))
                for partition in in_order[:surplus]:
                    self._revoke(number, partition)

    def _revoke_overshared(self) -> None:
        if all(len(sharers) <= self._per_target for sharers in self._sharers.values()):
            return
        held = list(self._sharers)
        for partition in self._in_order(held, of=held):
            sharers: JavaHashSet[int] = JavaHashSet(int)
            for number in self._sharers[partition]:
                sharers.add(number)
            for number in self._lost.get(partition, ()):
                sharers.discard(number)
            surplus = max(0, len(sharers) - self._per_target)
            for number in list(sharers)[:surplus]:
                self._revoke(number, partition)

    def _give(self) -> None:
        """Go once through the partitions, and round and round through members with room.

        Ends: a round in which no member could take anything is the last. Kafka then leaves the rest
        of the partitions with fewer members than they should have.
        """
        counts = self._counts
        room = {m: more for m, most in self._desired.items() if (more := most - counts.get(m, 0)) > 0}
        waiting = list(room)[::-1]
        someone_took = False
        given: dict[int, list[P]] = {number: [] for number in room}
        self.given = given
        per_target = self._per_target
        unheld = [target for target in self._targets if target not in self._sharers]
        wanting = [p for p, sharers in self._sharers.items() if len(sharers) < per_target or p in self._lost]
        for partition in self._in_order([*wanting, *unheld], of=[*self._sharers, *unheld]):
            if not room:
                return
            sharers = self._still_sharing(partition)
            missing = per_target - len(sharers)
            while missing > 0:
                if not waiting:
                    if not someone_took:
                        break
                    waiting, someone_took = list(room)[::-1], False
                    if not waiting:
                        raise _no_room()
                number = waiting.pop()
                if number in sharers:
                    continue
                given[number].append(partition)
                missing -= 1
                someone_took = True
                room[number] -= 1
                if not room[number]:
                    del room[number]

    def _still_sharing(self, partition: P) -> Sequence[int]:
        sharers = self._sharers.get(partition, ())
        lost = self._lost.get(partition)
        return [number for number in sharers if number not in lost] if lost else sharers

    def _in_order(self, partitions: Sequence[P], *, of: Sequence[P]) -> list[P]:
        """Some partitions in the order of Kafka's map, which has been filled with all `of` these."""
        # Kafka makes the map for n entries with (n + 1) / 0.75 + 1 places asked for.
        table = table_for(int((len(self._targets) + 1) / 0.75 + 1))
        table = computed_table(of, self._spreads, table)
        return computed_order_in(partitions, self._spreads(partitions), table)


def _no_room() -> AssignorError:
    why = "partitions assigned that may not be assigned take up the room"
    return AssignorError("java.util.NoSuchElementException", None, why)
