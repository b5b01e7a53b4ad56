"""Sorts rows by several columns, and maps names to numbers that sort the same way."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.scan.kernels.gather import values_of

if TYPE_CHECKING:
    Column = pa.ChunkedArray[Any]
else:
    Column = pa.ChunkedArray

_NUMBERS: Final = 1 << 63
_ROWS_AT_ONCE: Final = 16_384


def ordered_by(*keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of rows, sorted by the first key, then by the second, and so on; equal ones stay in order.

    One number is made of all keys, and of the row's place, where 64 bits have room for it: to sort plain
    numbers is many times as fast as to sort places by them.
    """
    size = len(keys[0])
    if not size:
        return np.empty(0, np.int64)
    # The rows of a log come by offset: what rises anyway decides nothing that their places do not.
    while len(keys) > 1 and bool((keys[-1][1:] >= keys[-1][:-1]).all()):
        keys = keys[:-1]
    lows = [int(key.min()) for key in keys]
    spans = [int(key.max()) - low + 1 for key, low in zip(keys, lows, strict=True)]
    number, room = np.zeros(size, np.int64), 1
    for key, low, span in zip(keys, lows, spans, strict=True):
        room *= span
        if room > _NUMBERS:
            return np.lexsort(keys[::-1])
        number *= span
        number += key.astype(np.int64) - low
    bits = (size - 1).bit_length()
    if room > _NUMBERS >> bits:
        return np.argsort(number, kind="stable")
    number <<= bits
    number |= np.arange(size)
    number.sort()
    number &= (1 << bits) - 1
    return number


def begins_of(keys: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """True for each row whose keys differ from those of the row before it."""
    begins = np.ones(len(keys[0]), np.bool_)
    begins[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return begins


def starts_of(table: pa.Table, columns: Sequence[str]) -> NDArray[np.int64]:
    """The rows of a table at which these columns, of numbers or of one dictionary each, have other values.

    Some thousand rows are looked at at once: the columns as a whole take several times the memory.
    """
    starts = [np.empty(0, np.int64)]
    last: list[int] | None = None
    for start in range(0, table.num_rows, _ROWS_AT_ONCE):
        some = table.slice(start, _ROWS_AT_ONCE)
        keys = [values_of(some[name]) for name in columns]
        begins = begins_of(keys)
        begins[0] = last != [int(key[0]) for key in keys]
        last = [int(key[-1]) for key in keys]
        starts.append(np.flatnonzero(begins) + start)
    return np.concatenate(starts)


def ranks(column: Column) -> NDArray[np.int64]:
    """Each row's place in the order of all names of a dictionary column: by code point, as Python sorts.

    The column has one dictionary.
    """
    if not column.num_chunks:
        return np.empty(0, np.int64)
    first = column.chunk(0)
    assert isinstance(first, pa.DictionaryArray)
    names: list[str] = first.dictionary.to_pylist()
    rank_of = np.empty(len(names), np.int64)
    rank_of[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    taken: NDArray[np.int64] = rank_of.take(values_of(column))
    return taken
