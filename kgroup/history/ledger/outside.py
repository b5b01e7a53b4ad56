"""Tells whose the commits into an empty group are: a tool's, or those of a consumer without membership.

Nobody had to be let in, so the log does not say. One offset in a group that has members at other times was
set by a tool. Some more may be set by tools one after the other, so they prove neither that somebody read
what lies between them nor that nobody did. Only a consumer commits again and again, each time further.
"""

from typing import Final

from kgroup.history.ledger import ranges
from kgroup.history.ledger.ranges import NOTHING, Ranges
from kgroup.history.ledger.readings import Reading, ReadingKind

LONGER: Final = 4
"""A consumer's first step that is more than this many times as long as its others may have been set."""


def is_set(reading: Reading) -> bool:
    """Whether the reading is nothing but an offset that was set, in a group that has had members."""
    return reading.kind is ReadingKind.OUTSIDE and reading.is_one_offset


def perhaps_set_over(reading: Reading) -> Ranges:
    """The offsets that tools may have set the offset over, in a group that has had members."""
    first = reading.first
    if reading.kind is not ReadingKind.OUTSIDE or first is None:
        return NOTHING
    if reading.may_be_tools:
        found = first.offset if reading.start is None else reading.start
        return ranges.of(min(found, first.offset), reading.highest)
    if reading.start is not None and first.offset - reading.start > LONGER * reading.step_max:
        return ranges.of(reading.start, first.offset)
    return NOTHING
