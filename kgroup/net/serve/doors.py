"""Planned listeners and the effect of their properties: TLS, logins, and who may do what."""

import secrets
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kgroup.broker.security import bearer
from kgroup.broker.security.acls import parse_acls
from kgroup.broker.security.authorizer import Authorizer
from kgroup.broker.security.credentials import MECHANISMS, Credentials, jaas_users, parse_users
from kgroup.broker.security.distinguished_name import subject
from kgroup.broker.security.listeners import ACLS_FILE, USERS_FILE, ListenerPlan
from kgroup.broker.security.login import LoginRules
from kgroup.broker.security.scram import SCRAM_HASHES
from kgroup.errors import DecodeError, InputError, SourceError, nearest_or_all
from kgroup.net.connect.jaas import login_options
from kgroup.net.serve.tls import require_file, server_context, warn_if_others_may_read
from kgroup.wire.frames import Sender

_AUTHORIZERS: Final = ("org.apache.kafka.metadata.authorizer.StandardAuthorizer",)
_LACKING: Final = {
    "PLAIN": "--users has nobody for it, nor has plain.sasl.jaas.config",
    **dict.fromkeys(SCRAM_HASHES, "--users has nobody for it"),
    bearer.MECHANISM: f"oauthbearer.sasl.jaas.config has no {bearer.MODULE}",
}
_NONCE_BYTES: Final = 24
_FAILED_DELAY_MS: Final = 100  # Kafka's default
_FILE_MAX_BYTES: Final = 16 << 20
_MS_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A listener with what it takes to come in. `failed_delay_s` puts off the answer to a wrong login."""

    plan: ListenerPlan
    tls: ssl.SSLContext | None = None
    login: LoginRules | None = None
    failed_delay_s: float = 0.0

    def sender(self, tls: Any) -> Sender:
        """The sender behind a connection after its handshake; `tls` is its ssl object, or None."""
        certificate = tls.getpeercert(binary_form=True) if tls is not None else None
        principal = "User:ANONYMOUS"
        if certificate is not None and self.login is None:
            try:
                principal = f"User:{subject(certificate)}"
            except DecodeError:
                principal = "User:"  # nobody has rights by that name
        return Sender(principal=principal, listener=self.plan.name)


PLAIN_DOOR: Final = Door(plan=ListenerPlan())


def open_doors(plans: tuple[ListenerPlan, ...], warn: Callable[[str], None]) -> tuple[Door, ...]:
    """Doors by the plans' properties. Raises InputError and SourceError, naming what is wrong."""
    return tuple(
        Door(
            plan=plan,
            tls=server_context(plan.properties, warn) if plan.protocol.has_tls else None,
            login=_login_rules(plan, warn) if plan.protocol.has_sasl else None,
            failed_delay_s=_milliseconds(
                plan.properties, "connection.failed.authentication.delay.ms", _FAILED_DELAY_MS
            )
            / 1000,
        )
        for plan in plans
    )


def _login_rules(plan: ListenerPlan, warn: Callable[[str], None]) -> LoginRules:
    properties = plan.properties
    scram = {}
    users_file = properties.get(USERS_FILE)
    if users_file:
        path = Path(users_file)
        warn_if_others_may_read(path, warn)
        scram = parse_users(_text(path), users_file)
    jaas = properties.get("plain.sasl.jaas.config", properties.get("sasl.jaas.config", ""))
    plain = jaas_users(login_options(jaas)) if "PlainLoginModule" in jaas else {}
    tokens = bearer.token_rules(login_options(plan.jaas_of_tokens)) if plan.takes_tokens else None
    credentials = Credentials(plain=plain, scram=scram, tokens=tokens)
    wanted = [name.strip() for name in properties.get("sasl.enabled.mechanisms", "").split(",")]
    mechanisms = tuple(filter(None, wanted)) or tuple(filter(credentials.can_log_in_by, MECHANISMS))
    for mechanism in mechanisms:
        if mechanism not in MECHANISMS:
            known = nearest_or_all(mechanism, MECHANISMS)
            raise InputError(f"sasl.enabled.mechanisms: {mechanism!r} is not served; {known}")
        if not credentials.can_log_in_by(mechanism):
            raise InputError(
                f"sasl.enabled.mechanisms: nobody can log in by {mechanism}; {_LACKING[mechanism]}"
            )
    if not mechanisms:
        raise InputError(
            "SASL needs users: --users FILE, plain.sasl.jaas.config with user_NAME options, or "
            f"oauthbearer.sasl.jaas.config with {bearer.MODULE}"
        )
    lifetimes_ms = {
        mechanism: _milliseconds(
            properties,
            f"{mechanism.lower()}.connections.max.reauth.ms",
            _milliseconds(properties, "connections.max.reauth.ms", 0),
        )
        for mechanism in mechanisms
    }
    return LoginRules(
        mechanisms=mechanisms,
        credentials=credentials,
        lifetimes_ms=lifetimes_ms,
        new_nonce=lambda: secrets.token_urlsafe(_NONCE_BYTES),
    )


def read_authorizer(properties: Mapping[str, str]) -> Authorizer | None:
    """The authorizer that the properties ask for, if any. Raises InputError and SourceError."""
    name = properties.get("authorizer.class.name", "").strip()
    acls_file = properties.get(ACLS_FILE, "")
    if name and name not in _AUTHORIZERS:
        raise InputError(f"authorizer.class.name={name}: kgroup has {_AUTHORIZERS[0]}")
    if not name and not acls_file:
        for needless in ("super.users", "allow.everyone.if.no.acl.found"):
            if needless in properties:
                raise InputError(f"{needless}: there is no authorizer; give --acls FILE")
        return None
    acls = parse_acls(_text(Path(acls_file)), acls_file) if acls_file else ()
    super_users = [each.strip() for each in properties.get("super.users", "").split(";") if each.strip()]
    for user in super_users:
        if ":" not in user:
            raise InputError(f"super.users: {user!r} is not a principal; give User:NAME, separated by ;")
    allow = properties.get("allow.everyone.if.no.acl.found", "false").strip().lower()
    if allow not in ("true", "false"):
        raise InputError(f"allow.everyone.if.no.acl.found: {allow!r} is neither true nor false")
    return Authorizer(acls, super_users=super_users, allow_without_acl=allow == "true")


def _milliseconds(properties: Mapping[str, str], name: str, default: int) -> int:
    text = properties.get(name, str(default)).strip()
    if not text.isascii() or not text.isdigit() or int(text[:20]) > _MS_MAX:
        raise InputError(f"{name}: {text!r} is not a whole number from 0 to {_MS_MAX}")
    return int(text)


def _text(path: Path) -> str:
    require_file(path)
    try:
        with path.open("rb") as file:
            content = file.read(_FILE_MAX_BYTES + 1)
        if len(content) > _FILE_MAX_BYTES:
            raise InputError(f"{path}: more than {_FILE_MAX_BYTES >> 20} MB")
        return content.decode()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8") from error
