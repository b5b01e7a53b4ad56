"""Kernels that write text: a program of pieces, run for each item of a table.

What is put into words once is a text with a number, in one of two arenas; numbers are written as they come.
The programs are made by whoever knows the words (`kgroup.report.records.programs`).
"""

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.bytes_at import Bytes, byte_at, put_word, word_at
from kgroup.scan.kernels.compile import helper, kernel, outlined
from kgroup.scan.kernels.records import Cell, Table

Ints = NDArray[np.int64]

SLACK: Final = 16
"""Bytes that texts and buffers must have behind their end: words are read and written whole."""


class Op(IntEnum):
    """A step of a program: what to write, with two arguments `a` and `b`."""

    LITERAL = 0  # literals[a : a + b]
    INTEGER = 1  # column a
    TEXT = 2  # the text whose number is in column a, of arena b
    METADATA = 3  # a commit's; a quotation mark in it is literals[a : a + b], a backslash two
    RIGHT = 4  # column a as an integer, b columns wide
    LEFT = 5  # as TEXT of arena 0, b columns wide; column a + 1 has its width
    TIME = 6  # column a: epoch ms as ISO-8601, b columns wide; what is below 0 is "-"


_LITERAL, _INTEGER, _TEXT, _METADATA = int(Op.LITERAL), int(Op.INTEGER), int(Op.TEXT), int(Op.METADATA)
_RIGHT, _LEFT = int(Op.RIGHT), int(Op.LEFT)
_TEXT_POSITION, _TEXT_SIZE = int(Cell.TEXT_POSITION), int(Cell.TEXT_SIZE)
_LONGEST_NUMBER: Final = 20
_LONGEST_TIME: Final = 24
_DAY_MS: Final = 86_400_000
_LAST_MS: Final = 253_402_300_800_000  # of the year 9999, which has the last four digits


@kernel
def write_items(
    items: Ints,
    item: int,
    cells: Table,
    which: Ints,
    programs: Ints,
    steps: Ints,
    literals: Bytes,
    texts: Bytes,
    spans: Ints,
    block_texts: Bytes,
    block_spans: Ints,
    buffer: Bytes,
    out: Bytes,
    at: int,
    ends: Ints,
) -> tuple[int, int]:
    """Write items[item:] into `out` from `at` on, as far as it has room.

    Program which[i] of item i goes from its place in `programs` to the next one's; `steps` has three numbers
    for each step. Spans are where a text begins and ends. Returns the first item that was not written
    and where the text ends; `ends` says where each item's ends.
    """
    room = len(out) - SLACK
    while item < len(items):
        start = at
        i = items[item]
        program = which[i]
        for step in range(programs[program], programs[program + 1]):
            op, a, b = steps[3 * step], steps[3 * step + 1], steps[3 * step + 2]
            if op == _LITERAL:
                if at + b > room:
                    return item, start
                at = _copy(out, at, literals, a, b)
            elif op == _TEXT:
                number = cells[a, i]
                if b == 0:
                    position, size = spans[2 * number], spans[2 * number + 1] - spans[2 * number]
                    if at + size > room:
                        return item, start
                    at = _copy(out, at, texts, position, size)
                else:
                    position = block_spans[2 * number]
                    size = block_spans[2 * number + 1] - position
                    if at + size > room:
                        return item, start
                    at = _copy(out, at, block_texts, position, size)
            elif op == _INTEGER:
                if at + _LONGEST_NUMBER > room:
                    return item, start
                at = _put_integer(out, at, cells[a, i])
            elif op == _METADATA:
                size = cells[_TEXT_SIZE, i]
                if at + size * 3 > room:
                    return item, start
                at = _put_metadata(out, at, buffer, cells[_TEXT_POSITION, i], size, literals, a, b)
            else:
                if at + b + _LONGEST_TIME > room:
                    return item, start
                if op == _RIGHT:
                    at = _put_right(out, at, cells[a, i], b)
                    continue
                width_end = at + b
                if op == _LEFT:
                    number = cells[a, i]
                    position, size = spans[2 * number], spans[2 * number + 1] - spans[2 * number]
                    if at + size + b > room:
                        return item, start
                    width_end = at + b + size - cells[a + 1, i]
                    at = _copy(out, at, texts, position, size)
                else:
                    at = _put_time(out, at, cells[a, i])
                while at < width_end:
                    out[at] = 0x20
                    at += 1
        ends[item] = at
        item += 1
    return item, at


@helper
def _copy(out: Bytes, at: int, source: Bytes, position: int, size: int) -> int:
    end = at + size
    while at < end:
        put_word(out, at, word_at(source, position))
        at += 8
        position += 8
    return end


@outlined
def _put_integer(out: Bytes, at: int, number: int) -> int:
    if number < 0:
        out[at] = 0x2D
        at += 1
        if number == -(1 << 63):  # the only one without its opposite
            out[at] = 0x39
            at += 1
            number = -(number + 9_000_000_000_000_000_000)
            size = 18
        else:
            number = -number
            size = _digits(number)
    else:
        size = _digits(number)
    position = at + size
    while position > at:
        position -= 1
        out[position] = 0x30 + number % 10
        number //= 10
    return at + size


@helper
def _digits(number: int) -> int:
    size = 1
    limit = 10
    while size < 19 and number >= limit:
        size += 1
        limit *= 10
    return size


@outlined
def _put_right(out: Bytes, at: int, number: int, width: int) -> int:
    size = _digits(abs(number)) + (1 if number < 0 else 0)
    for _ in range(width - size):
        out[at] = 0x20
        at += 1
    return _put_integer(out, at, number)


@outlined
def _put_metadata(
    out: Bytes, at: int, buffer: Bytes, position: int, size: int, literals: Bytes, quote: int, quote_size: int
) -> int:
    for i in range(position, position + size):
        byte = byte_at(buffer, i)
        if byte == 0x22:
            for j in range(quote_size):
                out[at + j] = literals[quote + j]
            at += quote_size
            continue
        if byte == 0x5C:
            out[at] = byte
            at += 1
        out[at] = byte
        at += 1
    return at


@outlined
def _put_time(out: Bytes, at: int, time_ms: int) -> int:
    """ISO-8601; days to dates as in Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms"."""
    if time_ms < 0:
        out[at] = 0x2D
        return at + 1
    if time_ms >= _LAST_MS:
        return _put_integer(out, at, time_ms)
    days = time_ms // _DAY_MS + 719_468
    era = days // 146_097
    day_of_era = days - era * 146_097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    ms = time_ms % _DAY_MS
    _put_digits(out, at, year, 4)
    out[at + 4] = 0x2D
    _put_digits(out, at + 5, month, 2)
    out[at + 7] = 0x2D
    _put_digits(out, at + 8, day, 2)
    out[at + 10] = 0x54
    _put_digits(out, at + 11, ms // 3_600_000, 2)
    out[at + 13] = 0x3A
    _put_digits(out, at + 14, ms // 60_000 % 60, 2)
    out[at + 16] = 0x3A
    _put_digits(out, at + 17, ms // 1000 % 60, 2)
    out[at + 19] = 0x2E
    _put_digits(out, at + 20, ms % 1000, 3)
    out[at + 23] = 0x5A
    return at + _LONGEST_TIME


@helper
def _put_digits(out: Bytes, at: int, number: int, size: int) -> None:
    position = at + size
    while position > at:
        position -= 1
        out[position] = 0x30 + number % 10
        number //= 10
