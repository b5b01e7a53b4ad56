"""The time a user takes for the records it was handed."""

from collections.abc import Callable
from functools import partial

from kgroup.sim.world.process import Process


class Work:
    """One batch at a time, which takes longer when the process stands still or the user is slow."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._factor = 1.0
        self._number = 0
        self._done_ms = 0
        self._at_end: Callable[[], None] | None = None

    def begin(self, takes_ms: float, at_end: Callable[[], None]) -> None:
        """Take a batch in hand that would take this long; `at_end` is called when it is done."""
        self._number += 1
        self._at_end = at_end
        self._done_ms = self._process.schedule.now_ms + max(1, round(takes_ms * self._factor))
        self._look_then()

    def drop(self) -> None:
        """Drop the work: it will never be done."""
        self._at_end = None

    def postpone(self, by_ms: int) -> None:
        """The process stands still for this long."""
        self._done_ms += by_ms

    def slow_down(self, factor: float) -> None:
        """The rest, and all that follows, takes `factor` times as long."""
        self._factor *= factor
        if self._at_end is not None:
            now_ms = self._process.schedule.now_ms
            self._done_ms = now_ms + round(max(self._done_ms - now_ms, 0) * factor)
            self._look_then()

    def _look_then(self) -> None:
        self._process.schedule.at(self._done_ms, partial(self._look, self._number))

    def _look(self, number: int) -> None:
        if number != self._number or self._at_end is None:
            return
        if self._process.schedule.now_ms < self._done_ms:  # postponed, or slower than expected
            self._look_then()
        elif self._process.is_still:
            self._process.deliver(partial(self._look, number))
        else:
            at_end, self._at_end = self._at_end, None
            at_end()
