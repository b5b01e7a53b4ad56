"""Kernels that write text: a program of pieces, run for each item of a table.

A text made once has a number, in one of two arenas; numbers are written as they come.
The programs are made where the words are known (`kgroup.report.records.programs`).
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
    TIME = 4  # column a, epoch ms, as `iso_time` shows it; a hyphen before 1970


_LITERAL, _INTEGER, _TEXT, _TIME = int(Op.LITERAL), int(Op.INTEGER), int(Op.TEXT), int(Op.TIME)
_TEXT_POSITION, _TEXT_SIZE = int(Cell.TEXT_POSITION), int(Cell.TEXT_SIZE)
_LONGEST_NUMBER: Final = 20
_LONGEST_TIME: Final = 24
_LAST_OF_CALENDAR_MS: Final = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z


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
            elif op == _TIME:
                if at + _LONGEST_TIME > room:
                    return item, start
                at = _put_time(out, at, cells[a, i])
            else:
                size = cells[_TEXT_SIZE, i]
                if at + size * 3 > room:
                    return item, start
                at = _put_metadata(out, at, buffer, cells[_TEXT_POSITION, i], size, literals, a, b)
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


@outlined
def _put_time(out: Bytes, at: int, time_ms: int) -> int:
    if time_ms < 0:
        out[at] = 0x2D
        return at + 1
    if time_ms > _LAST_OF_CALENDAR_MS:
        end: int = _put_integer(out, at, time_ms)
        return end
    # Years from March on have the day that some lack at their end. Day 0 is the first of March of the year 0,
    # and after 400 years, an era, all comes again.
    day = time_ms // 86_400_000 + 719_468
    era = day // 146_097
    day -= era * 146_097
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month += 3
    year += 400 * era
    if month > 12:
        month -= 12
        year += 1
    at = _put_padded(out, at, year, 4, 0x2D)
    at = _put_padded(out, at, month, 2, 0x2D)
    at = _put_padded(out, at, day + 1, 2, 0x54)
    of_day = time_ms % 86_400_000
    at = _put_padded(out, at, of_day // 3_600_000, 2, 0x3A)
    at = _put_padded(out, at, of_day // 60_000 % 60, 2, 0x3A)
    at = _put_padded(out, at, of_day // 1000 % 60, 2, 0x2E)
    return int(_put_padded(out, at, of_day % 1000, 3, 0x5A))


@helper
def _put_padded(out: Bytes, at: int, number: int, size: int, behind: int) -> int:
    for position in range(at + size - 1, at - 1, -1):
        out[position] = 0x30 + number % 10
        number //= 10
    out[at + size] = behind
    return at + size + 1


@helper
def _digits(number: int) -> int:
    size = 1
    limit = 10
    while size < 19 and number >= limit:
        size += 1
        limit *= 10
    return size


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
