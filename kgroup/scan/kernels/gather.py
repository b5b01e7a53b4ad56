"""numpy arrays as Arrow columns, and kernels that collect data of variable size: strings and topic ids."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.errors import SourceError
from kgroup.scan.kernels.bytes_at import Bytes, word_at
from kgroup.scan.kernels.compile import kernel

if TYPE_CHECKING:
    Column = pa.Array[Any]
else:
    Column = pa.Array

_MAX_TEXT: Final = 2**31 - 1


def numbers(values: NDArray[np.generic]) -> Column:
    """A numpy array as Arrow values that share its memory; it must be contiguous.

    `pa.array` would do, but imports pandas where that is installed, which costs 0.3 s and 40 MB.
    """
    if values.dtype == np.bool_:
        bits = np.packbits(values.view(np.bool_), bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits.data)])
    arrow_type = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(arrow_type, len(values), [None, pa.py_buffer(values.data)])


def no_rows(schema: pa.Schema) -> pa.Table:
    """A table without rows or chunks; `schema.empty_table()` imports pandas, too."""
    return pa.Table.from_batches([], schema=schema)


def values_of(column: "pa.ChunkedArray[Any]") -> NDArray[np.int64]:
    """The numbers of a column without nulls, or the indices of a dictionary column; the other way round.

    Those of a single chunk may be the chunk's own memory, which nobody may write to.
    """
    parts: list[NDArray[np.int64]] = []
    for chunk in column.chunks:
        array = chunk.indices if isinstance(chunk, pa.DictionaryArray) else chunk
        memory = array.buffers()[1]
        if memory is not None:
            parts.append(numbers_in(memory, dtype_of(array.type), array.offset, len(array)))
    if len(parts) == 1:
        return parts[0].astype(np.int64, copy=False)
    return np.concatenate([np.empty(0, np.int64), *parts])


def numbers_in(memory: pa.Buffer | None, kind: "np.dtype[Any]", start: int, size: int) -> NDArray[Any]:
    """So many numbers of Arrow's memory from one on; where nothing is to be known it may have none."""
    if memory is None or not memory.size:
        return np.zeros(size, kind)
    return np.frombuffer(memoryview(memory), kind, count=size, offset=start * kind.itemsize)


def dtype_of(arrow_type: pa.DataType) -> "np.dtype[Any]":
    """The dtype of integers, and of floats; `to_pandas_dtype` would want pandas before Arrow 26."""
    if pa.types.is_floating(arrow_type):
        kind = "f"
    else:
        kind = "u" if pa.types.is_unsigned_integer(arrow_type) else "i"
    return np.dtype(f"{kind}{arrow_type.bit_width // 8}")


def strings_at(buffer: Bytes, positions: NDArray[np.int64], sizes: NDArray[np.int64]) -> Column:
    """The strings at the positions, which must be UTF-8."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    size = int(offsets[-1])
    if size > _MAX_TEXT:
        raise SourceError(f"{size} bytes of text in one column, more than Arrow's strings can hold")
    text = np.empty(size, np.uint8)
    if size:
        _copy_strings(buffer, positions, offsets, text)
    return pa.StringArray.from_buffers(
        len(sizes), pa.py_buffer(offsets.astype(np.int32).data), pa.py_buffer(text.data)
    )


def topic_ids_at(buffer: Bytes, positions: NDArray[np.int64]) -> Column:
    """The 16-byte ids at the positions, null where the position is -1."""
    ids = np.empty((len(positions), 2), np.int64)
    _copy_topic_ids(buffer, positions, ids)
    bitmap = np.packbits(positions >= 0, bitorder="little")
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(16), len(ids), [pa.py_buffer(bitmap.data), pa.py_buffer(ids.data)]
    )


@kernel
def _copy_strings(
    buffer: Bytes, positions: NDArray[np.int64], offsets: NDArray[np.int64], text: Bytes
) -> None:
    for i in range(len(positions)):
        position = positions[i]
        start = offsets[i]
        for j in range(offsets[i + 1] - start):
            text[start + j] = buffer[position + j]


@kernel
def _copy_topic_ids(buffer: Bytes, positions: NDArray[np.int64], ids: NDArray[np.int64]) -> None:
    for i in range(len(positions)):
        position = positions[i]
        ids[i, 0] = word_at(buffer, position) if position >= 0 else 0
        ids[i, 1] = word_at(buffer, position + 8) if position >= 0 else 0
