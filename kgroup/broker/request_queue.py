"""One connection's requests, in order: the next is not looked at before the last one is answered.

That is Kafka's rule (a socket is muted while its request is processed), and clients see it: what is
sent behind a JoinGroup that waits for others, waits too.
"""

from typing import Final

from kgroup.wire.frames import BadRequestError

_LENGTH_BYTES: Final = 4
_KEPT_BYTES: Final = 1 << 16


class RequestQueue:
    """Cuts what arrives into frames and hands them out one at a time."""

    def __init__(self, max_frame_bytes: int) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._start = 0
        self.busy = False

    @property
    def waiting_bytes(self) -> int:
        """The requests that have arrived and have not been handed out."""
        return len(self._buffer) - self._start

    def feed(self, data: bytes) -> None:
        """Take in what arrived."""
        self._buffer += data

    def next_frame(self) -> bytes | None:
        """The next request, or None while one is being answered or it has not arrived whole.

        Raises BadRequestError for a length that no request can have, as soon as it is seen.
        """
        if self.busy or self.waiting_bytes < _LENGTH_BYTES:
            return None
        start = self._start + _LENGTH_BYTES
        length = int.from_bytes(self._buffer[self._start : start], "big", signed=True)
        if not 0 <= length <= self.max_frame_bytes:
            raise BadRequestError(f"a request of {length} bytes; the limit is {self.max_frame_bytes}")
        if len(self._buffer) < start + length:
            return None
        frame = bytes(self._buffer[start : start + length])
        self._start = start + length
        if self._start == len(self._buffer) or self._start > _KEPT_BYTES:
            del self._buffer[: self._start]
            self._start = 0
        self.busy = True
        return frame

    def answered(self) -> None:
        """The last request has its answer: the next one may go."""
        self.busy = False
