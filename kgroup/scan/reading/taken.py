"""Rows of Arrow tables by their places, without Arrow's own `take`.

That is in `pyarrow.compute`, whose import makes a Python function of each of Arrow's: 30 ms, which is as much
as a small report takes for its rows.
"""

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.scan.kernels.gather import Column, dtype_of, no_rows, numbers, numbers_in

Int64s = NDArray[np.int64]
_MAX_TEXT: Final = 2**31 - 1


def taken(table: pa.Table, places: Int64s) -> pa.Table:
    """The rows at these places, in one chunk; names of several chunks have one dictionary."""
    if any(column.num_chunks > 1 for column in table.columns):
        table = table.unify_dictionaries().combine_chunks()
    arrays = [taken_of(column.combine_chunks(), places) for column in table.columns]
    return pa.Table.from_arrays(arrays, schema=table.schema)


def rows_at(table: pa.Table, places: Int64s) -> pa.Table:
    """The rows at places that rise, chunk after chunk: in one chunk the table is there a second time."""
    parts: list[pa.Table] = []
    start = 0
    for some in table.to_batches():
        first, end = np.searchsorted(places, (start, start + some.num_rows)).tolist()
        parts.append(taken(pa.Table.from_batches([some]), places[first:end] - start))
        start += some.num_rows
    return pa.concat_tables([no_rows(table.schema), *parts])


def taken_of(array: Column, places: Int64s) -> Column:
    """The same of one column of integers, truth values, texts, topic ids, or of names in a dictionary."""
    if isinstance(array, pa.DictionaryArray):
        indices = taken_of(array.indices, places)
        return pa.DictionaryArray.from_arrays(indices, array.dictionary, safe=False)
    kind, start, size = array.type, array.offset, len(array)
    known, memory, *text = array.buffers()
    if pa.types.is_string(kind):
        # Not by a kernel: its machine code would take 50 MB of a Spark driver, which reads nothing itself.
        offsets, letters = numbers_in(memory, np.dtype(np.int32), start, size + 1), _bytes(text[0]).tobytes()
        begins, ends = offsets.take(places), offsets.take(places + 1)
        joined = b"".join([letters[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)])
        assert len(joined) <= _MAX_TEXT, "no place is taken twice"
        bounds = np.concatenate([np.zeros(1, np.int32), np.cumsum(ends - begins, dtype=np.int32)])
        return pa.StringArray.from_buffers(len(places), pa.py_buffer(bounds.data), pa.py_buffer(joined))
    if pa.types.is_fixed_size_binary(kind):
        width = kind.byte_width
        values = numbers_in(memory, np.dtype(np.uint8), start * width, size * width).reshape(-1, width)
        is_known = None if known is None else numbers(_bits(known, start, size).take(places)).buffers()[1]
        ids = values.take(places, axis=0)
        return pa.Array.from_buffers(kind, len(places), [is_known, pa.py_buffer(ids.data)])
    assert not array.null_count, f"a column of {kind} with nulls"
    if pa.types.is_boolean(kind):
        return numbers(_bits(memory, start, size).take(places))
    return numbers(numbers_in(memory, dtype_of(kind), start, size).take(places))


def ids_of(array: Column) -> list[bytes]:
    """The bytes of topic ids: zeros where there is none."""
    width = array.type.byte_width
    known, memory = array.buffers()
    raw = numbers_in(memory, np.dtype(np.uint8), array.offset * width, len(array) * width).reshape(-1, width)
    if known is not None:
        raw = raw * _bits(known, array.offset, len(array))[:, None]
    memory_of_all = raw.tobytes()
    return [memory_of_all[start : start + width] for start in range(0, len(memory_of_all), width)]


def _bytes(memory: pa.Buffer | None) -> NDArray[np.uint8]:
    return numbers_in(memory, np.dtype(np.uint8), 0, 0 if memory is None else memory.size)


def _bits(memory: pa.Buffer | None, start: int, size: int) -> NDArray[np.bool_]:
    bits = np.unpackbits(_bytes(memory), bitorder="little")
    return bits[start : start + size].view(np.bool_)
