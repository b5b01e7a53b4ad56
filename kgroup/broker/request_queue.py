"""One connection's requests, in order: the next one waits until the last one is answered.

That is Kafka's rule (a socket is muted while its request is processed), and clients see it: what is
sent behind a JoinGroup that waits for others, waits too. Commits behind commits are the exception. Each is
decided on at once and waits for nothing but the log, so that they can go there in one batch, and their client
sees no difference as long as their answers come in the order of the requests.
"""

from struct import Struct
from typing import Final

from kgroup.wire.apis import OFFSET_COMMIT
from kgroup.wire.frames import BadRequestError

_LENGTH: Final = Struct(">i")
_LENGTH_BYTES: Final = _LENGTH.size
_KEPT_BYTES: Final = 1 << 16
_TOGETHER_MAX: Final = 32
_COMMIT: Final = OFFSET_COMMIT.to_bytes(2, "big")  # what such a request begins with


class RequestQueue:
    """Cuts what arrives into frames and hands them out one at a time."""

    def __init__(self, max_frame_bytes: int) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()
        self._start = 0
        self._in_hand = 0
        self._are_commits = False
        self.number = -1
        """Of the request that was handed out last: they count from 0."""

    @property
    def busy(self) -> bool:
        """A request that was handed out has no answer yet."""
        return self._in_hand > 0

    @property
    def waiting_bytes(self) -> int:
        """The requests that have arrived and have not been handed out."""
        return len(self._buffer) - self._start

    def feed(self, data: bytes) -> None:
        """Take in what arrived."""
        self._buffer += data

    def next_frame(self, *, commits_together: bool = False) -> bytes | None:
        """The next request, or None while one is being answered or it has not arrived whole.

        With `commits_together`, commits that follow each other are handed out before they are answered.
        Raises BadRequestError for a length that no request can have, as soon as it is seen.
        """
        buffer = self._buffer
        start = self._start + _LENGTH_BYTES
        if len(buffer) < start:
            return None
        if self._in_hand and not (commits_together and self._is_commit_behind_commits()):
            return None
        (length,) = _LENGTH.unpack_from(buffer, self._start)
        if not 0 <= length <= self.max_frame_bytes:
            raise BadRequestError(f"a request of {length} bytes; the limit is {self.max_frame_bytes}")
        end = start + length
        if len(buffer) < end:
            return None
        frame = bytes(buffer[start:end])
        self._start = end
        if end == len(buffer):
            buffer.clear()
            self._start = 0
        elif end > _KEPT_BYTES:
            del buffer[:end]
            self._start = 0
        self._are_commits = frame.startswith(_COMMIT)
        self._in_hand += 1
        self.number += 1
        return frame

    def _is_commit_behind_commits(self) -> bool:
        api_at = self._start + _LENGTH_BYTES
        follows = self._are_commits and self._in_hand < _TOGETHER_MAX
        return follows and self._buffer.startswith(_COMMIT, api_at)

    def answered(self) -> None:
        """A request that was handed out has its answer; with the last of them, the next one may go."""
        self._in_hand -= 1
