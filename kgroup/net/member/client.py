"""A member over TCP: its requests on asyncio connections, its clock, its callbacks.

`kgroup.group.member` makes all decisions; this carries them out.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from kgroup.errors import SourceError
from kgroup.group.member.classic.member import ClassicMember
from kgroup.group.member.new import new_member
from kgroup.group.member.one_user import SingleUser
from kgroup.group.member.settings import MemberSettings
from kgroup.group.member.step import (
    Answered,
    Assign,
    Callback,
    CallbackKind,
    Close,
    Commit,
    CommitOutcome,
    Failed,
    MemberInput,
    MemberStep,
    Pause,
    Poll,
    Resume,
    Seek,
    Send,
    Subscribe,
    SubscribePattern,
    Unsubscribe,
)
from kgroup.net.member.connection import OPEN, BrokenError, Connection, Security, Watcher
from kgroup.protocol.requests.client import FetchedRecord, Node
from kgroup.protocol.topic_partition import TopicPartition


class RebalanceListener(Protocol):
    """Kafka's ConsumerRebalanceListener. Runs inside `poll`, `unsubscribe` and `close`, and must not wait.

    What it raises comes out of that call, once the member has done its part.
    """

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        """These are new, perhaps none."""

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        """These go, and what was read of them can be committed still."""

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        """These are gone: others may read them by now. Kafka's default is to treat them as revoked."""
        self.on_partitions_revoked(partitions)


Records = tuple[tuple[TopicPartition, tuple[FetchedRecord, ...]], ...]


class GroupMember:
    """One consumer on real connections, for one task at a time.

    `versions`: the version to speak of an API, by its name, instead of the highest that both sides can.
    """

    def __init__(
        self,
        settings: MemberSettings,
        bootstrap: Sequence[Node],
        watcher: Watcher,
        security: Security = OPEN,
        versions: Mapping[str, int] | None = None,
    ) -> None:
        self.machine = new_member(settings, bootstrap, random.random)
        self._versions = versions or {}
        self._listener: RebalanceListener | None = None
        self._settings = settings
        self._watcher = watcher
        self._security = security
        self._guard = SingleUser()
        self._connections: dict[int, asyncio.Task[Connection]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._correlation_id = -1
        self._commit_id = 0
        self._outcomes: dict[int, CommitOutcome] = {}
        self._closed = asyncio.Event()
        self._crash: BaseException | None = None

    def subscribe(self, topics: Sequence[str], listener: RebalanceListener | None = None) -> None:
        """Share these topics with the group, in place of those before; none of them: unsubscribe."""
        self._call(Subscribe(topics=tuple(topics)))
        self._listener = listener

    def subscribe_pattern(self, pattern: str, listener: RebalanceListener | None = None) -> None:
        """Share the topics whose whole name matches."""
        self._call(SubscribePattern(pattern=pattern))
        self._listener = listener

    def unsubscribe(self) -> None:
        """Give everything up and leave the group; nothing is committed."""
        self._call(Unsubscribe())

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        """Read exactly these partitions, outside of any rebalance."""
        self._call(Assign(partitions=tuple(partitions)))

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read a partition on from `offset`. Raises UseError if the member does not have it."""
        self._call(Seek(partition=partition, offset=offset))

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        """Get no records of these until they are resumed; they stay assigned."""
        self._call(Pause(partitions=tuple(partitions)))

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        """Get records of these again."""
        self._call(Resume(partitions=tuple(partitions)))

    async def poll(self, timeout_s: float) -> Records:
        """Records, as soon as there are some; none after the timeout. Raises MemberError, UseError."""
        with self._guard.using(asyncio.current_task()):
            until = asyncio.get_running_loop().time() + timeout_s
            while True:
                self._changed.clear()
                if self._crash is not None:
                    raise self._crash
                step = self._take(Poll())
                if step.error is not None:
                    raise step.error
                left = until - asyncio.get_running_loop().time()
                if step.records or left <= 0:
                    return step.records
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), left)

    async def commit(self, offsets: tuple[tuple[TopicPartition, int], ...] | None = None) -> CommitOutcome:
        """Commit these offsets, or every position, and wait until that has ended."""
        with self._guard.using(asyncio.current_task()):
            self._commit_id += 1
            self._take(Commit(commit_id=self._commit_id, offsets=offsets))
            while self._commit_id not in self._outcomes:
                self._changed.clear()
                await self._changed.wait()
            return self._outcomes.pop(self._commit_id)

    async def close(self, *, leave_group: bool = False) -> None:
        """Commit, leave, and close the connections. `leave_group`: even a static member leaves."""
        if self._crash is None:
            self._take(Close(leave_group=leave_group))
            await self._closed.wait()
        await self.abandon()

    def enforce_rebalance(self) -> None:
        """Join again with the next poll (KIP-568). The consumer protocol has nothing of the kind."""
        if isinstance(self.machine, ClassicMember):
            self.machine.enforce_rebalance()

    async def abandon(self) -> None:
        """Close the connections without a word to the group, as a killed process does."""
        for task in list(self._tasks):
            task.cancel()
        if self._timer is not None:
            self._timer.cancel()
        for opening in self._connections.values():
            if opening.done() and not opening.cancelled() and opening.exception() is None:
                opening.result().close("the member is closed")
            opening.cancel()
        await asyncio.gather(*self._tasks, *self._connections.values(), return_exceptions=True)

    # ---- carrying out what the machine says -------------------------------------------------------

    def _now_ms(self) -> int:
        return int(asyncio.get_running_loop().time() * 1000)

    def _call(
        self, event: Subscribe | SubscribePattern | Unsubscribe | Assign | Seek | Pause | Resume
    ) -> None:
        with self._guard.using(asyncio.current_task()):
            self._take(event)

    def _take(self, event: MemberInput) -> MemberStep:
        return self._carry_out(self.machine.handle(event, self._now_ms()))

    def _carry_out(self, step: MemberStep) -> MemberStep:
        for outcome in step.commits:
            self._watcher.committed(outcome)
            if outcome.commit_id is not None:
                self._outcomes[outcome.commit_id] = outcome
        thrown = None
        for callback in step.callbacks:
            self._watcher.callback(callback)
            thrown = self._listen(callback) or thrown
        self._watcher.stepped()
        for connection_id in step.disconnects:
            self._drop(connection_id, "closed: the coordinator is another one, or is silent")
        for send in step.requests:
            task = asyncio.create_task(self._send(send))
            self._tasks.add(task)
            task.add_done_callback(self._sent)
        if step.closed:
            self._closed.set()
        self._set_timer()
        if thrown is not None:  # once all is carried out: the member continues if its user does
            raise thrown
        return step

    def _listen(self, callback: Callback) -> Exception | None:
        """Run the user's part of a callback; what it raises."""
        listener = self._listener
        if listener is None:
            return None
        try:
            match callback.kind:
                case CallbackKind.ASSIGNED:
                    listener.on_partitions_assigned(callback.partitions)
                case CallbackKind.REVOKED:
                    listener.on_partitions_revoked(callback.partitions)
                case CallbackKind.LOST:
                    listener.on_partitions_lost(callback.partitions)
        except Exception as error:
            return error
        return None

    def _sent(self, task: asyncio.Task[None]) -> None:
        """A request ended. What it did not expect ends the member: the next poll raises it."""
        self._tasks.discard(task)
        if task.cancelled() or task.exception() is None:
            return
        self._crash = task.exception()
        self._closed.set()
        self._changed.set()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        deadline = self.machine.next_deadline_ms()
        if deadline is None:
            self._timer = None
            return
        # At least a millisecond, so that a deadline which only a poll can settle never spins.
        delay_s = max(deadline - self._now_ms(), 1) / 1000
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._carry_out(self.machine.expire(self._now_ms()))
        self._changed.set()

    async def _send(self, send: Send) -> None:
        try:
            async with asyncio.timeout(send.timeout_ms / 1000):
                connection = await self._connection(send)
                answer = await connection.ask(send)
        except BrokenError as error:
            self._failed(send, str(error))
        except TimeoutError:
            self._drop(send.connection_id, "the broker did not answer in time")
            self._failed(send, f"no answer from {send.host}:{send.port} in {send.timeout_ms} ms")
        else:
            self._take(Answered(request_id=send.request_id, body=answer))
            self._changed.set()

    def _failed(self, send: Send, why: str) -> None:
        self._watcher.failed(why)
        self._take(Failed(request_id=send.request_id, why=why))
        self._changed.set()

    async def _connection(self, send: Send) -> Connection:
        """The connection with this id; requests that come while it opens wait for it in their order."""
        opening = self._connections.get(send.connection_id)
        if opening is not None and opening.done():
            usable = not opening.cancelled() and opening.exception() is None and not opening.result().broken
            if not usable:
                opening = None
        if opening is None:
            opening = asyncio.create_task(self._open(send))
            self._connections[send.connection_id] = opening
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if opening.cancelled() and task is not None and not task.cancelling():
                # Not this request was given up, but the connection that it waits for: by another one's time.
                raise BrokenError(f"{send.host}:{send.port}: closed before it had opened") from None
            raise

    async def _open(self, send: Send) -> Connection:
        connection = Connection(
            f"{send.host}:{send.port}",
            self._settings.client_id,
            self._watcher,
            self._next_correlation_id,
            connection_id=send.connection_id,
            versions=self._versions,
        )
        try:
            await connection.open(send.host, send.port, self._security)
        except (BrokenError, SourceError) as error:
            connection.close(str(error))
            raise
        except asyncio.CancelledError:
            connection.close("the member is closed")
            raise
        return connection

    def _drop(self, connection_id: int, why: str) -> None:
        opening = self._connections.pop(connection_id, None)
        if opening is None:
            return
        if opening.done() and not opening.cancelled() and opening.exception() is None:
            opening.result().close(why)
        opening.cancel()

    def _next_correlation_id(self) -> int:
        self._correlation_id += 1
        return self._correlation_id
