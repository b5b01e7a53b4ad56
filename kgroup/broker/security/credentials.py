"""A cluster's users and their secrets, from lines of a file or from a JAAS entry as Kafka's."""

import hmac
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kgroup.broker.security import bearer
from kgroup.broker.security.scram import (
    OTHER_IDENTITY,
    SCRAM_HASHES,
    ScramCredential,
    parse_scram_credential,
)
from kgroup.errors import InputError, nearest_or_all

MECHANISMS: Final = ("PLAIN", *SCRAM_HASHES, bearer.MECHANISM)
_NOT_THERE: Final = ScramCredential(
    salt=b"of nobody", stored_key=bytes(32), server_key=bytes(32), iterations=4096
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Users by mechanism. `scram` serves PLAIN, too: a password in clear can be held against it.

    With `tokens`, whoever shows an unsecured token that keeps these rules is the user the token names.
    """

    plain: Mapping[str, str] = field(default_factory=dict, repr=False)
    scram: Mapping[str, Mapping[str, ScramCredential]] = field(default_factory=dict, repr=False)
    tokens: bearer.TokenRules | None = None

    def can_log_in_by(self, mechanism: str) -> bool:
        """Whether anybody at all can."""
        if mechanism == bearer.MECHANISM:
            return self.tokens is not None
        return bool(
            self.scram.get(mechanism) or (mechanism == "PLAIN" and (self.plain or any(self.scram.values())))
        )

    def knows(self, user: str, password: str) -> bool:
        """Whether this is a user's password; for a user who is not there it takes as long."""
        known = self.plain.get(user)
        same = hmac.compare_digest((known or "").encode(), password.encode())
        if not any(self.scram.values()):
            return same and known is not None
        mechanism, credential = self._scram_of(user)
        proven = credential.proves(mechanism, password)
        return proven if known is None else same

    def _scram_of(self, user: str) -> tuple[str, ScramCredential]:
        for mechanism, users in self.scram.items():
            if user in users:
                return mechanism, users[user]
        return "SCRAM-SHA-256", _NOT_THERE


def parse_users(text: str, where: str) -> dict[str, dict[str, ScramCredential]]:
    """The lines `USER MECHANISM CREDENTIAL` of a file, by mechanism and user; `#` begins a comment.

    Raises InputError, naming file and line, but none of its secrets.
    """
    users: dict[str, dict[str, ScramCredential]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            words = shlex.split(line, comments=True)
            if not words:
                continue
            if len(words) != 3:
                raise InputError("a user is USER MECHANISM CREDENTIAL; serve-ctl user-line makes one")
            user, mechanism, credential = words
            if mechanism.upper() not in SCRAM_HASHES:
                known = nearest_or_all(mechanism.lower(), SCRAM_HASHES)
                raise InputError(f"{mechanism!r} is not a mechanism for a file; {known}")
            known_users = users.setdefault(mechanism.upper(), {})
            if user in known_users:
                raise InputError(f"{user!r} is there already for {mechanism.upper()}")
            known_users[user] = parse_scram_credential(mechanism.upper(), credential)
        except ValueError as error:
            raise InputError(f"{where}:{number}: {str(error).lower()}") from None
        except InputError as error:
            raise InputError(f"{where}:{number}: {error}") from None
    return users


def user_line(user: str, mechanism: str, credential: ScramCredential) -> str:
    """The line of a user for such a file."""
    return f"{shlex.quote(user)} {mechanism} {credential}"


def jaas_users(options: Mapping[str, str]) -> dict[str, str]:
    """Users and passwords of a broker's PlainLoginModule: its options `user_NAME`."""
    return {name.removeprefix("user_"): value for name, value in options.items() if name.startswith("user_")}


class PlainExchange:
    """PLAIN (RFC 4616): one message, which has user and password in clear."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self.user: str | None = None
        """Who has logged in, at the end."""

    def take(self, message: bytes) -> bytes:
        """The answer, which is empty. Raises PermissionError with the words for the client (Kafka's)."""
        tokens = message.decode("utf-8", "replace").split("\0", 3)
        if len(tokens) != 3:
            raise PermissionError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(tokens)}")
        acting_as, user, password = tokens
        if not user:
            raise PermissionError("Authentication failed: username not specified")
        if not password:
            raise PermissionError("Authentication failed: password not specified")
        if not self._credentials.knows(user, password):
            raise PermissionError("Authentication failed: Invalid username or password")
        if acting_as not in ("", user):
            raise PermissionError(OTHER_IDENTITY)
        self.user = user
        return b""
