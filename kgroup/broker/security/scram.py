"""The server side of SCRAM (RFC 5802, RFC 7677), and the credentials it stores instead of passwords."""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final

from kgroup.errors import InputError

SCRAM_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
ITERATIONS_MIN: Final = 4096  # Kafka's, of both mechanisms
ITERATIONS_MAX: Final = 16384  # Kafka's (ScramMechanism): what a login may cost
_NAME = r"(?:[^=,\0]|=2C|=3D)+"
_PRINTABLE = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS = r"(?:,[A-Za-z]+=[^,\0]+)*"
_BASE64 = r"[a-zA-Z0-9/+]*={0,2}"
_CLIENT_FIRST: Final = re.compile(
    rf"n,(?:a=(?P<authzid>{_NAME}))?,(?P<bare>(?:m=[^,\0]+,)?n=(?P<name>{_NAME}),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS})"
)
_CLIENT_FINAL: Final = re.compile(
    rf"(?P<unproven>c=(?P<binding>{_BASE64}),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})"
)


class CredentialsError(Exception):
    """Raised when a client is not let in; the reason stays inside, and clients all hear the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramCredential:
    """Data that verifies a password without containing it; as secret as a weak password is guessable."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    @classmethod
    def of_password(cls, mechanism: str, password: str, salt: bytes, iterations: int) -> "ScramCredential":
        """The credential for a password (RFC 5802, section 3; the password as it is, as in Kafka)."""
        name = SCRAM_HASHES[mechanism]
        salted = hashlib.pbkdf2_hmac(name, password.encode(), salt, iterations)
        client_key = hmac.digest(salted, b"Client Key", name)
        return cls(
            salt=salt,
            stored_key=hashlib.new(name, client_key).digest(),
            server_key=hmac.digest(salted, b"Server Key", name),
            iterations=iterations,
        )

    def proves(self, mechanism: str, password: str) -> bool:
        """Whether this is the password, in a time that does not depend on how it differs."""
        given = self.of_password(mechanism, password, self.salt, self.iterations)
        return hmac.compare_digest(given.stored_key, self.stored_key)

    def __str__(self) -> str:
        """The form of Kafka's ScramCredentialUtils."""
        salt, stored_key, server_key = (
            base64.b64encode(part).decode() for part in (self.salt, self.stored_key, self.server_key)
        )
        return f"salt={salt},stored_key={stored_key},server_key={server_key},iterations={self.iterations}"

    def __repr__(self) -> str:
        return "ScramCredential(...)"


def parse_scram_credential(mechanism: str, text: str) -> ScramCredential:
    """A credential from Kafka's form of it. Raises InputError, without the text, which is a secret."""
    form = "a credential is salt=...,stored_key=...,server_key=...,iterations=..."
    fields = dict(part.partition("=")[::2] for part in text.split(","))
    if set(fields) != {"salt", "stored_key", "server_key", "iterations"}:
        raise InputError(form)
    try:
        salt, stored_key, server_key = (
            base64.b64decode(fields[name], validate=True) for name in ("salt", "stored_key", "server_key")
        )
    except binascii.Error:
        raise InputError(f"{form}, in base 64") from None
    size = hashlib.new(SCRAM_HASHES[mechanism]).digest_size
    if len(stored_key) != size or len(server_key) != size or not salt:
        raise InputError(f"the keys of {mechanism} have {size} bytes each, and the salt is not empty")
    digits = fields["iterations"]
    if not digits.isascii() or not digits.isdigit() or len(digits) > 9:
        raise InputError(f"iterations={digits}: a whole number is needed")
    check_iterations(int(digits))
    return ScramCredential(salt=salt, stored_key=stored_key, server_key=server_key, iterations=int(digits))


def check_iterations(iterations: int) -> None:
    """Raise InputError unless Kafka would take this number of iterations."""
    if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise InputError(f"iterations={iterations}: from {ITERATIONS_MIN} to {ITERATIONS_MAX}")


class ScramExchange:
    """One conversation: two messages of the client's, two answers."""

    def __init__(self, mechanism: str, credentials: dict[str, ScramCredential], server_nonce: str) -> None:
        self._hash = SCRAM_HASHES[mechanism]
        self._credentials = credentials
        self._server_nonce = server_nonce
        self._messages = ""
        self._nonce = ""
        self._credential: ScramCredential | None = None
        self._user = ""
        self.user: str | None = None
        """Who has logged in, at the end."""

    def take(self, message: bytes) -> bytes:
        """The answer to a message. Raises CredentialsError if its sender must not come in."""
        text = message.decode("utf-8", "replace")
        return self._first(text) if self._credential is None else self._final(text)

    def _first(self, text: str) -> bytes:
        match = _CLIENT_FIRST.fullmatch(text)
        if match is None:
            raise CredentialsError("invalid SCRAM client first message")
        self._user = match["name"].replace("=2C", ",").replace("=3D", "=")
        credential = self._credentials.get(self._user)
        if credential is None:
            raise CredentialsError("no such user")
        # Kafka compares it as it was sent, escapes and all.
        if match["authzid"] and match["authzid"] != self._user:
            raise PermissionError(OTHER_IDENTITY)
        self._credential = credential
        self._nonce = match["nonce"] + self._server_nonce
        salt = base64.b64encode(credential.salt).decode()
        answer = f"r={self._nonce},s={salt},i={credential.iterations}"
        self._messages = f"{match['bare']},{answer}"
        return answer.encode()

    def _final(self, text: str) -> bytes:
        match = _CLIENT_FINAL.fullmatch(text)
        credential = self._credential
        if match is None or credential is None:
            raise CredentialsError("invalid SCRAM client final message")
        if not hmac.compare_digest(match["nonce"].encode(), self._nonce.encode()):
            raise CredentialsError("another nonce in the SCRAM client final message")
        authenticated = f"{self._messages},{match['unproven']}".encode()
        signature = hmac.digest(credential.stored_key, authenticated, self._hash)
        try:
            proof = base64.b64decode(match["proof"], validate=True)
        except binascii.Error:
            proof = b""
        if len(proof) != len(signature):
            raise CredentialsError("a SCRAM proof of another length")
        client_key = bytes(left ^ right for left, right in zip(proof, signature, strict=True))
        if not hmac.compare_digest(hashlib.new(self._hash, client_key).digest(), credential.stored_key):
            raise CredentialsError("another password")
        self.user = self._user
        return b"v=" + base64.b64encode(hmac.digest(credential.server_key, authenticated, self._hash))


OTHER_IDENTITY: Final = (
    "Authentication failed: Client requested an authorization id that is different from username"
)
