"""The disk under the brokers' logs: it may fail, and power may be lost in the middle of an append."""

from collections.abc import Iterable
from copy import deepcopy
from random import Random
from typing import Final

from kgroup.broker.cluster import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kgroup.broker.storage import ClusterSpec, MemoryStorage, TopicSpec
from kgroup.errors import SourceError
from kgroup.log.format.batch_header import BatchHeader, read_header
from kgroup.log.store.record_log import MemoryLog, RecordLog
from kgroup.protocol.topic_partition import TopicPartition

_CAUSES: Final = ("Input/output error", "No space left on device", "Too many open files")


_OWN: Final = (OFFSETS_TOPIC, TRANSACTIONS_TOPIC)
"""The brokers' own: power goes in the middle of these."""


class PowerLost(BaseException):  # no error of the code: nothing may catch it but the world
    """Every process is gone, wherever it was."""


class Disk:
    """Settings that faults change.

    `failing`: the part of appends to the offsets topic that fail, 0 to 1; `failing_topics`: of other topics.
    """

    def __init__(self, random: Random) -> None:
        self.failing = 0.0
        self.failing_topics: dict[str, float] = {}
        self._random = random
        self._appends_left: int | None = None
        self._transactions_only = False

    def cut_power(self, after: int, *, in_transaction: bool) -> None:
        """Cut the power at that append from now, in the middle or right after it.

        `in_transaction`: only appends to the log of transactions count.
        """
        self._appends_left, self._transactions_only = after, in_transaction

    def begin(self, topic: str) -> bool:
        """An append begins; whether the power goes at its end. Raises PowerLost and SourceError."""
        if topic not in _OWN:
            failing = self.failing_topics.get(topic)
            if failing and self._random.random() < failing:
                raise SourceError(f"{topic}: {self._random.choice(_CAUSES)}")
            return False
        if self._appends_left is not None and (topic == TRANSACTIONS_TOPIC or not self._transactions_only):
            self._appends_left -= 1
            if self._appends_left <= 0:
                self._appends_left = None
                if self._random.random() < 0.5:
                    raise PowerLost
                return True
        if self.failing and topic == OFFSETS_TOPIC and self._random.random() < self.failing:
            raise SourceError(f"{topic}: {self._random.choice(_CAUSES)}")
        return False


class DiskLog(MemoryLog):
    """A log that outlives the brokers' processes."""

    def __init__(self, topic: str, disk: Disk) -> None:
        super().__init__()
        self._topic = topic
        self._disk = disk

    def append(self, batch: bytes, leader_epoch: int) -> BatchHeader:
        """Add a batch at the end. Raises SourceError if the disk fails, PowerLost if all ends here."""
        is_last = self._disk.begin(self._topic)
        header = super().append(batch, leader_epoch)
        if is_last:
            raise PowerLost
        return header

    def lose_last(self, count: int) -> int:
        """The disk had lied: the last batches were never written. Returns how many there were."""
        batches = list(self.batches(self.start_offset))
        kept = batches[: max(len(batches) - count, 0)]
        self.replace(kept)
        self.end_offset = read_header(kept[-1]).last_offset + 1 if kept else self.start_offset
        return len(batches) - len(kept)


class DiskStorage(MemoryStorage):
    """Keeps logs and facts from one cluster of the world to the next."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._spec: ClusterSpec | None = None
        self._logs: dict[TopicPartition, RecordLog] = {}

    def load(self) -> ClusterSpec | None:
        """Return the state last saved."""
        return deepcopy(self._spec)

    def save(self, spec: ClusterSpec, changed: Iterable[str] | None = None) -> None:
        """Save at once, and safely."""
        self._spec = deepcopy(spec)

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        """The log as it was."""
        log = self._logs.get((topic.name, partition))
        if log is None:
            log = DiskLog(topic.name, self._disk)
            self._logs[topic.name, partition] = log
        return log
