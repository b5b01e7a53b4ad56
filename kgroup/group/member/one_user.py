"""A consumer is for one user at a time."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from kgroup.group.member.step import UseError


class SingleUser:
    """Lets one user in, as often as it likes (a callback may call back in), and refuses any other.

    Kafka: `KafkaConsumer.acquire`, which throws ConcurrentModificationException.
    """

    def __init__(self) -> None:
        self._user: Hashable = None
        self._depth = 0

    @contextmanager
    def using(self, user: Hashable) -> Iterator[None]:
        """Hold the member for `user` (a thread, a task). Raises UseError while another one holds it."""
        if self._depth and user != self._user:
            raise UseError("the member is in use by another thread or task, and is for one at a time")
        self._user = user
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
