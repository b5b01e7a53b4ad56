"""Log starts and ends of data topics, from a broker's log directories or from a recording.

Three listings, in order of precedence:

1. The partition folders' own segments: log end offset of this replica, log start as the first segment's base
   offset or, if later, as `log-start-offset-checkpoint` says.
2. `replication-offset-checkpoint`: the high watermark when the broker wrote it down last (every 5 s, and when
   it stops). This is what consumers and Kafka's tools see as log end, but it may be older than the segments.
3. The newest sample of `kgroup record`.

Topic ids are from `partition.metadata` (Kafka 2.8 on).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar
from uuid import UUID

from kgroup.errors import SourceError
from kgroup.log.files.log_dir import OFFSETS_TOPIC, LogDir, PartitionFolder
from kgroup.log.files.recording import RECORDING_TOPIC
from kgroup.log.topics.recorded_ends import NewestRecorded, newest_recorded
from kgroup.protocol.log_listing import LogEndSource, LogListing, PartitionLog
from kgroup.protocol.topic_id import TopicId

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirEnds:
    """The log ends that log directories give: `segments` before `checkpoints` before `recorded`.

    `recorded_ms` is when those were sampled (epoch ms), None without a recording.
    """

    segments: LogListing
    checkpoints: LogListing
    recorded: LogListing
    recorded_ms: int | None


class LogDirEndsReader:
    """Reads topic ids and log ends out of log directories.

    The log ends of a damaged file stay unknown, and `problems` gets a line for it, with the place, once met.
    """

    def __init__(self, log_dirs: Iterable[LogDir]) -> None:
        self.problems: list[str] = []
        self._folders: list[tuple[LogDir, list[PartitionFolder]]] = [
            (log_dir, [folder for folder in log_dir.partitions if _is_of_topic(folder)])
            for log_dir in log_dirs
        ]
        self._topic_ids = [self._read_topic_ids(folders) for _, folders in self._folders]

    def topic_names(self) -> dict[UUID, str]:
        """Topic id to name, of every topic that has a folder with its id."""
        recorded = {
            topic.topic_id: name
            for newest in self._recorded
            for name, topic in sorted(newest.sample.topics.items())
            if topic.topic_id is not None
        }
        return recorded | {
            topic_id: topic
            for topic_ids in self._topic_ids
            for topic, topic_id in sorted(topic_ids.items())
            if topic_id is not None
        }

    @property
    def recorded_ms(self) -> int | None:
        """The time (epoch ms) of the newest sample of a recording, None without one."""
        return max((newest.sample.at_ms for newest in self._recorded), default=None)

    @cached_property
    def _recorded(self) -> list[NewestRecorded]:
        newest = (self._ask(partial(newest_recorded, log_dir)) for log_dir, _ in self._folders)
        return [each for each in newest if each is not None]

    def read(self, topics: Collection[str]) -> LogDirEnds:
        """The log ends of all partitions; segments are opened for `topics` only."""
        segments: list[PartitionLog] = []
        checkpoints: list[PartitionLog] = []
        for (log_dir, folders), topic_ids in zip(self._folders, self._topic_ids, strict=True):
            checkpoints += self._checkpointed(log_dir, topic_ids)
            segments += (self._log_of(folder, topic_ids, folder.topic in topics) for folder in folders)
        return LogDirEnds(
            segments=LogListing(logs=tuple(segments)),
            checkpoints=LogListing(logs=tuple(checkpoints), complete=_lists_every_partition(checkpoints)),
            recorded=self._sampled(topics),
            recorded_ms=self.recorded_ms,
        )

    def _sampled(self, topics: Collection[str]) -> LogListing:
        """A recorder lists all topics that it may see, so one that it saw once, and does not now, is gone."""
        if not self._recorded:
            return LogListing(logs=())
        seen = frozenset().union(*(newest.seen for newest in self._recorded))
        logs = tuple(log for newest in self._recorded for log in newest.logs())
        return LogListing(logs=logs, complete=True, unsure=frozenset(topics) - seen)

    def _checkpointed(self, log_dir: LogDir, topic_ids: Mapping[str, TopicId]) -> Iterator[PartitionLog]:
        log_starts = self._ask(log_dir.log_starts) or {}
        for (topic, partition), high_watermark in (self._ask(log_dir.high_watermarks) or {}).items():
            yield PartitionLog(
                topic=topic,
                partition=partition,
                source=LogEndSource.CHECKPOINT,
                log_start_offset=log_starts.get((topic, partition)),
                log_end_offset=high_watermark,
                topic_id=topic_ids.get(topic),
            )

    def _log_of(
        self, folder: PartitionFolder, topic_ids: Mapping[str, TopicId], read_offsets: bool
    ) -> PartitionLog:
        assert folder.topic is not None
        return PartitionLog(
            topic=folder.topic,
            partition=folder.partition,
            source=LogEndSource.SEGMENTS,
            log_start_offset=self._ask(folder.log_start_offset) if read_offsets else None,
            log_end_offset=self._ask(folder.log_end_offset) if read_offsets else None,
            topic_id=topic_ids.get(folder.topic),
        )

    def _read_topic_ids(self, folders: Sequence[PartitionFolder]) -> dict[str, TopicId]:
        """The id of each topic, from the first of its folders that has one."""
        topic_ids: dict[str, TopicId] = {}
        for folder in folders:
            if folder.topic is not None and topic_ids.get(folder.topic) is None:
                topic_ids[folder.topic] = self._ask(partial(_id_of_folder, folder))
        return topic_ids

    def _ask(self, question: Callable[[], _Answer]) -> _Answer | None:
        try:
            return question()
        except SourceError as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))
            return None


def _is_of_topic(folder: PartitionFolder) -> bool:
    return folder.topic not in (None, RECORDING_TOPIC) and folder.retired is None


def _id_of_folder(folder: PartitionFolder) -> TopicId:
    return folder.topic_id


def _lists_every_partition(logs: Sequence[PartitionLog]) -> bool:
    """Whether these are the log directories of brokers that hold everything, so that what is absent is gone.

    No file has this. It is inferred from every topic's partitions being there from 0 on without a gap, the
    offsets topic's among them: a broker that shares a cluster's partitions with others has gaps.
    """
    partitions: dict[str, set[int]] = {}
    for log in logs:
        partitions.setdefault(log.topic, set()).add(log.partition)
    return OFFSETS_TOPIC in partitions and all(
        max(listed) == len(listed) - 1 for listed in partitions.values()
    )
