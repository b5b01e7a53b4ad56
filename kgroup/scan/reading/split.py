"""Cuts a segment into slices at batch boundaries, so that several processes can scan it."""

import stat
from io import FileIO
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from kgroup.errors import DecodeError, SourceError
from kgroup.log.format.any_format import batch_at
from kgroup.log.format.header_guess import looks_like_batch
from kgroup.log.format.read_window import SegmentWindow
from kgroup.scan.kernels.batches import skip_batches
from kgroup.scan.kernels.compile import TIER
from kgroup.scan.reading.chunk import Window
from kgroup.scan.reading.reader import CHUNK_BYTES, Slice

_READ_BYTES: Final = 16 * 1024
_INDEX_ENTRY: Final = np.dtype([("offset", ">i4"), ("position", ">i4")])


def split(path: Path | str, offsets_partition: int, target_bytes: int) -> list[Slice]:
    """The slices of a segment, in order, of about `target_bytes` each; an empty file is one empty slice.

    Boundaries come from the `.index` next to it, each checked against the batch it points to; where that
    does not help, from the headers of the batches. Raises SourceError if the file cannot be read.
    """
    try:
        return _slices(Path(path), offsets_partition, target_bytes)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error


def split_among_others(path: Path | str, offsets_partition: int, target_bytes: int) -> list[Slice]:
    """The same of one file of several: one that cannot be read is an empty slice, whose reader says why."""
    try:
        return _slices(Path(path), offsets_partition, target_bytes)
    except OSError:
        return [Slice(path=Path(path), offsets_partition=offsets_partition, start=0, end=0)]


def _slices(path: Path, offsets_partition: int, target_bytes: int) -> list[Slice]:
    status = path.stat()
    if stat.S_ISFIFO(status.st_mode):
        raise SourceError(f"{path}: a pipe, which cannot be read in parts; write it into a file")
    size = status.st_size
    TIER.found_bytes += size
    boundaries = [0]
    if size > target_bytes:
        boundaries += _indexed(path, size, target_bytes) or _walked(path, size, target_bytes)
    boundaries.append(size)
    return [
        Slice(path=path, offsets_partition=offsets_partition, start=start, end=end)
        for start, end in pairwise(boundaries)
    ]


def _indexed(path: Path, size: int, target_bytes: int) -> list[int]:
    """About every `target_bytes`, where a healthy batch is by the index; nothing if that cannot be right."""
    index = path.with_suffix(".index")
    if not index.is_file():
        return []
    raw = index.read_bytes()
    positions = np.frombuffer(raw, _INDEX_ENTRY, count=len(raw) // _INDEX_ENTRY.itemsize)["position"]
    positions = positions[: int(np.count_nonzero(positions))]  # zeros follow in the index of a segment in use
    if not len(positions) or positions[0] <= 0 or (np.diff(positions) <= 0).any():
        return []
    boundaries: list[int] = []
    goal = target_bytes
    with path.open("rb") as file:
        while (entry := int(np.searchsorted(positions, goal))) < len(positions):
            position = int(positions[entry])
            if position >= size or not _is_batch(file, position, size):
                return []
            boundaries.append(position)
            goal = position + target_bytes
    return boundaries


def _walked(path: Path, size: int, target_bytes: int) -> list[int]:
    """The same from the batches' headers, up to the first that cannot be right."""
    boundaries: list[int] = []
    goal = target_bytes
    with path.open("rb", buffering=0) as file, path.open("rb") as second:
        assert isinstance(file, FileIO)
        window = Window(file, 0, size, CHUNK_BYTES)
        while True:
            window.fill()
            before, start = window.at, window.position - window.at
            at, healthy = skip_batches(window.buffer, before, window.filled, goal - start)
            if not healthy or at == before or start + at >= size:
                break
            if start + at >= goal:
                if not _is_batch(second, start + at, size):
                    break
                boundaries.append(start + at)
                goal = start + at + target_bytes
            window.seek(start + at)
    return boundaries


def _is_batch(file: BinaryIO, position: int, size: int) -> bool:
    """Whether a whole batch with the right CRC is at `position` that a search behind damage would see."""
    file.seek(position)
    window = SegmentWindow(file, position, size, _READ_BYTES)
    try:
        batch_at(window, position)
    except DecodeError:
        return False
    return looks_like_batch(window, position)
