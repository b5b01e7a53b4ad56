"""OAUTHBEARER as a Kafka broker does it with its default validator, which accepts unsecured tokens.

Rules: RFC 7628 and Kafka's `OAuthBearerSaslServer` and `OAuthBearerUnsecuredValidatorCallbackHandler` (4.3).
Such a token proves nothing: this is for tests, as it is in Kafka.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kgroup.broker.security.scram import OTHER_IDENTITY, CredentialsError
from kgroup.errors import InputError
from kgroup.protocol.bearer_token import claims_of, is_unsecured, seconds_claim

MECHANISM: Final = "OAUTHBEARER"
MODULE: Final = "OAuthBearerLoginModule"
_OPTION: Final = "unsecuredValidator"
_GONE_ON: Final = b"\x01"
_FIRST: Final = re.compile(
    r"n,(?:a=(?P<authzid>(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+))?,\x01"
    r"auth=(?P<scheme>\w+) +(?P<token>[-_.a-zA-Z0-9]+)"
    r"(?:\x01[A-Za-z]+=[\x21-\x7e \t\r\n]+)*\x01\x01"
)
_OWN_CLOCK_MS: Final = 1000
"""Clocks of one machine may differ by this much: a broker here continues from what it saw when it started."""
_MS_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """Requirements on a token: options of the listener's OAuthBearerLoginModule."""

    principal_claim: str = "sub"
    scope_claim: str = "scope"
    required_scope: tuple[str, ...] = ()
    clock_skew_ms: int = 0


def token_rules(options: Mapping[str, str]) -> TokenRules:
    """The rules by the module's `unsecuredValidator...` options. Raises InputError for a wrong clock skew."""

    def given(name: str, default: str) -> str:
        return options.get(_OPTION + name, "").strip() or default

    skew = given("AllowableClockSkewMs", "0")
    if not (skew.isascii() and skew.isdigit() and int(skew[:20]) <= _MS_MAX):
        raise InputError(f"{_OPTION}AllowableClockSkewMs: {skew!r} is not a whole number from 0 to {_MS_MAX}")
    return TokenRules(
        principal_claim=given("PrincipalClaimName", "sub"),
        scope_claim=given("ScopeClaimName", "scope"),
        required_scope=tuple(given("RequiredScope", "").split()),
        clock_skew_ms=int(skew),
    )


class BearerExchange:
    """One message with the token; a refused client is told why, acknowledges it, and is disconnected."""

    def __init__(self, rules: TokenRules) -> None:
        self._rules = rules
        self._refusal: str | None = None
        self.user: str | None = None
        """Who has logged in, at the end."""
        self.expires_ms: int | None = None
        """When the token does."""

    def take(self, message: bytes, now_ms: int) -> bytes:
        """The answer. Raises PermissionError with the words for the client (Kafka's), CredentialsError."""
        if self._refusal is not None and message == _GONE_ON:
            raise PermissionError(self._refusal)
        self._refusal = None
        first = _FIRST.fullmatch(message.decode("utf-8", "replace"))
        if first is None or first["scheme"].lower() != "bearer":
            raise CredentialsError("no client first message of OAUTHBEARER")
        claims = claims_of(first["token"]) if is_unsecured(first["token"]) else None
        self._refusal = self._refused(claims, now_ms)
        if self._refusal is not None:
            return self._refusal.encode()
        assert claims is not None
        user = str(claims[self._rules.principal_claim])
        if first["authzid"] not in (None, user):
            raise PermissionError(OTHER_IDENTITY)
        self.user = user
        self.expires_ms = int(1000 * (seconds_claim(claims, "exp") or 0))
        return b""

    def _refused(self, claims: Mapping[str, Any] | None, now_ms: int) -> str | None:
        """The error sent to a client whose claims do not let it in; None if they do."""
        if claims is None or not self._is_valid(claims, now_ms):
            return '{"status":"invalid_token"}'
        scope = claims.get(self._rules.scope_claim, ())
        granted = scope.split() if isinstance(scope, str) else scope if isinstance(scope, list) else ()
        if all(each in granted for each in self._rules.required_scope):
            return None
        return f'{{"status":"insufficient_scope", "scope":"[{", ".join(self._rules.required_scope)}]"}}'

    def _is_valid(self, claims: Mapping[str, Any], now_ms: int) -> bool:
        principal = claims.get(self._rules.principal_claim)
        if not isinstance(principal, str) or not principal:
            return False
        issued, expires = seconds_claim(claims, "iat"), seconds_claim(claims, "exp")
        if expires is None or (issued is None and claims.get("iat") is not None):
            return False
        skew_ms = self._rules.clock_skew_ms
        if issued is not None and (1000 * issued > now_ms + skew_ms + _OWN_CLOCK_MS or expires <= issued):
            return False
        return now_ms - skew_ms < 1000 * expires
