"""A member's actions in the world, as events of the trace."""

from collections.abc import Callable

from kgroup.group.member.consumer.identity import ConsumerState
from kgroup.group.member.identity import MemberState
from kgroup.group.member.new import Member
from kgroup.group.member.step import Callback, CommitOutcome
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.watch.trace import (
    CommitEnded,
    MemberMoved,
    MemberStarted,
    MemberStopped,
    PartitionsChanged,
    RecordsProcessed,
    TraceEvent,
)
from kgroup.sim.world.process import Process


class MemberTrace:
    """Traces the processes of one member, each event with the world's time."""

    def __init__(self, process: Process, group: str, tell: Callable[[TraceEvent], None]) -> None:
        self._process = process
        self._group = group
        self._tell = tell
        self._last_told: tuple[MemberState | ConsumerState, int, str, bool] | None = None

    def started(self) -> None:
        """A new process."""
        self._last_told = None
        self._tell(
            MemberStarted(
                at_ms=self._process.schedule.now_ms,
                member=self._process.name,
                group=self._group,
                process=self._process.number,
            )
        )

    def stopped(self, why: str) -> None:
        """The process has come to its end."""
        self._tell(
            MemberStopped(
                at_ms=self._process.schedule.now_ms,
                member=self._process.name,
                group=self._group,
                process=self._process.number,
                why=why,
            )
        )

    def moved(self, machine: Member) -> None:
        """The member's state in its group, unless it was the last one reported."""
        now = (machine.state, machine.generation, machine.member_id, machine.is_leader)
        if now == self._last_told:
            return
        self._last_told = now
        self._tell(
            MemberMoved(
                at_ms=self._process.schedule.now_ms,
                member=self._process.name,
                group=self._group,
                state=now[0],
                generation=now[1],
                member_id=now[2],
                is_leader=now[3],
            )
        )

    def changed(self, callback: Callback) -> None:
        """A callback has run."""
        self._tell(
            PartitionsChanged(
                at_ms=self._process.schedule.now_ms,
                member=self._process.name,
                group=self._group,
                kind=callback.kind,
                generation=callback.generation,
                partitions=callback.partitions,
            )
        )

    def processed(self, partition: TopicPartition, first: int, last: int) -> None:
        """The user is done with the records from offset `first` to `last`."""
        self._tell(
            RecordsProcessed(
                at_ms=self._process.schedule.now_ms,
                member=self._process.name,
                group=self._group,
                partition=partition,
                first=first,
                last=last,
            )
        )

    def commit_ended(self, outcome: CommitOutcome) -> None:
        """A commit has its answer."""
        self._tell(
            CommitEnded(
                at_ms=self._process.schedule.now_ms,
                member=self._process.name,
                group=self._group,
                error_code=outcome.error_code,
                offsets=outcome.offsets,
            )
        )
