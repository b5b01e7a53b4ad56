"""Whether some order of the writes explains all values read (linearizability).

Herlihy and Wing, "Linearizability: a correctness condition for concurrent objects", 1990; the search is that
of Wing and Gong for a register, over the few operations between two moments without an open one.
"""

from dataclasses import dataclass
from typing import Final

_OPEN: Final = 1 << 62
_OPERATIONS_MAX: Final = 24  # at once: beyond that the search would take too long, and there is no verdict


@dataclass(eq=False, slots=True, kw_only=True)
class Operation:
    """A write of `value`, or a read that brought it. `called` and `ended` number the moments of a run.

    `must`: it has taken effect; a write without an answer may have, up to when it can no longer.
    """

    is_read: bool
    value: int
    called: int
    ended: int = _OPEN
    must: bool = True


class Register:
    """One value that clients write and read at the same time."""

    def __init__(self, value: int) -> None:
        self._values = frozenset((value,))
        self._operations: list[Operation] = []
        self._open = 0

    @property
    def values(self) -> frozenset[int]:
        """The values that it can have, if nothing is open."""
        return self._values

    def write(self, value: int, now: int) -> Operation:
        """A write begins."""
        operation = Operation(is_read=False, value=value, called=now, must=False)
        self._operations.append(operation)
        self._open += 1
        return operation

    def wrote(self, operation: Operation, now: int, *, must: bool = True) -> None:
        """Note an acknowledged write; without `must` it is uncertain, and cannot take effect any more."""
        operation.ended, operation.must = now, must
        self._open -= 1
        if not self._open:
            self.settle()

    def refused(self, operation: Operation) -> None:
        """Note a refused write, which must never be seen."""
        self._operations.remove(operation)
        self._open -= 1

    def read(self, value: int, now: int) -> bool:
        """Whether a read that takes no time may bring this."""
        self._operations.append(Operation(is_read=True, value=value, called=now, ended=now))
        return self.settle()

    def settle(self) -> bool:
        """Whether all that happened fits; what is over and explained is forgotten."""
        values: set[int] = set()
        if len(self._operations) > _OPERATIONS_MAX:
            values = {operation.value for operation in self._operations} | self._values
        else:
            for value in self._values:
                self._search(tuple(self._operations), value, values, set())
        if not values:
            self._values = frozenset((self._operations[-1].value,))
            self._operations = [each for each in self._operations if each.ended == _OPEN]
            return False
        if not self._open:
            self._values = frozenset(values)
            self._operations = []
        return True

    def _search(
        self,
        left: tuple[Operation, ...],
        value: int,
        values: set[int],
        tried: set[tuple[tuple[Operation, ...], int]],
    ) -> None:
        """Add to `values` each value after some order of what is left. Ends: each step leaves less."""
        if (left, value) in tried:
            return
        tried.add((left, value))
        if not any(operation.must for operation in left):
            values.add(value)
        first_end = min((operation.ended for operation in left if operation.must), default=_OPEN)
        for number, operation in enumerate(left):
            if operation.called > first_end:
                continue
            # An unanswered write that can no longer take effect does not come after what began later.
            rest = tuple(
                each
                for each in left[:number] + left[number + 1 :]
                if each.must or each.ended > operation.called
            )
            if not operation.is_read:
                self._search(rest, operation.value, values, tried)
            elif operation.value == value:
                self._search(rest, value, values, tried)
