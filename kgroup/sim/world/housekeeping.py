"""Keeps memory bounded: cleans the offsets topic, and forgets what everybody has read."""

from collections.abc import Mapping, Sequence
from typing import Final

from kgroup.broker.cluster import OFFSETS_TOPIC
from kgroup.log.store.cleaner import clean_memory
from kgroup.log.store.record_log import MemoryLog
from kgroup.sim.scenario.interest import interest_of
from kgroup.sim.scenario.scenario import FaultKind, Scenario
from kgroup.sim.watch.checkers import Checkers
from kgroup.sim.world.cluster_host import ClusterHost
from kgroup.sim.world.schedule import Schedule

_EVERY_MS: Final = 600_000
_BATCHES_MIN: Final = 200
_DIRTY_TIMES: Final = 2


def possible_readers(scenario: Scenario, topic: str) -> list[str]:
    """The groups that may read a topic at some time, by their members and by what faults do to these."""
    subscribing = {fault.target for fault in scenario.faults if topic in fault.topics}
    if any(chaos and FaultKind.SUBSCRIBE in chaos.kinds for chaos in (scenario.chaos, scenario.more_chaos)):
        subscribing = {member.name for member in scenario.members}
    return sorted(
        {
            member.group
            for member in scenario.members
            if interest_of(member).among([topic]) or member.name in subscribing
        }
    )


class Housekeeping:
    """Looks after logs in memory; logs in files are left as they were written, for those who read them."""

    def __init__(
        self, host: ClusterHost, checkers: Checkers, readers: Mapping[str, Sequence[str]], schedule: Schedule
    ) -> None:
        """`readers` are the groups that read a topic, by its name."""
        self._host = host
        self._checkers = checkers
        self._readers = readers
        self._schedule = schedule
        self._clean_size: dict[int, int] = {}  # batches left by the last cleaning, by offsets partition

    def start(self) -> None:
        """Keep house from now on."""
        self._schedule.at(self._schedule.now_ms + _EVERY_MS, self._keep_house)

    def _keep_house(self) -> None:
        for name, topic in self._host.cluster.topics.items():
            for partition in topic.partitions:
                if not isinstance(partition.log, MemoryLog):
                    continue
                if name == OFFSETS_TOPIC:
                    self._clean(partition.index, partition.log)
                else:
                    self._forget((name, partition.index), partition.log)
        self.start()

    def _clean(self, index: int, log: MemoryLog) -> None:
        dirty_from = max(_BATCHES_MIN, _DIRTY_TIMES * self._clean_size.get(index, 0))
        if log.batch_count >= dirty_from:
            clean_memory(log, self._schedule.now_ms)
            self._clean_size[index] = log.batch_count

    def _forget(self, partition: tuple[str, int], log: MemoryLog) -> None:
        """Delete records that every group has committed, as `DeleteRecords` does for stream processors."""
        groups = self._readers.get(partition[0], ())
        offset = min((self._checkers.acknowledged((group, partition)) for group in groups), default=-1)
        if offset > log.start_offset:
            log.delete_before(offset)
