"""A member that follows a plan: it commits as planned, and its user can stall."""

from dataclasses import replace
from functools import partial

from kgroup.group.member.classic.member import ClassicMember
from kgroup.group.member.settings import MemberSettings
from kgroup.group.member.step import Close, Commit, Poll
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.scenario.scenario import SimMember
from kgroup.sim.world.member_host import Doing, MemberHost


class ReenactedMember(MemberHost):
    """Never commits by itself. What it reads takes it no time."""

    def join(self, spec: SimMember, client_id: str) -> None:
        """A new process with these settings; once the one before has closed, if that is under way."""
        self.spec = spec
        self._connections.client_id = client_id
        self.start_again()

    def _settings(self) -> MemberSettings:
        client_id = self._connections.client_id
        return replace(super()._settings(), enable_auto_commit=False, client_id=client_id)

    def _closing_call(self) -> Close:
        return Close(leave_group=True)

    def commit(self, offsets: tuple[tuple[TopicPartition, int], ...]) -> None:
        """The user commits between two polls; nothing if it does not run."""
        if self.is_running:
            self.deliver(partial(self._if_same, self.number, partial(self._commit, offsets)))

    def _commit(self, offsets: tuple[tuple[TopicPartition, int], ...]) -> None:
        if self._doing is not Doing.CLOSING:
            self._commit_id += 1
            self._handle(Commit(commit_id=self._commit_id, offsets=offsets))

    def rejoin(self) -> None:
        """The user enforces a round; nothing if it does not run."""
        if self.is_running:
            self.deliver(partial(self._if_same, self.number, self._rejoin))

    def _rejoin(self) -> None:
        assert isinstance(self.machine, ClassicMember)
        self.machine.enforce_rebalance()
        self._handle(Poll())

    def stall(self, duration_ms: int) -> None:
        """The user is busy for this long after a last poll; then the process is gone."""
        if not self.is_running or self._doing is Doing.CLOSING:
            return
        self.ownership.polled()
        self._handle(Poll())
        if self.is_running:
            self._doing = Doing.PROCESSING
            end_ms = self.schedule.now_ms + duration_ms
            self.schedule.at(end_ms, partial(self._if_same, self.number, self.kill))
