"""The requests waiting in memory for their turn, on all connections together."""

from collections.abc import Callable, Iterable
from typing import Protocol


class Regulated(Protocol):
    """A connection that can stop reading."""

    def regulate(self) -> None:
        """Read on, or stop, as things are now."""


class Intake:
    """Kafka's `queued.max.request.bytes`: at this many bytes no connection starts another request.

    Those in the middle of one continue, as there: the last of them may exceed the limit. Not positive: no
    limit.
    """

    def __init__(self, max_bytes: int, connections: Callable[[], Iterable[Regulated]]) -> None:
        self.has_limit = max_bytes > 0
        self._max_bytes = max_bytes
        self.held_bytes = 0
        self._connections = connections

    @property
    def is_full(self) -> bool:
        """Whether no other request may be started."""
        return self.has_limit and self.held_bytes >= self._max_bytes

    def add(self, size: int) -> None:
        """Add to the bytes that lie here, or take away."""
        was_full = self.is_full
        self.held_bytes += size
        if was_full != self.is_full:
            for connection in list(self._connections()):
                connection.regulate()
