"""Reads a pipe more than once."""

import io
import tempfile
from typing import BinaryIO

_CHUNK_BYTES = 256 * 1024


class SpooledStream:
    """Bytes that come only once, as standard input does, for several readers that each begin at the start.

    Bytes that have come are kept in a temporary file until `close`, and no more are taken than the
    foremost reader wants.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115  see close
        self._size = 0

    def close(self) -> None:
        """Forget what has come; nobody can read it any more."""
        self._kept.close()

    def open(self) -> BinaryIO:
        """A reader of its own, at the start."""
        return io.BufferedReader(_Reader(self), _CHUNK_BYTES)

    def read_at(self, position: int, size: int) -> bytes:
        """Return up to `size` bytes from `position` on; none at the end."""
        while self._size <= position:
            chunk = self._source.read(_CHUNK_BYTES)
            if not chunk:
                return b""
            self._kept.seek(self._size)
            self._kept.write(chunk)
            self._size += len(chunk)
        self._kept.seek(position)
        return self._kept.read(size)


class _Reader(io.RawIOBase):
    def __init__(self, spooled: SpooledStream) -> None:
        self._spooled = spooled
        self._position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]  # any writable buffer
        data = self._spooled.read_at(self._position, len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
