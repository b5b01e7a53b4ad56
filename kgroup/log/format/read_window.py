"""The part of a file or stream in memory, for readers that go forward and look ahead."""

from collections.abc import Callable
from typing import BinaryIO, Final

READ_BYTES: Final = 1024 * 1024


class SegmentWindow:
    """The bytes from `floor` on, read as they are asked for.

    Positions are those of the file. `floor` may only go up; bytes before it are forgotten at the next
    read, so memory is what lies between it and the farthest position asked for, and one read more.
    """

    def __init__(self, stream: BinaryIO, start: int, size: int | None, read_bytes: int = READ_BYTES) -> None:
        """`stream` stands at position `start`; `size` is the file's, None for a stream that cannot say.

        Of that it reads `read_bytes` at a time, or more where more is asked for.
        """
        self._read_bytes = read_bytes
        self.floor = start
        self.size = size
        # What a pipe has is read at once, rather than waiting for a whole megabyte.
        self._read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
        self._buffer = b""
        self._buffer_start = start

    def take(self, position: int, size: int) -> bytes:
        """`size` bytes at `position`, fewer only where the file ends."""
        at = position - self._buffer_start
        taken = self._buffer[at : at + size]
        if len(taken) == size:
            return taken
        self._read_to(position + size)
        at = position - self._buffer_start
        return self._buffer[at : at + size]

    def _read_to(self, end: int) -> None:
        if self.size is not None:
            end = min(end, self.size)
        buffer_end = self._buffer_start + len(self._buffer)
        if end <= buffer_end:
            return
        pieces = [self._buffer[self.floor - self._buffer_start :]]
        self._buffer_start = min(self.floor, buffer_end)
        while buffer_end < end:
            size = max(self._read_bytes, end - buffer_end)
            if self.size is not None:
                size = min(size, self.size - buffer_end)
            piece = self._read(size)
            if not piece:
                # The end of the stream, or of a file that was cut while it was read.
                self.size = buffer_end
                break
            pieces.append(piece)
            buffer_end += len(piece)
        self._buffer = b"".join(pieces)
