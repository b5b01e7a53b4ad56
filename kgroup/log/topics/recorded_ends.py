"""Log ends that `kgroup record` saved: current, past, and over time.

A sample says where a log ended at its time. Between two samples it ended somewhere between theirs: exactly
known if those are equal, and else that of the sample that is nearer, if one is near enough.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kgroup.log.files.log_dir import LogDir
from kgroup.log.files.recording import Sample, TopicSample, read_newest_samples, read_samples
from kgroup.log.files.sample_changes import states
from kgroup.protocol.log_listing import LogEndAt, LogEndSource, PartitionLog
from kgroup.protocol.topic_id import TopicId
from kgroup.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Int64s = NDArray[np.int64]

UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestRecorded:
    """The newest sample of a recording; `seen` are all topics that it knows of, also those that are gone."""

    sample: Sample
    seen: frozenset[str]

    def logs(self) -> Iterator[PartitionLog]:
        """Each partition as it was at the time of the sample."""
        for name, topic in sorted(self.sample.topics.items()):
            for partition in range(topic.partitions):
                yield PartitionLog(
                    topic=name,
                    partition=partition,
                    source=LogEndSource.RECORDED,
                    log_start_offset=topic.starts.get(partition),
                    log_end_offset=topic.ends.get(partition),
                    topic_id=topic.topic_id,
                )


def newest_recorded(log_dir: LogDir) -> NewestRecorded | None:
    """The current log ends of a recording; None if there is no recording. Raises SourceError."""
    samples = list(read_newest_samples(log_dir))
    seen = frozenset(name for sample in samples for name in (*sample.topics, *sample.gone))
    newest = deque(states(samples), maxlen=1)
    return NewestRecorded(sample=newest[0], seen=seen) if newest else None


@dataclass(slots=True)
class EndsAround:
    """One partition's log ends in the samples before and after each of some times, else UNKNOWN.

    `before_ms` and `after_ms` are how long before and after (at least 0), `near_ms` how near is near.
    """

    before: "Int64s"
    after: "Int64s"
    before_ms: "Int64s"
    after_ms: "Int64s"
    near_ms: "Int64s"

    def with_logged(self, logged: "Int64s") -> "Int64s":
        """The log end at each time, given what the log itself says, which counts if the samples allow it."""
        import numpy as np

        knows_both = (self.before >= 0) & (self.after >= 0)
        is_exact = knows_both & (self.before == self.after)
        fits = (logged >= 0) & (self.before <= logged) & ((self.after < 0) | (logged <= self.after))
        is_near_before = (self.before >= 0) & (self.before_ms <= self.near_ms)
        is_near_after = (self.after >= 0) & (self.after_ms <= self.near_ms)
        prefers_after = is_near_after & (~is_near_before | (self.after_ms < self.before_ms))
        near = np.where(prefers_after, self.after, np.where(is_near_before, self.before, UNKNOWN))
        says_nothing = (self.before < 0) & (self.after < 0)
        ends: Int64s = np.where(
            is_exact, self.before, np.where((fits & ~is_exact) | says_nothing, logged, near)
        )
        return ends

    def off_by(self, ends: "Int64s", logged: "Int64s") -> "Int64s":
        """How far the true end may be from each of `ends`, which `with_logged` made; 0 where it is exact.

        UNKNOWN if there is a sample on one side only.
        """
        import numpy as np

        is_exact = (ends < 0) | (ends == logged) | (self.before == self.after)
        knows_both = (self.before >= 0) & (self.after >= 0)
        furthest = np.maximum(self.after - ends, ends - self.before)
        off: Int64s = np.where(is_exact, 0, np.where(knows_both, furthest, UNKNOWN))
        return off


class RecordedAt:
    """Log ends around rising times (epoch ms), of all partitions that recordings tell of; read when asked."""

    def __init__(self, log_dirs: Iterable[LogDir], times_ms: Sequence[int]) -> None:
        self._log_dirs = tuple(log_dirs)
        self._times_ms = times_ms
        self._ends: dict[TopicPartition, EndsAround] | None = None
        self._now: dict[TopicPartition, int] = {}

    def of(self, topic: str, partition: int) -> EndsAround | None:
        """None if no sample knows the partition. Raises SourceError."""
        if self._ends is None:
            self._read()
        assert self._ends is not None
        return self._ends.get((topic, partition))

    def now(self, topic: str, partition: int) -> int | None:
        """The log's end in the newest sample."""
        if self._ends is None:
            self._read()
        return self._now.get((topic, partition))

    def _read(self) -> None:
        self._ends = {}
        for log_dir in self._log_dirs:
            before: Sample | None = None
            index = 0
            for state in states(read_samples(log_dir, from_ms=self._times_ms[0] if self._times_ms else 0)):
                while index < len(self._times_ms) and self._times_ms[index] < state.at_ms:
                    self._note(index, before, state)
                    index += 1
                before = state
            if before is None:
                continue
            while index < len(self._times_ms):
                self._note(index, before, None)
                index += 1
            for name, topic in before.topics.items():
                self._now |= {(name, partition): end for partition, end in topic.ends.items()}

    def _note(self, index: int, before: Sample | None, after: Sample | None) -> None:
        time_ms = self._times_ms[index]
        for name in (before.topics if before else {}).keys() | (after.topics if after else {}).keys():
            of_before = before.topics.get(name) if before else None
            of_after = after.topics.get(name) if after else None
            if of_before is not None and of_after is not None and of_before.topic_id != of_after.topic_id:
                of_after = None  # another topic of that name by then
            for sample, topic, is_after in ((before, of_before, False), (after, of_after, True)):
                if sample is None or topic is None:
                    continue
                for partition, end in topic.ends.items():
                    if partition in topic.unknown:
                        continue
                    around = self._around((name, partition))
                    around.near_ms[index] = sample.every_ms
                    if is_after:
                        around.after[index], around.after_ms[index] = end, sample.at_ms - time_ms
                    else:
                        around.before[index], around.before_ms[index] = end, time_ms - sample.at_ms

    def _around(self, partition: TopicPartition) -> EndsAround:
        import numpy as np

        assert self._ends is not None
        if partition not in self._ends:
            count = len(self._times_ms)
            self._ends[partition] = EndsAround(
                before=np.full(count, UNKNOWN),
                after=np.full(count, UNKNOWN),
                before_ms=np.zeros(count, np.int64),
                after_ms=np.zeros(count, np.int64),
                near_ms=np.zeros(count, np.int64),
            )
        return self._ends[partition]


class RecordedHistory:
    """The growth of logs by all samples: up to `points_max` ends of each partition, evenly thinned out."""

    def __init__(self, log_dirs: Iterable[LogDir], points_max: int) -> None:
        self._most = 2 * points_max
        self._grown: dict[TopicPartition, _Grown] = {}
        for log_dir in log_dirs:
            for sample in read_samples(log_dir):
                for name, topic in sample.topics.items():
                    self._add(name, topic, sample.at_ms)

    def _add(self, name: str, topic: TopicSample, at_ms: int) -> None:
        for partition, end in topic.ends.items():
            key = name, partition
            grown = self._grown.get(key)
            if grown is None or grown.topic_id != topic.topic_id or end < grown.points[-1].offset:
                self._grown[key] = _Grown(topic.topic_id, [LogEndAt(end, at_ms)])
                continue
            grown.add(LogEndAt(end, at_ms), self._most)

    def of(self, topic: str, partition: int) -> tuple[LogEndAt, ...]:
        """Offsets and times rise; of the newest topic of that name alone."""
        grown = self._grown.get((topic, partition))
        return tuple(grown.points) if grown is not None else ()


@dataclass(slots=True)
class _Grown:
    topic_id: TopicId
    points: list[LogEndAt] = field(default_factory=list)

    def add(self, point: LogEndAt, most: int) -> None:
        last = self.points[-1]
        if point.offset <= last.offset or point.timestamp_ms <= last.timestamp_ms:
            return
        if len(self.points) >= most:
            self.points = [*self.points[:-1:2], last]
        self.points.append(point)
