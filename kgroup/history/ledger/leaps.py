"""The step of a partition to its log's end that is longer and faster than all others.

A reader that moves this far in one step may just have nothing holding it up any more, so the range may have
been skipped, with nothing certain.
"""

from typing import Final

from kgroup.history.ledger.model import LogBounds
from kgroup.history.ledger.readings import LoggedStep, PartitionReadings, ReadingKind

LEAST: Final = 100
"""A step of fewer offsets may be one fetch, which is handed out at once."""
LONGER: Final = 4
"""This many times as long and as fast as any other step of its partition."""
OTHERS: Final = 2
"""Other steps that it is held against."""


def leap_of(of_partition: PartitionReadings, bounds: LogBounds) -> LoggedStep | None:
    """The step that stands out, None if none does, or if nobody knows where the log ended before it."""
    steps = [
        step
        for reading in of_partition.readings
        if reading.kind is not ReadingKind.OUTSIDE
        for step in reading.longest
    ]
    if len(steps) <= OTHERS:
        return None
    longest, *others = sorted(steps, key=lambda step: -step.length)
    if longest.length < LEAST or not all(
        longest.length > LONGER * other.length and longest.per_ms > LONGER * other.per_ms for other in others
    ):
        return None
    (end,) = bounds.ends_at(of_partition.partition, [longest.begun.at_ms])
    return longest if end is not None and longest.begun.offset < end <= longest.ended.offset else None
