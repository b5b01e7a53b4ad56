"""Committed offsets as clients see them: each is a register with many concurrent writers and readers."""

from collections.abc import Callable, Iterable

from kgroup.broker.hosted_coordinator import HostedCoordinator
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import OffsetCommit, OffsetCommitResponse
from kgroup.sim.watch.log_model import LogModel
from kgroup.sim.watch.register import Operation, Register
from kgroup.sim.watch.result import LINEARIZABLE
from kgroup.sim.watch.tallies import GroupPartition

NO_OFFSET = -1
_LEFT_OPEN = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
Write = dict[GroupPartition, Operation]


class OffsetRegisters:
    """Writes are commits, from when a coordinator has them to its answer; tombstones and markers are, too."""

    def __init__(self, report: Callable[[str, str], None]) -> None:
        self._report = report
        self._registers: dict[GroupPartition, Register] = {}
        self._open: dict[HostedCoordinator, list[tuple[GroupPartition, Operation]]] = {}
        self._now = 0

    def _register(self, place: GroupPartition) -> Register:
        return self._registers.setdefault(place, Register(NO_OFFSET))

    def asked(self, body: OffsetCommit) -> Write:
        """A coordinator has a commit; what comes back goes to `answered`."""
        self._now += 1
        writes: Write = {}
        for topic in body.topics:
            for each in topic.partitions:
                place = (body.group_id, (topic.name, each.partition_index))
                writes[place] = self._register(place).write(each.committed_offset, self._now)
        return writes

    def answered(
        self, hosted: HostedCoordinator, body: OffsetCommit, writes: Write, reply: OffsetCommitResponse
    ) -> None:
        """Note that it was acknowledged or refused, or stays open until another coordinator reads the log."""
        self._now += 1
        for topic in reply.topics:
            for each in topic.partitions:
                place = (body.group_id, (topic.name, each.partition_index))
                operation = writes.pop(place, None)
                if operation is None:
                    continue
                if each.error_code is ErrorCode.NONE:
                    self._registers[place].wrote(operation, self._now)
                elif each.error_code in _LEFT_OPEN:
                    self._open.setdefault(hosted, []).append((place, operation))
                else:
                    self._registers[place].refused(operation)

    def unanswered(self, hosted: HostedCoordinator, writes: Write) -> None:
        """Note that no client will hear what became of it."""
        self._open.setdefault(hosted, []).extend(writes.items())

    def ended(self, hosted: HostedCoordinator) -> None:
        """Note that what this coordinator has not written by now will never be written."""
        self._now += 1
        for place, operation in self._open.pop(hosted, []):
            self._registers[place].wrote(operation, self._now, must=False)

    def set_by_log(self, place: GroupPartition, offset: int) -> None:
        """A tombstone or the end of a transaction has changed it."""
        self._now += 1
        register = self._register(place)
        register.wrote(register.write(offset, self._now), self._now)

    def read(self, place: GroupPartition, offset: int, reader: str) -> None:
        """A client was given this offset."""
        self._now += 1
        register = self._register(place)
        before = sorted(register.values)
        if not register.read(offset, self._now):
            group, (topic, index) = place
            self._report(
                LINEARIZABLE,
                f"{group}: {topic}-{index}: {reader} reads {offset}, and no order of"
                f" commits after {' or '.join(map(str, before))} leaves that",
            )

    def read_all(self, model: LogModel, groups: Callable[[str], bool], reader: str) -> None:
        """A log holds these offsets, and no others, of the groups that it has."""
        for place in self._of(groups):
            kept = model.committed.get(place)
            self.read(place, NO_OFFSET if kept is None else kept.value.offset, reader)

    def begin_again(self, model: LogModel, groups: Callable[[str], bool]) -> None:
        """The log has lost what it had: from now on this is what there is."""
        for place in self._of(groups):
            kept = model.committed.get(place)
            self._registers[place] = Register(NO_OFFSET if kept is None else kept.value.offset)

    def _of(self, groups: Callable[[str], bool]) -> Iterable[GroupPartition]:
        return [place for place in self._registers if groups(place[0])]
