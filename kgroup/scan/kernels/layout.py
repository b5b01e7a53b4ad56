"""Kernels that lay text out as table rows: cells end with a zero byte, the last with a newline.

`kgroup.report.table` says how wide the columns are; these know texts only whose every byte is a character.
"""

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.bytes_at import Bytes, byte_at
from kgroup.scan.kernels.compile import kernel

Ints = NDArray[np.int64]

CELL_END = 0x00
ROW_END = 0x0A


@kernel
def measure_rows(cells: Bytes, at: int, rows_max: int, widths: Ints) -> tuple[int, int, bool]:
    """Put into `widths` the bytes of the longest cell of each column, of at most `rows_max` whole rows.

    Returns how many rows there are from `at` on, where they end, and whether they are ASCII.
    """
    rows = column = 0
    start = end = at
    is_ascii = True
    for i in range(len(widths)):
        widths[i] = 0
    while at < len(cells) and rows < rows_max:
        byte = byte_at(cells, at)
        if byte in (CELL_END, ROW_END):
            widths[column] = max(widths[column], at - start)
            start = at + 1
            column += 1
            if byte == ROW_END:
                column = 0
                rows += 1
                end = start
        elif byte >= 0x80:
            is_ascii = False
        at += 1
    return rows, end, is_ascii


@kernel
def lay_rows_out(
    cells: Bytes, at: int, end: int, widths: Ints, is_right: NDArray[np.bool_], gap: int, out: Bytes
) -> int:
    """Write the rows of cells[at:end], which are ASCII, without spaces at their ends; returns their size.

    `out` must have room for rows that are as wide as all columns and the gaps between them.
    """
    row = size = column = 0
    start = at
    while at < end:
        byte = byte_at(cells, at)
        if byte not in (CELL_END, ROW_END):
            at += 1
            continue
        if column:
            for _ in range(gap):
                out[size] = 0x20
                size += 1
        missing = widths[column] - (at - start)
        if is_right[column]:
            for _ in range(missing):
                out[size] = 0x20
                size += 1
        for position in range(start, at):
            out[size] = byte_at(cells, position)
            size += 1
        at += 1
        start = at
        column += 1
        if byte == ROW_END:
            while size > row and out[size - 1] == 0x20:
                size -= 1
            out[size] = ROW_END
            size += 1
            row = size
            column = 0
        elif not is_right[column - 1]:
            for _ in range(missing):
                out[size] = 0x20
                size += 1
    return size
