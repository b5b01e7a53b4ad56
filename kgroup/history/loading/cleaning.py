"""Whether the log cleaner still works on a partition, judged by its files.

The cleaner takes a partition when more than half of what it may clean is dirty (min.cleanable.dirty.ratio
0.5), and looks every 15 s (log.cleaner.backoff.ms). It never cleans the segment that is written. So closed
segments that have been dirty for long are the mark of a cleaner that is dead, switched off, or has set this
partition aside as uncleanable. Source: `LogCleanerManager`, `LogToClean` of Kafka 3.7 to 4.4; KAFKA-6622 is
what a coordinator makes of such a log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

DIRTY_RATIO_MIN: Final = 0.5
OVERDUE_MS: Final = 3_600_000
"""A judgement: a cleaner that is alive comes round all partitions in an hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanedSegment:
    """A segment; `begun_ms` is the time of its first record, None for none; `has_gaps`: offsets miss."""

    base_offset: int
    size: int
    begun_ms: int | None
    has_gaps: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning:
    """`dirty_share` is of the closed segments, None without any; `overdue_ms` is for how long more
    than half of them has been dirty, as of the newest record, None if that is not so or is unknown.
    """

    closed_bytes: int
    dirty_bytes: int
    cleaned_to: int | None
    overdue_ms: int | None

    @property
    def dirty_share(self) -> float | None:
        """The ratio the cleaner goes by."""
        return self.dirty_bytes / self.closed_bytes if self.closed_bytes else None

    @property
    def is_dead(self) -> bool:
        """The cleaner should long have been here."""
        return self.overdue_ms is not None and self.overdue_ms >= OVERDUE_MS


def cleaning(segments: Sequence[CleanedSegment], cleaned_to: int | None, newest_ms: int | None) -> Cleaning:
    """Judge segments in their order; `cleaned_to` is from cleaner-offset-checkpoint, None without that file.

    Without it, segments up to the last one with gaps count as cleaned.
    """
    closed = segments[:-1]
    if cleaned_to is None:
        first_dirty = next((n for n in range(len(closed), 0, -1) if closed[n - 1].has_gaps), 0)
    else:
        first_dirty = next(
            (n for n, each in enumerate(closed) if each.base_offset >= cleaned_to), len(closed)
        )
    clean_bytes = sum(each.size for each in closed[:first_dirty])
    dirty_bytes, since_ms = 0, None
    for number in range(first_dirty, len(closed)):
        dirty_bytes += closed[number].size
        if since_ms is None and dirty_bytes > (clean_bytes + dirty_bytes) * DIRTY_RATIO_MIN:
            since_ms = segments[number + 1].begun_ms  # when this one was closed
    overdue_ms = None if since_ms is None or newest_ms is None else max(0, newest_ms - since_ms)
    return Cleaning(
        closed_bytes=clean_bytes + dirty_bytes,
        dirty_bytes=dirty_bytes,
        cleaned_to=cleaned_to,
        overdue_ms=overdue_ms,
    )
