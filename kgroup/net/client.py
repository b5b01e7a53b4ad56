"""A member over TCP: its requests on asyncio connections, its clock, its callbacks.

All that is decided is decided in `kgroup.group.member`; here is what carries it out.
"""

import asyncio
import os
import random
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse

from kgroup.assignors.model import TopicPartition
from kgroup.broker.client_wire import API_KEYS, api_of, choose_version, read_response, write_request
from kgroup.errors import DecodeError, SourceError
from kgroup.group.member import ClassicMember
from kgroup.group.member_calls import FetchedRecord, MemberResponse, Node
from kgroup.group.member_guard import SingleUser
from kgroup.group.member_settings import MemberSettings
from kgroup.group.member_step import (
    Answered,
    Callback,
    Close,
    Commit,
    CommitOutcome,
    Failed,
    MemberInput,
    MemberStep,
    Poll,
    Send,
    Subscribe,
    SubscribePattern,
)
from kgroup.net.first_contact import error_reason
from kgroup.protocol.error_codes import ErrorCode

_LARGEST_FRAME: Final = 256 * 1024 * 1024
_API_VERSIONS: Final = 3
_CODEC_ERRORS: Final = (ValueError, IndexError, AssertionError, TypeError, OverflowError, DecodeError)
Records = tuple[tuple[TopicPartition, tuple[FetchedRecord, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One frame that passed. `body` is kafka-python's object, `frame` the bytes without their length."""

    is_request: bool
    client_id: str
    node: str
    api: str
    version: int
    correlation_id: int
    body: Any
    frame: bytes
    timeout_ms: int | None = None


class Watcher(Protocol):
    """Is told what happens, in order; must not wait."""

    def exchange(self, exchange: Exchange) -> None:
        """A request was sent or a response came."""
        ...

    def callback(self, callback: Callback) -> None:
        """Partitions came or went."""
        ...

    def committed(self, outcome: CommitOutcome) -> None:
        """A commit ended."""
        ...

    def failed(self, why: str) -> None:
        """A request found no answer; the member goes on by itself."""
        ...


class BrokenError(Exception):
    """A connection that cannot be used: `str()` says why."""


class Connection:
    """Frames to one broker, and the answers to them, which come in the order of the requests."""

    def __init__(
        self,
        name: str,
        settings: MemberSettings,
        watcher: Watcher,
        next_correlation_id: Callable[[], int],
    ) -> None:
        self.name = name
        self._client_id = settings.client_id
        self._watcher = watcher
        self._next_correlation_id = next_correlation_id
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None
        self._versions: dict[int, tuple[int, int]] = {}
        self.broken: str | None = None

    async def open(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        """Connect and learn the broker's versions. Raises BrokenError."""
        try:
            self._reader, self._writer = await asyncio.open_connection(host, port, ssl=tls)
        except OSError as error:
            raise BrokenError(f"cannot connect to {self.name}: {_reason(error)}") from error
        self._listener = asyncio.create_task(self._listen(self._reader))
        answer = await self._ask_versions(_API_VERSIONS)
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            # The answer is in the layout of version 0, which every broker since 0.10 speaks.
            answer = await self._ask_versions(0)
        if answer.error_code:
            raise BrokenError(f"{self.name}: ApiVersions: error {answer.error_code}")
        self._versions = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    async def _ask_versions(self, version: int) -> Any:
        from kgroup import __version__

        request = ApiVersionsRequest(
            version=version, client_software_name="kgroup", client_software_version=__version__
        )
        correlation_id, frame = await self._exchange(request, "ApiVersions", version, None)
        # An error 35 comes as version 0, whatever was asked.
        is_refused = len(frame) >= 6 and frame[4:6] == int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2, "big")
        return self._decoded(
            ApiVersionsResponse, "ApiVersions", 0 if is_refused else version, correlation_id, frame
        )

    async def ask(self, send: Send) -> MemberResponse:
        """The answer to a member's request. Raises BrokenError."""
        api = api_of(send.body)
        spoken = self._versions.get(API_KEYS[api])
        if spoken is None:
            raise BrokenError(f"{self.name} does not speak {api}")
        try:
            version = choose_version(api, *spoken)
        except SourceError as error:
            raise BrokenError(str(error)) from error
        request = write_request(send.body, version)
        correlation_id, frame = await self._exchange(request, api, version, send.timeout_ms)
        response = request.header.get_response_class()
        body = self._decoded(response, api, version, correlation_id, frame)
        try:
            return read_response(send.body, version, body)
        except _CODEC_ERRORS as error:
            raise BrokenError(f"{self.name}: answer to {api} v{version}: {error}") from error

    async def _exchange(
        self, request: Any, api: str, version: int, timeout_ms: int | None
    ) -> tuple[int, bytes]:
        if self.broken is not None or self._writer is None:
            raise BrokenError(self.broken or f"{self.name}: not connected")
        correlation_id = self._next_correlation_id()
        request.with_header(correlation_id, self._client_id)
        frame = bytes(request.encode(header=True, framed=True))
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[correlation_id] = answer
        self._tell(True, api, version, correlation_id, request, frame[4:], timeout_ms)
        self._writer.write(frame)
        try:
            return correlation_id, await answer
        finally:
            self._waiting.pop(correlation_id, None)

    def _decoded(self, response: Any, api: str, version: int, correlation_id: int, frame: bytes) -> Any:
        try:
            body = response.decode(frame, version=version, header=True)
        except _CODEC_ERRORS as error:
            self.close(f"{self.name}: answer to {api} v{version}: {error}")
            raise BrokenError(str(self.broken)) from error
        self._tell(False, api, version, correlation_id, body, frame, None)
        return body

    def _tell(
        self,
        is_request: bool,
        api: str,
        version: int,
        correlation_id: int,
        body: Any,
        frame: bytes,
        timeout_ms: int | None,
    ) -> None:
        self._watcher.exchange(
            Exchange(
                is_request=is_request,
                client_id=self._client_id,
                node=self.name,
                api=api,
                version=version,
                correlation_id=correlation_id,
                body=body,
                frame=frame,
                timeout_ms=timeout_ms,
            )
        )

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        why = f"{self.name} closed the connection"
        try:
            while True:
                length = int.from_bytes(await reader.readexactly(4), "big", signed=True)
                if not 4 <= length <= _LARGEST_FRAME:
                    why = f"{self.name} sent a frame of {length} bytes"
                    break
                frame = await reader.readexactly(length)
                waiting = self._waiting.get(int.from_bytes(frame[:4], "big", signed=True))
                if waiting is not None and not waiting.done():
                    waiting.set_result(frame)
        except asyncio.IncompleteReadError:
            pass
        except OSError as error:
            why = f"{self.name}: {error_reason(error)}"
        self.close(why)
        if self._writer is not None:
            with suppress(OSError):  # said already; unawaited, asyncio would print a traceback of it
                await self._writer.wait_closed()

    def close(self, why: str) -> None:
        """No more answers: everything that waits for one fails with `why`."""
        if self.broken is None:
            self.broken = why
        if self._writer is not None:
            self._writer.close()
        if self._listener is not None and self._listener is not asyncio.current_task():
            self._listener.cancel()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(BrokenError(self.broken))


class GroupMember:
    """One consumer on real connections, for one task at a time."""

    def __init__(
        self,
        settings: MemberSettings,
        bootstrap: Sequence[Node],
        watcher: Watcher,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.machine = ClassicMember(settings, bootstrap, random.random)
        self._settings = settings
        self._watcher = watcher
        self._tls = tls
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

    def subscribe(self, topics: Sequence[str]) -> None:
        """Share these topics with the group."""
        self._call(Subscribe(topics=tuple(topics)))

    def subscribe_pattern(self, pattern: str) -> None:
        """Share the topics whose whole name matches."""
        self._call(SubscribePattern(pattern=pattern))

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

    async def commit(self) -> CommitOutcome:
        """Commit every position, and wait until that has ended."""
        with self._guard.using(asyncio.current_task()):
            self._commit_id += 1
            self._take(Commit(commit_id=self._commit_id))
            while self._commit_id not in self._outcomes:
                self._changed.clear()
                await self._changed.wait()
            return self._outcomes.pop(self._commit_id)

    async def close(self) -> None:
        """Commit, leave, and close the connections."""
        if self._crash is None:
            self._take(Close())
            await self._closed.wait()
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

    def _call(self, event: Subscribe | SubscribePattern) -> None:
        with self._guard.using(asyncio.current_task()):
            self._take(event)

    def _take(self, event: MemberInput) -> MemberStep:
        return self._carry_out(self.machine.handle(event, self._now_ms()))

    def _carry_out(self, step: MemberStep) -> MemberStep:
        for outcome in step.commits:
            self._watcher.committed(outcome)
            if outcome.commit_id is not None:
                self._outcomes[outcome.commit_id] = outcome
        for callback in step.callbacks:
            self._watcher.callback(callback)
        for send in step.requests:
            task = asyncio.create_task(self._send(send))
            self._tasks.add(task)
            task.add_done_callback(self._sent)
        if step.closed:
            self._closed.set()
        self._set_timer()
        return step

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
            opening = asyncio.create_task(self._open(send.host, send.port))
            self._connections[send.connection_id] = opening
        return await asyncio.shield(opening)

    async def _open(self, host: str, port: int) -> Connection:
        connection = Connection(f"{host}:{port}", self._settings, self._watcher, self._next_correlation_id)
        try:
            await connection.open(host, port, self._tls)
        except BrokenError as error:
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


def _reason(error: OSError) -> str:
    """asyncio puts the address into `strerror`; the number says what it was, but of TLS."""
    if isinstance(error, ssl.SSLError):
        return error_reason(error)
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error_reason(error)
