"""Probes a listener before a client library uses it, so that a wrong one shows at once.

kafka-python would try again until its time is up, which locks accounts where a password is wrong; TLS with
somebody silent would never end, and which of several servers it tries is left to chance.
"""

import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, Final

from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from kgroup.errors import SourceError
from kgroup.net.connect.error_reason import error_reason
from kgroup.net.connect.login import Login, no_handshake, refused_login, refused_mechanism
from kgroup.wire.frames import CODEC_ERRORS

CONNECT_TIMEOUT_MS: Final = 5_000
"""The time to try for, unless `request.timeout.ms` says otherwise."""

_NEXT_SERVER_S: Final = 0.25  # as RFC 8305 has it for addresses: a server that is only slow is waited for
_FRAME_MAX: Final = 1 << 20
_CORRELATION_ID: Final = 0x6B67  # "kg": nothing answers this by chance
_BROKERS_TRIED: Final = 3
_METADATA_VERSION: Final = 1
_SASL_HANDSHAKE_VERSION: Final = 1  # with it come SaslAuthenticate's frames; Kafka 1.0 and newer
_TLS_RECORDS: Final = (b"\x15\x03", b"\x16\x03")  # an alert, a handshake (RFC 8446, section 5.1)
_OTHER_LISTENERS: Final = {
    "PLAINTEXT": "does this listener want SSL or SASL?",
    "SSL": "does this listener want SASL_SSL?",
    "SASL_PLAINTEXT": "does this listener want SASL_SSL?",
    "SASL_SSL": "is this a broker's listener?",
}
_UP: Final = "is this the host and port of a broker that is up?"
_CLOSED: Final = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


def require_broker(servers: Sequence[tuple[str, int]], config: Mapping[str, object]) -> tuple[str, int]:
    """The first of these listeners to answer as a Kafka broker does to a client with this `client_config`.

    All of them have `request_timeout_ms`: each is tried when the one before has failed, or has been silent
    for a moment. One of them sees the login, and only once: where it is refused no other is tried, as in
    Kafka's clients. Raises SourceError with what is wrong with each of them, and what to look at.
    """
    protocol, tls = str(config["security_protocol"]), config.get("ssl_context")
    timeout_ms = config.get("request_timeout_ms", CONNECT_TIMEOUT_MS)
    assert isinstance(timeout_ms, int) and (tls is None or isinstance(tls, ssl.SSLContext))
    login = Login(config) if "sasl_mechanism" in config else None
    if login is not None:
        login.prepare()  # has a time-out of its own
    until = time.monotonic() + timeout_ms / 1000
    contacts = [_Contact(server, protocol, tls, until) for server in servers]
    try:
        for contact in _opened(contacts, until):
            with contact.naming_problems():
                contact.settle(login)
                return contact.address
    finally:
        for contact in contacts:
            contact.give_up()
    hint, problems = "", []
    for contact in contacts:
        if contact.problem is None:
            problems.append(f"{contact.name}: no answer in {timeout_ms / 1000:g} s")
            hint = f"security.protocol is {protocol}: is this a broker's listener of that kind?"
        else:
            problems.append(f"{contact.name}: {contact.problem}")
            hint = contact.problem.hint
    raise SourceError(f"no broker answers: {'; '.join(problems)}; {hint}")


def _opened(contacts: Sequence["_Contact"], until: float) -> Iterator["_Contact"]:
    """The contacts that know their broker's versions, as they come, until all failed or the time is up."""
    waiting, running = deque(contacts), 0
    ended: SimpleQueue[_Contact] = SimpleQueue()
    while waiting or running:
        if waiting:
            contact = waiting.popleft()
            # A thread each, as no time limit reaches a name's look-up; none is waited for at the end.
            threading.Thread(target=contact.open, args=(ended,), daemon=True).start()
            running += 1
        left_s = until - time.monotonic()
        try:
            contact = ended.get(timeout=max(0, min(left_s, _NEXT_SERVER_S) if waiting else left_s))
        except Empty:
            if left_s <= 0:
                return
            continue
        running -= 1
        if contact.is_open:
            yield contact


class _ProblemError(Exception):
    """The reason why this is not the listener that was meant."""

    def __init__(self, why: str, hint: str) -> None:
        super().__init__(why)
        self.hint = hint


class _Contact:
    """One connection to one listener, for a few questions: opened in a thread of its own.

    `problem` is what is wrong with it, None also for one that has not answered.
    """

    def __init__(
        self, address: tuple[str, int], protocol: str, tls: ssl.SSLContext | None, until: float
    ) -> None:
        host, port = self.address = address
        self.name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.problem: _ProblemError | None = None
        self.is_open = False
        self._protocol = protocol
        self._tls = tls
        self._until = until
        self._versions: dict[int, tuple[int, int]] = {}
        self._lock = threading.Lock()
        self._is_given_up = False
        self._held: socket.socket | None = None

    def open(self, ended: "SimpleQueue[_Contact]") -> None:
        """Connect, and learn the broker's versions; whether that went well, `ended` gets this contact."""
        try:
            with self.naming_problems():
                self._hold(self._connected())
                self._secure()
                with self._naming_closed():
                    self._ask_versions()
                with self._lock:
                    self.is_open = not self._is_given_up
        finally:
            if not self.is_open and self._held is not None:
                self._held.close()
            ended.put(self)

    def settle(self, login: Login | None) -> None:
        """Log in if that is asked for, and see whether the broker's own address is one to continue with.

        Raises _ProblemError and TimeoutError where another server may do better, and SourceError where not.
        """
        with self._naming_closed():
            if login is not None:
                self._log_in(login)
            self._ask_for_brokers()

    def give_up(self) -> None:
        """Close the connection; one that is being opened ends soon, and is closed by its thread."""
        with self._lock:
            self._is_given_up = True
            if self._held is None:
                return
            if self.is_open:
                self._held.close()
                return
            with suppress(OSError):
                # Not SSLSocket's own, which takes away the state that the thread is working with.
                socket.socket.shutdown(self._held, socket.SHUT_RDWR)

    @contextmanager
    def naming_problems(self) -> Iterator[None]:
        """Set `problem` to an error raised inside; silence is not one."""
        try:
            yield
        except _ProblemError as problem:
            if not self._is_given_up:  # else it is our own hanging up that looks like a problem
                self.problem = problem
        except TimeoutError:
            pass

    @contextmanager
    def _naming_closed(self) -> Iterator[None]:
        try:
            yield
        except _CLOSED as error:
            raise self._problem("closed the connection", _OTHER_LISTENERS[self._protocol]) from error
        except ssl.SSLError as error:
            raise self._problem(
                f"TLS: {error_reason(error)}", "see ssl.keystore.location: it may want a certificate"
            ) from error
        except TimeoutError:
            raise
        except OSError as error:
            raise self._problem(error_reason(error), _OTHER_LISTENERS[self._protocol]) from error

    def _ask_versions(self) -> None:
        answer = self._exchange(ApiVersionsRequest(version=0))
        spoken = [] if answer is None else answer.api_keys
        self._versions = {each.api_key: (each.min_version, each.max_version) for each in spoken}

    def _speaks(self, api_key: int, version: int) -> bool:
        first, last = self._versions.get(api_key, (0, -1))
        return first <= version <= last

    def _log_in(self, login: Login) -> None:
        """KIP-43, KIP-152. Raises SourceError for whatever another try would not mend."""
        if not self._speaks(SaslHandshakeRequest.API_KEY, _SASL_HANDSHAKE_VERSION):
            raise SourceError(f"{no_handshake(self.name)} security.protocol is {self._protocol}")
        answer = self._exchange(
            SaslHandshakeRequest(version=_SASL_HANDSHAKE_VERSION, mechanism=login.mechanism)
        )
        if answer is None:
            raise self._problem("its answer to SaslHandshake cannot be read", "is this a broker's listener?")
        if answer.error_code:
            refusal = refused_mechanism(self.name, login.mechanism, answer.error_code, answer.mechanisms)
            raise SourceError(f"{refusal}; see sasl.mechanism and security.protocol")
        talk = login.begin(self.address[0])
        while (message := talk.next_message()) is not None:
            talk.take(self._answer_to(message, login))

    def _answer_to(self, message: bytes, login: Login) -> bytes:
        mechanism = login.mechanism
        try:
            answer = self._exchange(SaslAuthenticateRequest(version=0, auth_bytes=message))
        except _CLOSED as error:
            why = f"{self.name}: {mechanism} login: closed the connection"
            raise SourceError(f"{why}; are sasl.mechanism, user and password right?") from error
        if answer is None:
            raise SourceError(f"{self.name}: {mechanism} login: its answer cannot be read")
        if answer.error_code:
            refusal = refused_login(self.name, mechanism, answer.error_code, answer.error_message)
            raise SourceError(f"{refusal}; {login.hint}")
        return bytes(answer.auth_bytes)

    def _ask_for_brokers(self) -> None:
        # No topics; in version 0 it would mean all of them.
        request = MetadataRequest(version=_METADATA_VERSION, topics=[])
        if self._speaks(request.API_KEY, _METADATA_VERSION):
            answer = self._exchange(request)
            brokers = [] if answer is None else answer.brokers
            self._require_one_reachable([(broker.host, broker.port) for broker in brokers])

    def _require_one_reachable(self, brokers: Sequence[tuple[str, int]]) -> None:
        """Clients move on to the brokers' advertised addresses, which may be right elsewhere."""
        if not brokers or self.address in brokers:
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

    def _hold(self, connection: socket.socket) -> None:
        with self._lock:
            if self._is_given_up:
                connection.close()
                raise TimeoutError
            self._held = connection

    def _connected(self) -> socket.socket:
        """A connection to one of the host's addresses; a silent one leaves the others their share of time."""
        try:
            addresses = socket.getaddrinfo(*self.address, type=socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise _ProblemError(error_reason(error), "is the host's name right?") from error
        except (OSError, UnicodeError) as error:
            raise _ProblemError(error_reason(error), _UP) from error
        refusal: OSError | None = None
        for number, (*_, address) in enumerate(addresses):
            share_s = self._left() / (len(addresses) - number)
            try:
                return socket.create_connection((str(address[0]), self.address[1]), timeout=share_s)
            except OSError as error:
                refusal = error if refusal is None or isinstance(refusal, TimeoutError) else refusal
        if refusal is None or isinstance(refusal, TimeoutError):
            raise TimeoutError
        raise _ProblemError(error_reason(refusal), _UP) from refusal

    def _secure(self) -> None:
        if self._tls is None:
            return
        assert self._held is not None
        self._held.settimeout(self._left())
        try:
            secured = self._tls.wrap_socket(
                self._held, server_hostname=self.address[0], do_handshake_on_connect=False
            )
            self._hold(secured)
            secured.do_handshake()
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

    def _exchange(self, request: Any) -> Any | None:
        """The answer to one of kafka-python's requests; None if only its beginning is a broker's."""
        connection = self._held
        assert connection is not None
        request.with_header(_CORRELATION_ID, "kgroup")
        connection.settimeout(self._left())
        connection.sendall(request.encode(header=True, framed=True))
        start = self._receive(connection, 8)
        length, correlation_id = struct.unpack(">ii", start)
        if correlation_id != _CORRELATION_ID or not 6 <= length <= _FRAME_MAX:
            raise self._stranger(start, self._tls is not None)
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
