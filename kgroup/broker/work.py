"""Long work done in slices between requests, so that no heartbeat waits for it."""

from collections import deque
from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")
Slices = Generator[None, None, T]
"""Work that stops where others may have their turn, and returns what it comes to."""


def finished(work: Slices[T]) -> T:
    """The result of the work, done in one go."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: T = end.value
            return result


class WorkInSlices:
    """Pieces of work in the order in which they were given; the next begins when the last is done."""

    def __init__(self) -> None:
        self._waiting: deque[Slices[None]] = deque()

    @property
    def is_left(self) -> bool:
        """True if there is work left."""
        return bool(self._waiting)

    def take(self, work: Slices[None]) -> None:
        """Do this: its first slice at once, unless other work comes before it."""
        self._waiting.append(work)
        if len(self._waiting) == 1:
            self.go_on()

    def go_on(self) -> None:
        """Do one slice. What it raises is the end of that work."""
        if not self._waiting:
            return
        work = self._waiting[0]
        try:
            next(work)
        except StopIteration:
            self._waiting.popleft()
        except Exception:
            self._waiting.popleft()
            raise
