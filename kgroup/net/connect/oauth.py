"""OAUTHBEARER by Java's properties: where a client gets its token.

As in Kafka's clients, the login module's options make an unsecured token unless
`sasl.login.callback.handler.class` is OAuthBearerLoginCallbackHandler, which asks a token endpoint or reads
a file (KIP-255, KIP-768, KIP-1139).
"""

import re
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from kafka.net.sasl.oauth import AbstractTokenProvider

from kgroup.errors import InputError, SourceError
from kgroup.input_files import SETTINGS_BYTES_MAX, read_input_file
from kgroup.net.connect.oauth_properties import (
    CLIENT_ID,
    CLIENT_SECRET,
    HANDLER,
    RETRIEVER,
    SCOPE,
    TIMEOUTS,
    URL,
    URLENCODE,
)
from kgroup.net.connect.tls import PROPERTIES as OF_TLS
from kgroup.net.connect.tls import tls_context
from kgroup.net.connect.token_endpoint import TokenEndpoint
from kgroup.protocol.bearer_token import TOKEN, claims_of, seconds_claim, unsecured_token

_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
_ASKING_HANDLERS: Final = tuple(
    f"{_PACKAGE}{folder}.OAuthBearerLoginCallbackHandler" for folder in ("", ".secured")
)
_UNSECURED_HANDLER: Final = f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
_RETRIEVERS: Final = ("DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "FileJwtRetriever")
_UNSECURED: Final = "unsecuredLogin"
_EXTENSION_NAME: Final = re.compile("[A-Za-z]+")
_EXTENSION_VALUE: Final = re.compile(r"[\x21-\x7e \t\r\n]+")
_LIFETIME_S: Final = 3600
_LIFETIME_S_MAX: Final = 2**31
_USED_UP: Final = 0.8
"""Of a token's lifetime, where Kafka's clients get the next: `sasl.login.refresh.window.factor`."""
_TIMEOUT_MS: Final = 5000
_MS_MAX: Final = 2**31 - 1


class Tokens(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """The token of now, for every connection: kept as long as its source says that it can be."""

    def __init__(
        self, source: Callable[[], tuple[str, float]], extensions: Mapping[str, str], named: str
    ) -> None:
        super().__init__()
        self.named = named
        """The property that says where tokens come from."""
        self._source = source
        self._extensions = dict(extensions)
        self._lock = threading.Lock()
        self._token, self._kept_until_s = "", 0.0

    def token(self) -> str:
        """See kafka-python. Raises SourceError if there is none."""
        with self._lock:
            if time.time() >= self._kept_until_s:
                self._token, self._kept_until_s = self._source()
            return self._token

    def extensions(self) -> dict[str, str]:
        """See kafka-python."""
        return dict(self._extensions)

    def hint(self) -> str:
        """A hint for a token that a broker refuses."""
        expires_s = seconds_claim(claims_of(self._token), "exp")
        if expires_s is None or expires_s > time.time():
            return f"see {self.named}"
        # Years that a calendar has not are no date.
        when = f" {datetime.fromtimestamp(expires_s, UTC):%Y-%m-%dT%H:%M:%SZ}" if expires_s > 0 else ""
        return f"the token expired{when}: see {self.named}"


def tokens(properties: Mapping[str, str], options: Mapping[str, str]) -> Tokens:
    """Tokens by the properties and the login module's options. Nothing is asked or read until a token is.

    Raises InputError, naming property or option, for what makes no sense or is not Kafka's own.
    """
    handler = properties.get(HANDLER, "").strip()
    if handler not in ("", _UNSECURED_HANDLER, *_ASKING_HANDLERS):
        raise InputError(
            f"{HANDLER}={handler}: kgroup has Kafka's own, {_ASKING_HANDLERS[0]}, and unsecured tokens"
        )
    retriever = properties.get(RETRIEVER, "").strip()
    if retriever and retriever.rpartition(".")[2] not in _RETRIEVERS:
        raise InputError(f"{RETRIEVER}={retriever}: kgroup has {', '.join(_RETRIEVERS)}")
    url = properties.get(URL, "").strip()
    own = any(name.startswith(_UNSECURED) for name in options)
    # With a URL and nothing of an unsecured token the handler was meant; Kafka's clients want it said.
    if handler in _ASKING_HANDLERS or (not handler and url and not own):
        extensions = _extensions(options, "extension_")
        if not url:
            raise InputError(f"{URL} is needed: https://HOST/PATH, or file:///PATH of a token")
        if urlsplit(url).scheme.lower() == "file":
            return Tokens(lambda: (_read_token(url), 0.0), extensions, URL)
        endpoint = _endpoint(url, properties, options)
        return Tokens(lambda: _asked(endpoint), extensions, URL)
    claims, lifetime_s = _unsecured_claims(options)
    return Tokens(
        lambda: (_unsecured(claims, lifetime_s, time.time()), 0.0),
        _extensions(options, f"{_UNSECURED}Extension_"),
        "sasl.jaas.config",
    )


def _unsecured(claims: Mapping[str, Any], lifetime_s: int, now_s: float) -> str:
    now_s = int(now_s * 1000) / 1000  # as Java's clock has it
    return unsecured_token({"exp": now_s + lifetime_s, "iat": now_s, **claims})


def _unsecured_claims(options: Mapping[str, str]) -> tuple[dict[str, Any], int]:
    """The claims that are given, without those of time, and for how long they hold."""
    claims: dict[str, Any] = {}
    for name, value in options.items():
        kind, _, claim = name.removeprefix(_UNSECURED).partition("Claim_")
        if not name.startswith(_UNSECURED) or kind not in ("String", "Number", "List") or not claim:
            continue
        if claim in ("iat", "exp"):
            raise InputError(f"sasl.jaas.config: {name}: the time of a token is not to be given")
        if kind == "Number":
            claims[claim] = _number(name, value)
        elif kind == "List":
            claims[claim] = value[1:].split(value[0]) if len(value) > 1 else []
        else:
            claims[claim] = value
    principal = options.get(f"{_UNSECURED}PrincipalClaimName", "").strip() or "sub"
    if not isinstance(claims.get(principal), str) or not claims[principal]:
        raise InputError(
            f"sasl.jaas.config has no {_UNSECURED}StringClaim_{principal}, which sasl.mechanism=OAUTHBEARER "
            f"needs, and there is no {URL}"
        )
    lifetime = options.get(f"{_UNSECURED}LifetimeSeconds", str(_LIFETIME_S)).strip()
    if not re.fullmatch("-?[0-9]{1,10}", lifetime) or abs(int(lifetime)) > _LIFETIME_S_MAX:
        raise InputError(f"sasl.jaas.config: {_UNSECURED}LifetimeSeconds={lifetime}: an integer is needed")
    return claims, int(lifetime)


def _number(name: str, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if number - number != 0:  # neither a number nor finite
        raise InputError(f"sasl.jaas.config: {name}={value}: a number is needed")
    return number


def _extensions(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    """SASL extensions (KIP-342). Raises InputError for what Kafka's clients refuse."""
    extensions = {
        name.removeprefix(prefix): value for name, value in options.items() if name.startswith(prefix)
    }
    for name, value in extensions.items():
        if name == "auth" or not _EXTENSION_NAME.fullmatch(name) or not _EXTENSION_VALUE.fullmatch(value):
            raise InputError(f"sasl.jaas.config: {prefix}{name}: letters for a name, and ASCII for a value")
    return extensions


def _read_token(url: str) -> str:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost"):
        raise SourceError(f"{URL}={url}: a file of this machine is file:///PATH")
    named = f"{URL}={url}"
    content = read_input_file(unquote(parts.path), kind="token", bytes_max=SETTINGS_BYTES_MAX, named=named)
    return _require_token(content.decode("ascii", "replace").strip(), named)


def _asked(endpoint: TokenEndpoint) -> tuple[str, float]:
    """The token and until when to keep it, in seconds since 1970."""
    answer, now_s = endpoint.ask(), time.time()
    token = _require_token(answer["access_token"].strip(), f"{URL}={endpoint.url}")
    expires_s = seconds_claim(claims_of(token), "exp")
    if expires_s is None:
        expires_s = now_s + (seconds_claim(answer, "expires_in") or 0)
    return token, now_s + _USED_UP * (expires_s - now_s)


def _require_token(token: str, named: str) -> str:
    if not TOKEN.fullmatch(token):
        raise SourceError(f"{named}: no bearer token, but {'nothing' if not token else 'something else'}")
    return token


def _endpoint(url: str, properties: Mapping[str, str], options: Mapping[str, str]) -> TokenEndpoint:
    def given(name: str, option: str) -> str:
        # KIP-1139: the property before the option of the login module.
        return properties.get(name, options.get(option, "")).strip()

    client_id, secret = given(CLIENT_ID, "clientId"), given(CLIENT_SECRET, "clientSecret")
    for name, value in (("clientId", client_id), ("clientSecret", secret)):
        if not value:
            raise InputError(f"sasl.jaas.config has no {name}, which {URL} needs")
    urlencode = properties.get(URLENCODE, "false").strip().lower()
    if urlencode not in ("true", "false"):
        raise InputError(f"{URLENCODE}={urlencode}: true or false")
    return TokenEndpoint(
        url=url,
        client_id=client_id,
        client_secret=secret,
        scope=given(SCOPE, "scope"),
        encode_credentials=urlencode == "true",
        tls=_tls(options) if urlsplit(url).scheme.lower() == "https" else None,
        timeout_s=_timeout_ms(properties) / 1000,
    )


def _tls(options: Mapping[str, str]) -> Any:
    """The endpoint's TLS is in options of the login module; the properties of that name are the broker's."""
    try:
        return tls_context({name: value for name, value in options.items() if name in OF_TLS})
    except (InputError, SourceError) as error:
        raise type(error)(f"sasl.jaas.config: {error}") from error


def _timeout_ms(properties: Mapping[str, str]) -> int:
    """The time for all of it: Kafka's two time-outs, or as long as a broker has to answer."""
    total = 0
    for name in TIMEOUTS if any(map(properties.get, TIMEOUTS)) else ("request.timeout.ms",):
        value = properties.get(name, "0" if name in TIMEOUTS else str(_TIMEOUT_MS)).strip()
        if not (value.isascii() and value.isdigit() and int(value[:20]) <= _MS_MAX):
            raise InputError(f"{name}={value}: from 0 to {_MS_MAX}")
        total += int(value)
    return max(1, total)
