"""Fetches a token from an OAuth 2.0 token endpoint with a client's id and secret (RFC 6749, 4.4; KIP-768)."""

import base64
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit

from kgroup.errors import InputError, SourceError
from kgroup.net.connect.error_reason import error_reason
from kgroup.net.connect.oauth_properties import URL

_BYTES_MAX: Final = 1 << 20
_SHOWN_MAX: Final = 200
_FOUND: Final = (200, 201)
_TLS_RECORDS: Final = ("\x15\x03", "\x16\x03")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEndpoint:
    """The endpoint and its client. `timeout_s` is for all of it, the look-up of the host's name included."""

    url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""
    encode_credentials: bool = False
    """As RFC 6749 wants it before they go into the header; Kafka: `sasl.oauthbearer.header.urlencode`."""
    tls: ssl.SSLContext | None = None
    timeout_s: float

    def __post_init__(self) -> None:
        """Raises InputError for what is no URL of a token endpoint."""
        try:
            parts = urlsplit(self.url)
            sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
            sound = sound and self.url.isascii() and self.url.isprintable() and " " not in self.url
        except ValueError:
            raise InputError(f"{URL}: no URL; give https://HOST/PATH") from None
        if parts.username is not None:
            raise InputError(f"{URL}: without a user; clientId and clientSecret are in sasl.jaas.config")
        if not sound:
            raise InputError(f"{URL}={self.url}: give https://HOST/PATH, or file:///PATH of a token")

    def ask(self) -> Mapping[str, Any]:
        """The fields of the answer, of which `access_token` is a text. Raises SourceError."""
        ended: SimpleQueue[Mapping[str, Any] | SourceError] = SimpleQueue()
        # A thread, as no time limit reaches a name's look-up, nor an answer that comes drop by drop.
        threading.Thread(target=self._ask_in_thread, args=(ended,), daemon=True).start()
        try:
            answer = ended.get(timeout=self.timeout_s)
        except Empty:
            raise self._error(f"no answer in {self.timeout_s:g} s") from None
        if isinstance(answer, SourceError):
            raise answer
        return answer

    def _ask_in_thread(self, ended: "SimpleQueue[Mapping[str, Any] | SourceError]") -> None:
        try:
            ended.put(self._answer(*self._posted()))
        except SourceError as error:
            ended.put(error)

    def _posted(self) -> tuple[int, str, bytes]:
        """The status, its words, and what the answer has in it."""
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        connection = (
            http.client.HTTPSConnection(parts.hostname, parts.port, timeout=self.timeout_s, context=self.tls)
            if parts.scheme == "https"
            else http.client.HTTPConnection(parts.hostname, parts.port, timeout=self.timeout_s)
        )
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("POST", path, self._body(), self._headers())
            answer = connection.getresponse()
            return answer.status, answer.reason, answer.read(_BYTES_MAX)
        except ssl.SSLCertVerificationError as error:
            why = f"TLS: certificate verify failed: {error.verify_message.rstrip('.')}"
            raise self._error(f"{why}; see ssl.truststore.location in sasl.jaas.config") from error
        except ssl.SSLError as error:
            raise self._error(f"TLS: {error_reason(error)}; does it speak https?") from error
        except (ConnectionResetError, BrokenPipeError) as error:  # RemoteDisconnected is the first, too
            more = "; is https:// needed?" if parts.scheme == "http" else ""
            raise self._error(f"closed the connection{more}") from error
        except http.client.BadStatusLine as error:
            if str(error).strip("'").startswith(_TLS_RECORDS):
                raise self._error("answers in TLS: https:// is needed") from error
            raise self._error("no HTTP server answers there") from error
        except http.client.HTTPException as error:
            raise self._error(f"no sound HTTP answer ({type(error).__name__})") from error
        except socket.gaierror as error:
            raise self._error(f"{error_reason(error)}; is the host's name right?") from error
        except TimeoutError:
            raise self._error(f"no answer in {self.timeout_s:g} s") from None
        except (OSError, UnicodeError) as error:
            raise self._error(error_reason(error)) from error
        finally:
            connection.close()

    def _body(self) -> str:
        fields = {"grant_type": "client_credentials"} | ({"scope": self.scope} if self.scope else {})
        return urlencode(fields)

    def _headers(self) -> dict[str, str]:
        name, secret = self.client_id, self.client_secret
        if self.encode_credentials:
            name, secret = quote_plus(name), quote_plus(secret)
        known = base64.b64encode(f"{name}:{secret}".encode()).decode()
        return {
            "Accept": "application/json",
            "Authorization": f"Basic {known}",
            "Cache-Control": "no-cache",
            "Content-Type": "application/x-www-form-urlencoded",
        }

    def _answer(self, status: int, reason: str, content: bytes) -> Mapping[str, Any]:
        try:
            fields = json.loads(content)
        except (ValueError, RecursionError):
            fields = None
        told = fields if isinstance(fields, dict) else {}
        if status not in _FOUND:
            raise self._error(f"{status} {_shown(reason)}{_described(told)}{_advice(status, told)}")
        if not isinstance(token := told.get("access_token"), str) or not token:
            raise self._error("its answer has no access_token; is this a token endpoint?")
        return told

    def _error(self, why: str) -> SourceError:
        return SourceError(f"{URL}={self.url}: {why}")


def _described(told: Mapping[str, Any]) -> str:
    """An endpoint's reasons for a refusal, by RFC 6749, section 5.2."""
    words = [_shown(told[name]) for name in ("error", "error_description") if isinstance(told.get(name), str)]
    return f": {': '.join(words)}" if words else ""


def _advice(status: int, told: Mapping[str, Any]) -> str:
    if status in (401, 403) or told.get("error") in ("invalid_client", "unauthorized_client"):
        return "; see clientId and clientSecret in sasl.jaas.config"
    if told.get("error") == "invalid_scope":
        return "; see scope in sasl.jaas.config"
    return "; is this a token endpoint?" if status in (404, 405) or 300 <= status < 400 else ""


def _shown(text: str) -> str:
    """A stranger's words on our one line."""
    return "".join(char if char.isprintable() else " " for char in text[:_SHOWN_MAX]).strip()
