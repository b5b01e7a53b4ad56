"""Deletion from a recording that is too old or too large: never the newest record of a key.

The oldest segments are folded: of their records only the newest of each key stays, as Kafka's own cleaner
leaves it, so that a reader finds the present state of every group. That is done to many segments at once, as
each time the folded ones before them are read and written, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_FOLD_SHARE: Final = 0.5  # of the folded bytes; so each byte is written at most some three times
_SAMPLES_SHARE: Final = 10  # samples take at most a tenth of --max-size
_SLACK: Final = 8  # what is too large is brought an eighth below the limit


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSegment:
    """A segment that is not written any more. `newest_ms` is its largest timestamp, -1 if unknown."""

    size: int
    end_offset: int
    newest_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLog:
    """A partition: its closed segments, oldest first, of which those before `folded_to` were folded.

    `open_bytes` is the size of the segment that is being written.
    """

    closed: Sequence[KeptSegment]
    open_bytes: int
    folded_to: int = 0

    @property
    def size(self) -> int:
        """All of its bytes."""
        return self.open_bytes + sum(segment.size for segment in self.closed)

    @property
    def folded_count(self) -> int:
        """The number of segments already folded; they are the first."""
        return sum(segment.end_offset <= self.folded_to for segment in self.closed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The time for which everything is kept, and the most bytes there may be; None: no limit."""

    retain_ms: int | None
    bytes_max: int | None

    @property
    def samples_max(self) -> int | None:
        """The most bytes of samples there may be."""
        return None if self.bytes_max is None else self.bytes_max // _SAMPLES_SHARE

    @property
    def segment_bytes(self) -> int:
        """The size of a segment: small against the limit, as only whole segments are dropped."""
        largest, smallest = 16 << 20, 64 << 10
        return largest if self.bytes_max is None else max(smallest, min(largest, self.bytes_max // 256))

    @property
    def segment_ms(self) -> int | None:
        """The time for which a segment is written: short against the time that it is kept."""
        return None if self.retain_ms is None else max(self.retain_ms // 8, 1)

    def to_fold(self, logs: Mapping[int, KeptLog], now_ms: int, other_bytes: int = 0) -> dict[int, int]:
        """The number of oldest closed segments to fold by partition, including those already folded.

        `other_bytes` lie in the same folder and count.
        """
        counts = {partition: self._expired(log, now_ms) for partition, log in sorted(logs.items())}
        total = other_bytes + sum(log.size for log in logs.values())
        if self.bytes_max is not None and total > self.bytes_max:
            aim = self.bytes_max - self.bytes_max // _SLACK
            for newest_ms, partition, number, size in _by_age(logs):
                if total <= aim:
                    break
                del newest_ms
                counts[partition] = max(counts[partition], number + 1)
                total -= size  # what stays of it is found out by folding
        return {
            partition: count for partition, count in counts.items() if count > logs[partition].folded_count
        }

    def _expired(self, log: KeptLog, now_ms: int) -> int:
        """The number of segments that are too old, once they are worth the work."""
        if self.retain_ms is None:
            return 0
        count = already = log.folded_count
        while count < len(log.closed) and log.closed[count].newest_ms < now_ms - self.retain_ms:
            count += 1
        folded = sum(segment.size for segment in log.closed[:already])
        fresh = sum(segment.size for segment in log.closed[already:count])
        return count if fresh and fresh >= folded * _FOLD_SHARE else 0

    def samples_to_drop(self, log: KeptLog, now_ms: int) -> int:
        """The number of oldest closed sample segments that are too old or too large together."""
        count, size = 0, log.size
        for segment in log.closed:
            is_old = self.retain_ms is not None and segment.newest_ms < now_ms - self.retain_ms
            is_much = self.samples_max is not None and size > self.samples_max
            if not (is_old or is_much):
                break
            count += 1
            size -= segment.size
        return count


def _by_age(logs: Mapping[int, KeptLog]) -> list[tuple[int, int, int, int]]:
    """The segments that can still be folded: newest timestamp, partition, number in its log, size."""
    return sorted(
        (segment.newest_ms, partition, number, segment.size)
        for partition, log in logs.items()
        for number, segment in enumerate(log.closed)
        if number >= log.folded_count
    )
