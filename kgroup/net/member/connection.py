"""A member's connection to one broker: frames out, answers in, and the handshakes before the first."""

import asyncio
import os
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from kgroup.errors import DecodeError, SourceError
from kgroup.group.member.step import Callback, CommitOutcome, Send
from kgroup.net.connect.error_reason import error_reason
from kgroup.net.connect.login import Login, no_handshake, refused_login, refused_mechanism
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import MemberResponse
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kgroup.wire.frames import CODEC_ERRORS
from kgroup.wire.member_requests import API_KEYS, api_of, choose_version, write_request
from kgroup.wire.member_responses import read_response

_LARGEST_FRAME: Final = 256 * 1024 * 1024
_API_VERSIONS: Final = 3
_SASL_HANDSHAKE: Final = 1  # with it come SaslAuthenticate's frames; Kafka 1.0 and newer
_SASL_AUTHENTICATE: Final = 2
_WITH_SECRETS: Final = "SaslAuthenticate"


@dataclass(frozen=True, slots=True)
class Security:
    """The security that the listener asks for: TLS, a login, both, or neither."""

    tls: ssl.SSLContext | None = None
    login: Login | None = None


OPEN: Final = Security()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One frame that passed. `body` is kafka-python's object, `frame` the bytes without their length.

    `connection_id`: the node's id, or 2147483647 less that id for the connection to the coordinator.
    Of a login, `frame` and the field `auth_bytes` are empty: they would tell the secret.
    """

    is_request: bool
    client_id: str
    node: str
    connection_id: int
    api: str
    version: int
    correlation_id: int
    body: Any
    frame: bytes
    timeout_ms: int | None = None


class Watcher(Protocol):
    """Called with each event, in order; must not wait."""

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
        """A request found no answer; the member continues by itself."""
        ...

    def stepped(self) -> None:
        """The member has taken a step: its state may be another one."""
        ...


class BrokenError(Exception):
    """A connection that cannot be used: `str()` says why."""


class Connection:
    """Frames to one broker, and the answers to them, which come in the order of the requests."""

    def __init__(
        self,
        name: str,
        client_id: str,
        watcher: Watcher,
        next_correlation_id: Callable[[], int],
        *,
        connection_id: int = -1,
        versions: Mapping[str, int] | None = None,
    ) -> None:
        self.name = name
        self._connection_id = connection_id
        self._pinned = versions or {}
        self._client_id = client_id
        self._watcher = watcher
        self._next_correlation_id = next_correlation_id
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None
        self._versions: dict[int, tuple[int, int]] = {}
        self.broken: str | None = None

    async def open(self, host: str, port: int, security: Security) -> None:
        """Connect, learn the broker's versions, log in. Raises BrokenError, SourceError if it is refused."""
        try:
            self._reader, self._writer = await asyncio.open_connection(host, port, ssl=security.tls)
        except OSError as error:
            raise BrokenError(f"cannot connect to {self.name}: {reason(error)}") from error
        self._listener = asyncio.create_task(self._listen(self._reader))
        answer = await self._ask_versions(_API_VERSIONS)
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            # The answer is in the layout of version 0, which every broker since 0.10 speaks.
            answer = await self._ask_versions(0)
        if answer.error_code:
            raise BrokenError(f"{self.name}: ApiVersions: error {answer.error_code}")
        self._versions = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        if security.login is not None:
            await self._log_in(security.login, host)

    async def _log_in(self, login: Login, host: str) -> None:
        """KIP-43, KIP-152. A session that ends (KIP-368) is not renewed; the next connection logs in."""
        handshake = SaslHandshakeRequest(version=_SASL_HANDSHAKE, mechanism=login.mechanism)
        answer = await self._ask_own(handshake, "SaslHandshake", _SASL_HANDSHAKE)
        if answer.error_code:
            raise SourceError(
                refused_mechanism(self.name, login.mechanism, answer.error_code, answer.mechanisms)
            )
        version = min(_SASL_AUTHENTICATE, self._versions.get(SaslAuthenticateRequest.API_KEY, (0, 0))[1])
        talk = login.begin(host)
        # A token may have to be asked for elsewhere, and the member's heartbeats must not wait for that.
        while (message := await asyncio.to_thread(talk.next_message)) is not None:
            request = SaslAuthenticateRequest(version=version, auth_bytes=message)
            answer = await self._ask_own(request, _WITH_SECRETS, version)
            if answer.error_code:
                refusal = refused_login(self.name, login.mechanism, answer.error_code, answer.error_message)
                raise SourceError(f"{refusal}; {login.hint}")
            talk.take(answer.auth_bytes)

    async def _ask_own(self, request: Any, api: str, version: int) -> Any:
        """An exchange that is the connection's and not the member's."""
        if request.API_KEY not in self._versions:
            raise SourceError(no_handshake(self.name))
        correlation_id, frame = await self._exchange(request, api, version, None)
        return self._decoded(request.header.get_response_class(), api, version, correlation_id, frame)

    async def _ask_versions(self, version: int) -> Any:
        from kgroup.version import __version__

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
        """The answer to a member's request. Raises BrokenError, and SourceError for a pinned version."""
        api = api_of(send.body)
        spoken = self._versions.get(API_KEYS[api])
        if spoken is None and isinstance(send.body, ConsumerGroupHeartbeat):
            # An older broker, or one that is not to speak it: no other will, so there is no use in trying.
            return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        if spoken is None:
            raise BrokenError(f"{self.name} does not speak {api}")
        if api in self._pinned:  # a SourceError of that ends the member: no other answer will come
            version = choose_version(api, *spoken, pinned=self._pinned[api])
        else:
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
        except (*CODEC_ERRORS, DecodeError) as error:
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
        except CODEC_ERRORS as error:
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
        if api == _WITH_SECRETS:
            body, frame = copy(body), b""
            body.auth_bytes = b""
        self._watcher.exchange(
            Exchange(
                is_request=is_request,
                client_id=self._client_id,
                node=self.name,
                connection_id=self._connection_id,
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
                correlation_id = int.from_bytes(frame[:4], "big", signed=True)
                waiting = self._waiting.get(correlation_id)
                if waiting is None:  # as in Kafka's NetworkClient: nothing that follows can be trusted
                    why = f"{self.name} answered a request that nobody made: correlation id {correlation_id}"
                    break
                if not waiting.done():
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
        """Close: everything that waits for an answer fails with `why`."""
        if self.broken is None:
            self.broken = why
        if self._writer is not None:
            self._writer.close()
        if self._listener is not None and self._listener is not asyncio.current_task():
            self._listener.cancel()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(BrokenError(self.broken))


def reason(error: OSError) -> str:
    """asyncio puts the address into `strerror`; the number says what it was, but of TLS."""
    if isinstance(error, ssl.SSLError):
        return error_reason(error)
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error_reason(error)
