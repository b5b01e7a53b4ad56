"""Kernels that collect the variable-size parts of rows: strings and topic ids."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.log.scan_bytes import Bytes
from kgroup.log.scan_compile import kernel

_MAX_TEXT = 2**31 - 1


def strings_at(buffer: Bytes, positions: NDArray[np.int64], sizes: NDArray[np.int32]) -> pa.Array:
    """The strings at the positions, which must be UTF-8."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    if offsets[-1] > _MAX_TEXT:
        half = len(sizes) // 2
        parts = (slice(0, half), slice(half, None))
        return pa.chunked_array([strings_at(buffer, positions[part], sizes[part]) for part in parts])
    text = np.empty(int(offsets[-1]), np.uint8)
    if len(text):
        _copy(buffer, positions, offsets, text)
    return pa.StringArray.from_buffers(len(sizes), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(text))


def topic_ids_at(buffer: Bytes, positions: NDArray[np.int64]) -> pa.Array:
    """The 16-byte ids at the positions, null where the position is -1."""
    present = positions >= 0
    ids = np.zeros((len(positions), 16), np.uint8)
    if present.any():
        ids[present] = buffer[positions[present, None] + np.arange(16)]
    return topic_ids(ids, present)


def topic_ids(ids: NDArray[np.uint8], present: NDArray[np.bool_]) -> pa.Array:
    """Rows of 16 bytes as Arrow values, null where not `present`."""
    bitmap = pa.py_buffer(np.packbits(present, bitorder="little"))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(ids), [bitmap, pa.py_buffer(ids)])


@kernel
def _copy(buffer: Bytes, positions: NDArray[np.int64], offsets: NDArray[np.int64], text: Bytes) -> None:
    for i in range(len(positions)):
        position = positions[i]
        start = offsets[i]
        for j in range(offsets[i + 1] - start):
            text[start + j] = buffer[position + j]
