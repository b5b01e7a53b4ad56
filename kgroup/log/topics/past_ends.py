"""Log ends of the data topics at the end of each of many windows: by their logs next to the offsets topic,
and by what `kgroup record` sampled.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgroup.log.files.log_dir import LogDir
from kgroup.log.topics.recorded_ends import RecordedAt
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.protocol.topic_partition import TopicPartition

UNKNOWN: Final = -1
_KEPT_BYTES: Final = 64 << 20


class PastEnds(NamedTuple):
    """One topic partition's log end at each time, and its current one; UNKNOWN where it is not known."""

    at: NDArray[np.int64]
    now: int


@dataclass(slots=True)
class BetweenSamples:
    """Log ends that are taken from the nearer sample, as the samples before and after differ.

    `count` are they, `most` is the furthest that one with samples on both sides can be off, at `place`;
    `without_bound` have a sample on one side only.
    """

    count: int = 0
    most: int = 0
    place: TopicPartition | None = None
    without_bound: int = 0

    def note(self, place: TopicPartition, off_by: NDArray[np.int64]) -> None:
        """Count those of another partition."""
        self.count += int((off_by != 0).sum())
        self.without_bound += int((off_by == UNKNOWN).sum())
        most = int(off_by.max(initial=0))
        if most > self.most:
            self.most, self.place = most, place


class PastEndsInLogs:
    """Log ends at rising times (epoch ms), found when they are asked for; 64 MB of them are kept."""

    def __init__(self, log_dirs: Iterable[LogDir], times_ms: Sequence[int]) -> None:
        log_dirs = tuple(log_dirs)
        self.between_samples = BetweenSamples()
        """Of the partitions that were asked about."""
        self._noted: set[TopicPartition] = set()
        self._logs = DataLogs(log_dirs)
        self._recorded = RecordedAt(log_dirs, times_ms)
        self._times_ms = times_ms
        self._unknown = PastEnds(np.full(len(times_ms), UNKNOWN), UNKNOWN)
        self._kept = lru_cache(_KEPT_BYTES // (8 * len(times_ms) + 500) + 1)(self._find)

    def __call__(self, topic: str, partition: int) -> PastEnds:
        """The past ends of one topic partition. Raises SourceError if a file cannot be read."""
        return self._kept(topic, partition)

    def _find(self, topic: str, partition: int) -> PastEnds:
        now = self._logs.end(topic, partition)
        recorded = self._recorded.of(topic, partition)
        if now is None and recorded is None:
            return self._unknown
        logged = np.full(len(self._times_ms), UNKNOWN)
        if now is not None:
            in_log = self._logs.ends_at(topic, partition, self._times_ms)
            logged = np.array([UNKNOWN if end is None else end for end in in_log], np.int64)
        if recorded is None:
            return PastEnds(logged, UNKNOWN if now is None else now)
        sampled = self._recorded.now(topic, partition)
        known = [end for end in (now, sampled) if end is not None]
        ends = recorded.with_logged(logged)
        if (topic, partition) not in self._noted:
            self._noted.add((topic, partition))
            self.between_samples.note((topic, partition), recorded.off_by(ends, logged))
        return PastEnds(ends, max(known, default=UNKNOWN))
