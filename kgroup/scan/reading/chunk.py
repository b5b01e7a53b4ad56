"""A chunk of a slice in memory, moving forward and carrying along what it cut off."""

import os
from io import FileIO

import numpy as np

from kgroup.scan.kernels.batches import BUFFER_SLACK, OVERHEAD
from kgroup.scan.kernels.bytes_at import Bytes

# A batch that says it is larger goes to the plain path: its length is more likely damaged than true.
_LARGEST_BATCH = 64 * 1024 * 1024


class Window:
    """buffer[at:filled] is what comes next of the bytes `start` to `end` of a file.

    Memory is one chunk; it grows only for a batch that is larger and whole.
    """

    def __init__(self, file: FileIO, start: int, end: int, chunk_bytes: int) -> None:
        self.end = end
        self.at = 0
        self.filled = 0
        self.buffer: Bytes = np.empty(min(chunk_bytes, max(end - start, 0)) + BUFFER_SLACK, np.uint8)
        self._file = file
        self._start = start  # position in the file of buffer[0]
        file.seek(start)

    @property
    def position(self) -> int:
        """The position of buffer[at] in the file."""
        return self._start + self.at

    @property
    def origin(self) -> int:
        """The position of buffer[0] in the file."""
        return self._start

    def file_size(self) -> int:
        """The size of the whole file, now."""
        return os.fstat(self._file.fileno()).st_size

    def base_offset(self) -> int:
        """The base offset of the batch that comes next, which is in the buffer."""
        return int.from_bytes(self.buffer[self.at : self.at + 8].tobytes(), "big", signed=True)

    def fill(self) -> bool:
        """Read on; False if no more can be read, for a batch that is cut off or too large as well."""
        room = len(self.buffer) - BUFFER_SLACK
        needed = self._next_size()
        if needed > room:
            if needed > min(self.end - self.position, _LARGEST_BATCH):
                return False
            larger = np.empty(needed + BUFFER_SLACK, np.uint8)
            room = needed
        else:
            larger = self.buffer
        left = self.filled - self.at
        larger[:left] = self.buffer[self.at : self.filled]
        self.buffer = larger
        self._start += self.at
        self.at, self.filled = 0, left
        goal = min(room, self.end - self._start)
        view = self.buffer.data
        while self.filled < goal:
            count = self._file.readinto(view[self.filled : goal])
            if not count:  # the file has shrunk
                break
            self.filled += count
        return self.filled > left

    def seek(self, position: int) -> None:
        """Continue at a position in the file."""
        if self._start <= position <= self._start + self.filled:
            self.at = position - self._start
            return
        self._start, self.at, self.filled = position, 0, 0
        self._file.seek(position)

    def _next_size(self) -> int:
        """The size of the batch at the front, as far as it can be seen."""
        if self.filled - self.at < OVERHEAD:
            return OVERHEAD
        length = self.buffer[self.at + 8 : self.at + OVERHEAD].tobytes()
        return OVERHEAD + max(int.from_bytes(length, "big", signed=True), 0)
