"""A listener that asks for a SASL login before it lets anybody through to a broker.

Written from KIP-43, KIP-152 and RFC 5802, and not from the client's mechanisms, which it is there to test.
"""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.metadata import ApiVersionsResponse
from kafka.protocol.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

import kgroup.testing

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
ILLEGAL_SASL_STATE, UNSUPPORTED_MECHANISM, AUTHENTICATION_FAILED = 34, 33, 58
SALT, ITERATIONS = b"some salt of it", 4096

Frame = tuple[int, int, int, bytes]
"""Api key, version, correlation id, and all bytes without the length."""


@dataclass
class Gate:
    """In front of a broker at `upstream`; `answers_wrongly`: it does not know the password, and pretends."""

    mechanism: str
    user: str
    password: str
    upstream: tuple[str, int]
    answers_wrongly: bool = False
    logins: list[str] = field(default_factory=list)
    attempts: int = 0
    refused_apis: list[int] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        broker_reader, broker_writer = await asyncio.open_connection(*self.upstream)
        try:
            if await self._let_in(reader, writer, broker_reader, broker_writer):
                await asyncio.gather(_pipe(reader, broker_writer), _pipe(broker_reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            broker_writer.close()

    async def _let_in(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        broker_reader: asyncio.StreamReader,
        broker_writer: asyncio.StreamWriter,
    ) -> bool:
        talk: Iterator[bytes] | None = None
        said: list[bytes] = []
        while True:
            api, version, correlation_id, frame = await _read(reader)
            answer: Any
            if api == API_VERSIONS:
                _write(broker_writer, frame)
                _, _, _, raw = await _read(broker_reader)
                answer = ApiVersionsResponse.decode(raw, version=version, header=True)
                for key, last in ((SASL_HANDSHAKE, 1), (SASL_AUTHENTICATE, 2)):
                    answer.api_keys.append(
                        ApiVersionsResponse.ApiVersion(
                            version=version, api_key=key, min_version=0, max_version=last
                        )
                    )
            elif api == SASL_HANDSHAKE:
                handshake = SaslHandshakeRequest.decode(frame, version=version, header=True)
                known = handshake.mechanism == self.mechanism
                answer = SaslHandshakeResponse(
                    version=version,
                    error_code=0 if known else UNSUPPORTED_MECHANISM,
                    mechanisms=[self.mechanism],
                )
                talk = self._scram(said) if self.mechanism.startswith("SCRAM") else self._plain(said)
            elif api == SASL_AUTHENTICATE and talk is not None:
                self.attempts += not said  # a SCRAM login has two messages
                said.append(
                    bytes(SaslAuthenticateRequest.decode(frame, version=version, header=True).auth_bytes)
                )
                try:
                    answer = SaslAuthenticateResponse(version=version, error_code=0, auth_bytes=next(talk))
                except PermissionError as error:
                    answer = SaslAuthenticateResponse(
                        version=version,
                        error_code=AUTHENTICATION_FAILED,
                        error_message=str(error),
                        auth_bytes=b"",
                    )
            else:
                self.refused_apis.append(api)
                return False
            answer.with_header(correlation_id)
            writer.write(answer.encode(header=True, framed=True))
            if (
                self.logins
                and api == SASL_AUTHENTICATE
                and len(said) == (2 if "SCRAM" in self.mechanism else 1)
            ):
                return True

    def _plain(self, said: list[bytes]) -> Iterator[bytes]:
        _, user, password = said[-1].decode().split("\0")
        if (user, password) != (self.user, self.password):
            raise PermissionError("Authentication failed: Invalid username or password")
        self.logins.append(user)
        yield b""

    def _scram(self, said: list[bytes]) -> Iterator[bytes]:
        """RFC 5802, sections 3 and 5."""
        name = "sha" + self.mechanism.rpartition("-")[2]
        first_bare = said[-1].decode().removeprefix("n,,")
        given = dict(part.split("=", 1) for part in first_bare.split(","))
        nonce = given["r"] + "of-the-gate"
        server_first = f"r={nonce},s={base64.b64encode(SALT).decode()},i={ITERATIONS}"
        yield server_first.encode()
        without_proof, _, proof = said[-1].decode().rpartition(",p=")
        message = f"{first_bare},{server_first},{without_proof}".encode()
        salted = hashlib.pbkdf2_hmac(name, self.password.encode(), SALT, ITERATIONS)
        client_key = hmac.digest(salted, b"Client Key", name)
        stored_key = hashlib.new(name, client_key).digest()
        signature = hmac.digest(stored_key, message, name)
        expected = bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
        if given["n"] != self.user or base64.b64decode(proof) != expected:
            raise PermissionError(
                f"Authentication failed during authentication due to invalid credentials "
                f"with SASL mechanism {self.mechanism}"
            )
        self.logins.append(given["n"])
        server_key = hmac.digest(salted, b"Server Key", name)
        proven = hmac.digest(server_key, b"another message" if self.answers_wrongly else message, name)
        yield b"v=" + base64.b64encode(proven)


@asynccontextmanager
async def gate_to(kafka: kgroup.testing.Cluster, mechanism: str, **given: Any) -> Any:
    """A gate whose address the broker tells its clients as its own; gives the gate and its port."""
    host, _, port = kafka.bootstrap.rpartition(":")
    gate = Gate(mechanism, "alice", "wonder,land=", (host, int(port)), **given)
    server = await asyncio.start_server(gate.serve, "127.0.0.1", 0)
    [own_port] = [socket.getsockname()[1] for socket in server.sockets]
    assert kafka._server is not None
    kafka._server.cluster.nodes[1].port = own_port
    try:
        yield gate, own_port
    finally:
        server.close()


async def _read(reader: asyncio.StreamReader) -> Frame:
    frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    api, version = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")
    return api, version, int.from_bytes(frame[4:8], "big"), frame


def _write(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(len(frame).to_bytes(4, "big") + frame)


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
    writer.close()
