"""Shares partitions among the members of a share group: who gives some up and who gets them.

Source: the assignment builders of Kafka 4.3.1's SimpleAssignor.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import ceil

from kgroup.assignors.java_order import (
    JavaHashSet,
    computed_order_in,
    computed_table,
    spread_order,
    table_for,
)
from kgroup.assignors.model import AssignorError


class Sharing:
    """One round of sharing `targets` between the members `takers`; members and partitions are numbers.

    Takers come in ascending order. `held` is what members hold now, in Java's order and nothing
    twice; members that are no takers lose all of it. Every target should be with as many members as
    it takes to give each taker something.
    """

    def __init__(
        self,
        *,
        targets: Sequence[int],
        takers: list[int],
        held: Mapping[int, list[int]],
        spreads: Callable[[Sequence[int]], list[int]],
    ) -> None:
        self._targets = targets
        self._held = held
        self._spreads = spreads
        self._per_target = -(-len(takers) // len(targets)) if targets else 0
        share = self._per_target * len(targets) / len(takers)
        bounds = [ceil(share * index) for index in range(len(takers) + 1)]
        self._desired = {m: bounds[index + 1] - bounds[index] for index, m in enumerate(takers)}
        self._counts = {number: len(partitions) for number, partitions in held.items()}
        self._sharers: dict[int, tuple[int, ...]] = {}
        for number, partitions in held.items():
            alone = (number,)
            for partition in partitions:
                if partition in self._sharers:
                    self._sharers[partition] += alone
                else:
                    self._sharers[partition] = alone
        self._lost: dict[int, list[int]] = {}
        self._revoked: dict[int, list[int]] = {}
        self._given: dict[int, set[int]] = {}

    def share(self) -> dict[int, Collection[int]]:
        """Take from members with too much, then from partitions with too many members, and give.

        Answers the partitions, in no order, of each member that holds some or has held some.
        """
        self._revoke_overfilled()
        self._revoke_overshared()
        self._give()
        shares: dict[int, Collection[int]] = {**self._held}
        for number, partitions in self._revoked.items():
            shares[number] = set(shares[number]).difference(partitions)
        for number, given in self._given.items():
            if given:
                shares[number] = given.union(shares.get(number, ()))
        return shares

    def _revoke(self, number: int, partition: int) -> None:
        self._lost.setdefault(partition, []).append(number)
        self._counts[number] -= 1
        self._revoked.setdefault(number, []).append(partition)

    def _revoke_overfilled(self) -> None:
        for number, partitions in self._held.items():
            surplus = len(partitions) - self._desired.get(number, 0)
            if surplus > 0:
                in_order = spread_order(partitions, self._spreads(partitions))
                for partition in in_order[:surplus]:
                    self._revoke(number, partition)

    def _revoke_overshared(self) -> None:
        lost = self._lost
        surplus = {
            partition: more
            for partition, sharers in self._sharers.items()
            if len(sharers) > self._per_target
            and (more := len(sharers) - len(lost.get(partition, ())) - self._per_target) > 0
        }
        for partition in self._in_order(list(surplus), unheld=False):
            sharers: JavaHashSet[int] = JavaHashSet(int)
            for number in self._sharers[partition]:
                sharers.add(number)
            for number in lost.get(partition, ()):
                sharers.discard(number)
            for number in list(sharers)[: surplus[partition]]:
                self._revoke(number, partition)

    def _give(self) -> None:
        """Go once through the partitions, and round and round through members with room.

        Ends: a round in which no member could take anything is the last. Kafka then leaves the rest
        of the partitions with fewer members than they should have.

        Who has been given a partition here may be given it again in the next round: that counts as one
        more member for the partition, as in Kafka, and takes up none of the member's room. It happens only
        where partitions that may not be assigned any more take up the room of others.
        """
        counts = self._counts
        room = {m: more for m, most in self._desired.items() if (more := most - counts.get(m, 0)) > 0}
        given: dict[int, set[int]] = {number: set() for number in room}
        self._given = given
        per_target = self._per_target
        waiting = list(room)[::-1]
        someone_took = False
        for partition, sharers in self._short():
            missing = at_first = per_target - len(sharers)
            while missing:
                if not waiting:
                    if not someone_took:
                        return
                    waiting = [m for m, most in room.items() if len(given[m]) < most][::-1]
                    someone_took = False
                    if not waiting and missing == at_first:
                        return
                    if not waiting:
                        raise _no_room()
                number = waiting.pop()
                if number not in sharers:
                    given[number].add(partition)
                    missing -= 1
                    someone_took = True

    def _short(self) -> Iterator[tuple[int, Sequence[int]]]:
        """Partitions with fewer members than they should have, in Kafka's order, and who shares them."""
        lost = self._lost
        held = {
            partition: [number for number in sharers if number not in lost.get(partition, ())]
            for partition, sharers in self._sharers.items()
            if len(sharers) < self._per_target or partition in lost
        }
        unheld = [target for target in self._targets if target not in self._sharers]
        for partition in self._in_order([*held, *unheld], unheld=True):
            yield partition, held.get(partition, ())

    def _in_order(self, partitions: Sequence[int], *, unheld: bool) -> list[int]:
        """Some partitions in the order of Kafka's map, filled with what is held, then perhaps all targets."""
        if not partitions:
            return []
        puts = [partition for held in self._held.values() for partition in held]
        if unheld:
            puts.extend(self._targets)
        # Kafka makes the map for n entries with (n + 1) / 0.75 + 1 places asked for.
        table = table_for(int((len(self._targets) + 1) / 0.75 + 1))
        table = computed_table(puts, self._spreads, table)
        return computed_order_in(partitions, self._spreads(partitions), table)


def _no_room() -> AssignorError:
    why = "partitions assigned that may not be assigned take up the room"
    return AssignorError("java.util.NoSuchElementException", None, why)
