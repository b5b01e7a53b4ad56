"""Records that arrive: their producers are not part of the world, so they are in the log at once."""

from contextlib import suppress
from typing import Final

from kgroup.broker.partition import NO_LEADER
from kgroup.errors import SourceError
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.sim.scenario.scenario import SimTopic
from kgroup.sim.watch.checkers import Checkers
from kgroup.sim.watch.result import LOG_AGREES
from kgroup.sim.world.cluster_host import ClusterHost
from kgroup.sim.world.schedule import Schedule

_VALUE: Final = b"a record of the world"


class Producers:
    """All producers of one topic: each `linger_ms` they send what its rate has brought, in turn."""

    def __init__(self, topic: SimTopic, host: ClusterHost, schedule: Schedule, checkers: Checkers) -> None:
        self._topic = topic
        self._host = host
        self._schedule = schedule
        self._checkers = checkers
        self._taken: dict[int, int] = {}  # by partition: records in the leader's log, as far as known here
        self._cut: dict[int, int] = {}
        self._start_ms = schedule.now_ms
        self._made = 0
        self._next = 0
        self._waiting: dict[int, int] = {}  # by partition: records that no leader has taken yet

    def start(self) -> None:
        """Begin, if the topic's rate is not 0."""
        if self._topic.records_per_s > 0:
            self._schedule.at(self._schedule.now_ms + self._topic.linger_ms, self._send)

    def _send(self) -> None:
        now_ms = self._schedule.now_ms
        partitions = self._host.cluster.topics[self._topic.name].partitions
        due = int((now_ms - self._start_ms) * self._topic.records_per_s / 1000)
        self._share(due - self._made, len(partitions))
        self._made = due
        self._send_again()
        for index, records in sorted(self._waiting.items()):
            if partitions[index].leader != NO_LEADER:
                # What the disk refuses is KAFKA_STORAGE_ERROR, which producers meet by trying again.
                with suppress(SourceError):
                    partitions[index].append(_batch(records, now_ms))
                    del self._waiting[index]
                    self._taken[index] = self._taken.get(index, 0) + records
            self._look(index, partitions[index].log.end_offset)
        self._schedule.at(now_ms + self._topic.linger_ms, self._send)

    def _send_again(self) -> None:
        """Send records again that another leader lacks: they were never acknowledged (`acks=all`)."""
        for (topic, index), records in self._host.replication.cut.items():
            again = records - self._cut.get(index, 0)
            if topic == self._topic.name and again:
                self._cut[index] = records
                self._taken[index] -= again
                self._waiting[index] = self._waiting.get(index, 0) + again

    def _look(self, index: int, end_offset: int) -> None:
        """Check that the log has what was taken, and nothing of an append that failed."""
        taken = self._taken.get(index, 0)
        if end_offset != taken:
            where = f"{self._topic.name}-{index}"
            self._checkers.broken(LOG_AGREES, f"{where} ends at {end_offset}, and has {taken} records")

    def _share(self, records: int, partitions: int) -> None:
        each, rest = divmod(records, partitions)
        for step in range(partitions if each else rest):
            index = (self._next + step) % partitions
            self._waiting[index] = self._waiting.get(index, 0) + each + (step < rest)
        self._next = (self._next + rest) % partitions


def _batch(records: int, now_ms: int) -> bytes:
    return encode_batch(
        [LogRecord(offset=number, timestamp_ms=now_ms, key=None, value=_VALUE) for number in range(records)]
    )
