"""The first words with a listener, before a client library gets it, so that a wrong one shows at once.

kafka-python would try again until its time is up, and TLS with somebody silent would never end.
"""

import socket
import ssl
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from kgroup.errors import SourceError
from kgroup.net.connect.error_reason import error_reason
from kgroup.wire.frames import CODEC_ERRORS

CONNECT_TIMEOUT_MS: Final = 5_000
"""The time to try for, unless `request.timeout.ms` says otherwise."""

_FRAME_MAX: Final = 1 << 20
_CORRELATION_ID: Final = 0x6B67  # "kg": nothing answers this by chance
_BROKERS_TRIED: Final = 3
_METADATA_VERSION: Final = 1
_TLS_RECORDS: Final = (b"\x15\x03", b"\x16\x03")  # an alert, a handshake (RFC 8446, section 5.1)
_OTHER_LISTENERS: Final = {
    "PLAINTEXT": "does this listener want SSL or SASL?",
    "SSL": "does this listener want SASL_SSL?",
    "SASL_PLAINTEXT": "does this listener want SASL_SSL?",
    "SASL_SSL": "is this a broker's listener?",
}
_CLOSED: Final = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


def require_broker(servers: Sequence[tuple[str, int]], config: Mapping[str, object]) -> None:
    """Return once a listener answers as a Kafka broker does to a client with this `client_config`.

    Each of the servers has `request_timeout_ms`. Raises SourceError with what is wrong with each of them, and
    what to look at.
    """
    protocol, tls = str(config["security_protocol"]), config.get("ssl_context")
    timeout_ms = config.get("request_timeout_ms", CONNECT_TIMEOUT_MS)
    assert isinstance(timeout_ms, int) and (tls is None or isinstance(tls, ssl.SSLContext))
    problems = []
    hint = ""
    for host, port in servers:
        contact = _Contact(host, port, protocol, time.monotonic() + timeout_ms / 1000)
        try:
            contact.speak(tls)
            return
        except _ProblemError as problem:
            problems.append(f"{contact.name}: {problem}")
            hint = problem.hint
        except TimeoutError:
            problems.append(f"{contact.name}: no answer in {timeout_ms / 1000:g} s")
            hint = f"security.protocol is {protocol}: is this a broker's listener of that kind?"
    raise SourceError(f"no broker answers: {'; '.join(problems)}; {hint}")


class _ProblemError(Exception):
    """The reason why this is not the listener that was meant."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.hint = hint


class _Contact:
    """One connection to one listener, for two questions. Everything raises _ProblemError or TimeoutError."""

    def __init__(self, host: str, port: int, protocol: str, until: float) -> None:
        self.name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._address = (host, port)
        self._protocol = protocol
        self._until = until

    def speak(self, tls: ssl.SSLContext | None) -> None:
        with self._connected() as plain, self._secured(plain, tls) as connection:
            try:
                self._ask(connection, tls is not None)
            except _CLOSED as error:
                raise self._problem("closed the connection", _OTHER_LISTENERS[self._protocol]) from error
            except ssl.SSLError as error:
                raise self._problem(
                    f"TLS: {error_reason(error)}", "see ssl.keystore.location: it may want a certificate"
                ) from error

    def _ask(self, connection: socket.socket, is_tls: bool) -> None:
        versions = self._exchange(connection, ApiVersionsRequest(version=0), is_tls)
        # No topics; in version 0 it would mean all of them.
        request = MetadataRequest(version=_METADATA_VERSION, topics=[])
        spoken = [] if versions is None else versions.api_keys
        is_spoken = any(
            each.api_key == request.API_KEY and each.min_version <= _METADATA_VERSION <= each.max_version
            for each in spoken
        )
        # Whoever wants SASL closes the connection on any other question before it.
        if "SASL" not in self._protocol and is_spoken:
            answer = self._exchange(connection, request, is_tls)
            brokers = [] if answer is None else answer.brokers
            self._require_one_reachable([(broker.host, broker.port) for broker in brokers])

    def _require_one_reachable(self, brokers: Sequence[tuple[str, int]]) -> None:
        """Clients go on to the addresses that brokers give of themselves, which may be right elsewhere."""
        if not brokers or self._address in brokers:
            return
        problems = []
        tried = brokers[:_BROKERS_TRIED]
        for number, (host, port) in enumerate(tried):
            try:
                share_s = self._left() / (len(tried) - number)
                socket.create_connection((host, port), timeout=share_s).close()
                return
            except (OSError, UnicodeError) as error:
                problems.append(f"{host}:{port} ({error_reason(error)})")
        raise _ProblemError(
            f"it sends clients to {', '.join(problems)}", "what do the brokers' advertised.listeners say?"
        )

    def _connected(self) -> socket.socket:
        try:
            return socket.create_connection(self._address, timeout=self._left())
        except TimeoutError:
            raise
        except socket.gaierror as error:
            raise _ProblemError(error_reason(error), "is the host's name right?") from error
        except (OSError, UnicodeError) as error:
            raise _ProblemError(
                error_reason(error), "is this the host and port of a broker that is up?"
            ) from error

    def _secured(self, plain: socket.socket, tls: ssl.SSLContext | None) -> socket.socket:
        if tls is None:
            return plain
        plain.settimeout(self._left())
        try:
            return tls.wrap_socket(plain, server_hostname=self._address[0])
        except ssl.SSLCertVerificationError as error:
            raise _ProblemError(
                f"TLS: certificate verify failed: {error.verify_message.rstrip('.')}",
                "see ssl.truststore.location and ssl.endpoint.identification.algorithm",
            ) from error
        except TimeoutError:
            raise
        except _CLOSED as error:
            raise self._problem("TLS: closed the connection", "has this listener TLS?") from error
        except OSError as error:
            raise self._problem(f"TLS: {error_reason(error)}", "has this listener TLS?") from error

    def _exchange(self, connection: socket.socket, request: Any, is_tls: bool) -> Any | None:
        """The answer to one of kafka-python's requests; None if only its beginning is a broker's."""
        request.with_header(_CORRELATION_ID, "kgroup")
        connection.settimeout(self._left())
        connection.sendall(request.encode(header=True, framed=True))
        start = self._receive(connection, 8)
        length, correlation_id = struct.unpack(">ii", start)
        if correlation_id != _CORRELATION_ID or not 6 <= length <= _FRAME_MAX:
            raise self._stranger(start, is_tls)
        return _decoded(request, start[4:] + self._receive(connection, length - 4))

    def _receive(self, connection: socket.socket, size: int) -> bytes:
        received = b""
        while len(received) < size:
            connection.settimeout(self._left())
            part = connection.recv(size - len(received))
            if not part and received[:2] in _TLS_RECORDS:
                raise self._stranger(received, False)
            if not part:
                raise ConnectionResetError
            received += part
        return received

    def _stranger(self, start: bytes, is_tls: bool) -> _ProblemError:
        if start[:2] in _TLS_RECORDS and not is_tls:
            return self._problem("answers in TLS", "this listener wants SSL or SASL_SSL")
        who = "an HTTP server" if start.startswith(b"HTTP/") else f"no Kafka broker (it says {start!r})"
        return _ProblemError(f"this is {who}", "is the port that of a broker's listener?")

    def _problem(self, why: str, hint: str) -> _ProblemError:
        return _ProblemError(why, f"security.protocol is {self._protocol}: {hint}")

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def _decoded(request: Any, answer: bytes) -> Any | None:
    """kafka-python's object of an answer; None if it is not one, which a client will say more of."""
    try:
        return request.header.get_response_class().decode(answer, version=request.version, header=True)
    except CODEC_ERRORS:
        return None
