"""A connection until its client has logged in, and when it must do so again: Kafka's SaslServerAuthenticator.

Only ApiVersions, SaslHandshake and SaslAuthenticate get through to here; anything else ends the connection.
Sessions with a lifetime, and logging in again, are KIP-368's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

from kgroup.broker.security import bearer
from kgroup.broker.security.credentials import Credentials, PlainExchange
from kgroup.broker.security.scram import CredentialsError, ScramExchange
from kgroup.protocol.error_codes import ErrorCode
from kgroup.wire import apis as api
from kgroup.wire.frames import BadRequestError, Call

RECEIVE_MAX_BYTES: Final = 524_288  # sasl.server.max.receive.size
_AGAIN_MIN_MS: Final = 1000
_LENGTH_BYTES: Final = 4
_HEADER_BYTES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRules:
    """A listener's requirements. `lifetimes_ms` are those of sessions, by mechanism (0: none)."""

    mechanisms: tuple[str, ...]
    credentials: Credentials
    lifetimes_ms: Mapping[str, int] = field(default_factory=dict)
    new_nonce: Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginStep:
    """The next step after a frame.

    `answer` is a frame to send. `why` ends the connection, for this reason, after the delay that Kafka has
    for it (`connection.failed.authentication.delay.ms`); the answer, if any, goes out just before. With
    `to_node` the frame is a request for the node, which is not a matter of the login.
    """

    answer: bytes | None = None
    why: str | None = None
    to_node: bool = False


class ServerLogin:
    """One connection's login. `read` decodes a frame, as the node does."""

    def __init__(self, rules: LoginRules, read: Callable[[bytes], Call]) -> None:
        self._rules = rules
        self._read = read
        self._mechanism: str | None = None
        self._wraps_tokens = False  # SaslAuthenticate requests, since SaslHandshake v1
        self._exchange: ScramExchange | PlainExchange | bearer.BearerExchange | None = None
        self._asked_versions = False
        self._known_as: tuple[str, str] | None = None  # principal and mechanism of the last login
        self._began_again_ms: int | None = None
        self._wrong_mechanism: str | None = None
        self._expires_ms: int | None = None
        self.principal: str | None = None
        """Who has logged in; None before that, and while it is done again."""

    @property
    def is_over(self) -> bool:
        """Logged in for as long as the connection lasts: no frame concerns the login any more."""
        return self.principal is not None and self._expires_ms is None

    def take(self, frame: bytes, now_ms: int) -> LoginStep:
        """The next step after this frame. Raises BadRequestError for one that ends the connection at once."""
        if self.principal is not None:
            return self._take_logged_in(frame, now_ms)
        if self._wrong_mechanism is not None:
            return LoginStep(why=self._wrong_mechanism)
        if self._exchange is None:
            return self._take_handshake(frame)
        return self._take_token(frame, now_ms) if self._wraps_tokens else self._take_bare(frame, now_ms)

    # ---- before and after -----------------------------------------------------------------------

    def _take_logged_in(self, frame: bytes, now_ms: int) -> LoginStep:
        assert self._expires_ms is not None
        if _api_key(frame) == api.SASL_HANDSHAKE:
            again = self._began_again_ms is None or now_ms - self._began_again_ms >= _AGAIN_MIN_MS
            if again:
                self._began_again_ms = now_ms
                self.principal = self._exchange = None
                return self._take_handshake(frame)
        elif now_ms >= self._expires_ms:
            raise BadRequestError("the session has expired, and its client did not log in again")
        return LoginStep(to_node=True)

    def _take_handshake(self, frame: bytes) -> LoginStep:
        key = _api_key(frame)
        if key == api.API_VERSIONS and not self._asked_versions and self._known_as is None:
            call = self._read(frame)
            self._asked_versions = call.body is not None
            return LoginStep(to_node=True)
        if key != api.SASL_HANDSHAKE:
            return LoginStep(why=f"unexpected request of api key {key} during SASL handshake")
        call = self._read(frame)
        mechanism, version = call.body.mechanism, call.version
        known = mechanism in self._rules.mechanisms
        error = ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
        response = SaslHandshakeResponse(
            version=version, error_code=error, mechanisms=list(self._rules.mechanisms)
        )
        answer = _encoded(call, response)
        if not known:
            return LoginStep(answer=answer, why="a SASL mechanism that is not enabled")
        if self._known_as is not None and self._known_as[1] != mechanism:
            self._wrong_mechanism = (
                f"SASL mechanism '{mechanism}' requested by client is not supported for re-authentication of "
                f"mechanism '{self._known_as[1]}'"
            )
        self._wraps_tokens = version >= 1
        self._mechanism = mechanism
        credentials = self._rules.credentials
        if mechanism == "PLAIN":
            self._exchange = PlainExchange(credentials)
        elif mechanism == bearer.MECHANISM:
            assert credentials.tokens is not None
            self._exchange = bearer.BearerExchange(credentials.tokens)
        else:
            users = dict(credentials.scram.get(mechanism, {}))
            self._exchange = ScramExchange(mechanism, users, self._rules.new_nonce())
        return LoginStep(answer=answer)

    # ---- tokens -----------------------------------------------------------------------------------

    def _take_token(self, frame: bytes, now_ms: int) -> LoginStep:
        key = _api_key(frame)
        if key != api.SASL_AUTHENTICATE:
            return LoginStep(why=f"unexpected request of api key {key} during SASL authentication")
        call = self._read(frame)
        token, why = self._evaluate(bytes(call.body.auth_bytes or b""), now_ms)
        response = SaslAuthenticateResponse(
            version=call.version,
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED if why else ErrorCode.NONE,
            error_message=why,
            auth_bytes=token,
            session_lifetime_ms=0 if why else self._finish(now_ms),
        )
        return LoginStep(answer=_encoded(call, response), why=why)

    def _take_bare(self, frame: bytes, now_ms: int) -> LoginStep:
        """Tokens without any header: what clients send after SaslHandshake v0 (KIP-43)."""
        token, why = self._evaluate(frame, now_ms)
        if why is not None:
            return LoginStep(why=why)
        self._finish(now_ms)
        return LoginStep(answer=len(token).to_bytes(_LENGTH_BYTES, "big") + token)

    def _evaluate(self, token: bytes, now_ms: int) -> tuple[bytes, str | None]:
        """The answer to a token, or what the client hears instead."""
        assert self._exchange is not None and self._mechanism is not None
        try:
            match self._exchange:
                case bearer.BearerExchange():
                    answer = self._exchange.take(token, now_ms)
                case _:
                    answer = self._exchange.take(token)
        except PermissionError as error:
            return b"", str(error)
        except CredentialsError:
            # The same words for all reasons: they must not tell whether there is such a user.
            again = "re-authentication" if self._known_as else "authentication"
            why = f"Authentication failed during {again} due to invalid credentials with SASL mechanism "
            return b"", why + self._mechanism
        user = self._exchange.user
        if user is not None and self._known_as is not None and self._known_as[0] != f"User:{user}":
            before = self._known_as[0].replace(":", ".", 1)
            return b"", f"Cannot change principals during re-authentication from {before}: User.{user}"
        return answer, None

    def _finish(self, now_ms: int) -> int:
        """Log the client in after the last token; returns the session's lifetime in ms, 0 for none."""
        assert self._exchange is not None and self._mechanism is not None
        if self._exchange.user is None:
            return 0
        self.principal = f"User:{self._exchange.user}"
        self._known_as = (self.principal, self._mechanism)
        lifetime_ms = self._rules.lifetimes_ms.get(self._mechanism, 0)
        if isinstance(self._exchange, bearer.BearerExchange) and self._exchange.expires_ms is not None:
            # The session ends with its token, if not before. With some clock skew, in Kafka too, a token that
            # has expired lets its client in, for nothing but to log in again.
            left_ms = max(0, self._exchange.expires_ms - now_ms)
            lifetime_ms = min(left_ms, lifetime_ms) if lifetime_ms > 0 else left_ms
            self._expires_ms = now_ms + lifetime_ms
        elif lifetime_ms > 0:
            self._expires_ms = now_ms + lifetime_ms
        self._exchange = None
        return lifetime_ms


def _api_key(frame: bytes) -> int:
    if len(frame) < _HEADER_BYTES:
        raise BadRequestError(f"a request of {len(frame)} bytes")
    return int.from_bytes(frame[:2], "big", signed=True)


def _encoded(call: Call, response: Any) -> bytes:
    return api.APIS[call.api_key].encode(response, call.version, call.correlation_id)
