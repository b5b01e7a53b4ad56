"""Sends long answers to many clients, a piece of each in turn."""

import asyncio
from typing import Final, Protocol

TURN_BYTES: Final = 1 << 20  # before the loop gets its turn, in which requests of others are answered


class Fed(Protocol):
    """A connection with an answer that is not all handed over yet."""

    token: int

    def feed(self) -> int:
        """Hand the next piece over; its size."""


class Feeder:
    """Feeds a piece to every connection that is waiting for one, one after the other."""

    def __init__(self) -> None:
        self._due: dict[int, Fed] = {}
        self._is_scheduled = False

    def add(self, connection: Fed) -> None:
        """Feed this one a piece when it is its turn."""
        self._due[connection.token] = connection
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        left_bytes = TURN_BYTES
        for token in list(self._due):
            left_bytes -= self._due.pop(token).feed()  # which may come back for more
            if left_bytes <= 0:
                break
        self._is_scheduled = bool(self._due)
        if self._due:
            asyncio.get_running_loop().call_soon(self._turn)
