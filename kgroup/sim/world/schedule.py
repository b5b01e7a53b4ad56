"""The virtual clock: actions ordered by time, and by order of planning when times are equal."""

import heapq
from collections.abc import Callable

Action = Callable[[], None]


class Schedule:
    """Actions to come and their times, epoch ms. None is taken out: one that lost its reason does nothing."""

    def __init__(self, start_ms: int) -> None:
        self.now_ms = start_ms
        self._next_number = 0
        self._heap: list[tuple[int, int, Action]] = []

    def at(self, time_ms: int, action: Action) -> None:
        """Do it then; at once, after all that is due at once already, if then is over."""
        self._next_number += 1
        heapq.heappush(
            self._heap, (time_ms if time_ms > self.now_ms else self.now_ms, self._next_number, action)
        )

    def run(self, until_ms: int) -> None:
        """Let everything happen that is due by `until_ms`; the clock shows that time afterwards."""
        heap = self._heap
        while heap and heap[0][0] <= until_ms:
            self.now_ms, _, action = heapq.heappop(heap)
            action()
        self.now_ms = max(self.now_ms, until_ms)
