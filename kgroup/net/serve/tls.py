"""TLS of a server by Kafka's `ssl.*` properties, with stores in PEM."""

import ssl
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kgroup.errors import InputError, SourceError
from kgroup.net.connect.error_reason import error_reason

_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_OTHERS_MAY_READ: Final = stat.S_IRWXG | stat.S_IRWXO


def server_context(properties: Mapping[str, str], warn: Callable[[str], None]) -> ssl.SSLContext:
    """The context of a listener. Raises InputError, naming the property, and SourceError for bad files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _set_versions(context, properties.get("ssl.enabled.protocols", ""))
    if properties.get("ssl.principal.mapping.rules", "DEFAULT").strip() not in ("", "DEFAULT"):
        raise InputError("ssl.principal.mapping.rules: kgroup can do DEFAULT only")
    for store in ("ssl.keystore", "ssl.truststore"):
        kind = properties.get(f"{store}.type", "PEM").upper()
        if kind != "PEM":
            raise InputError(f"{store}.type={kind}: serve reads PEM only")
    _load_certificate(context, properties, warn)
    wanted = properties.get("ssl.client.auth", "none").strip().lower()
    if wanted not in _CLIENT_AUTH:
        raise InputError(f"ssl.client.auth={wanted}: none, requested or required")
    _load_authorities(context, properties, needed=wanted != "none")
    context.verify_mode = _CLIENT_AUTH[wanted]
    return context


def warn_if_others_may_read(path: Path, warn: Callable[[str], None]) -> None:
    """Say so if a file with secrets can be read by others."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # reading it says why
    if stat.S_ISREG(mode) and mode & _OTHERS_MAY_READ:
        warn(f"{path} has secrets, and others may read it; chmod 600 makes it private")


def require_file(path: Path, named: str = "") -> None:
    """Raise SourceError, with `named` before the path, for a pipe or device: reading it might never end."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise SourceError(f"{named}{path}: {error.strerror or error}") from error
    if stat.S_ISDIR(mode):
        raise SourceError(f"{named}{path}: Is a directory")
    if not stat.S_ISREG(mode):
        raise SourceError(f"{named}{path}: not a regular file")


def _set_versions(context: ssl.SSLContext, text: str) -> None:
    names = [name.strip() for name in text.split(",") if name.strip()] or list(_VERSIONS)
    for name in names:
        if name not in _VERSIONS:
            raise InputError(f"ssl.enabled.protocols: {name!r} is not one of {', '.join(_VERSIONS)}")
    versions = sorted(_VERSIONS[name] for name in names)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]


def _load_certificate(
    context: ssl.SSLContext, properties: Mapping[str, str], warn: Callable[[str], None]
) -> None:
    # With None, OpenSSL would ask the terminal.
    password = properties.get("ssl.key.password", "")
    location = properties.get("ssl.keystore.location", "")
    chain, key = properties.get("ssl.keystore.certificate.chain", ""), properties.get("ssl.keystore.key", "")
    if chain or key:
        if not (chain and key):
            missing = "ssl.keystore.key" if chain else "ssl.keystore.certificate.chain"
            raise InputError(f"{missing} is missing; certificate and key go together")
        # The ssl module reads keys from files only; this one is private from its beginning.
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as store:
            store.write(f"{chain}\n{key}\n")
            store.flush()
            with _naming("ssl.keystore.certificate.chain", password):
                context.load_cert_chain(store.name, password=password)
    elif location:
        warn_if_others_may_read(Path(location), warn)
        require_file(Path(location), "ssl.keystore.location=")
        with _naming(f"ssl.keystore.location={location}", password):
            context.load_cert_chain(location, password=password)
    else:
        raise InputError("TLS needs ssl.keystore.location, a PEM file with certificate and key")


def _load_authorities(context: ssl.SSLContext, properties: Mapping[str, str], *, needed: bool) -> None:
    """Load the authorities that may have signed clients' certificates."""
    authorities = properties.get("ssl.truststore.certificates", "")
    location = properties.get("ssl.truststore.location", "")
    if authorities:
        with _naming("ssl.truststore.certificates"):
            context.load_verify_locations(cadata=authorities)
    elif location:
        require_file(Path(location), "ssl.truststore.location=")
        with _naming(f"ssl.truststore.location={location}"):
            context.load_verify_locations(cafile=location)
    elif needed:
        raise InputError("ssl.client.auth needs ssl.truststore.location, who signs the clients' certificates")


@contextmanager
def _naming(name: str, password: str = "") -> Iterator[None]:
    """Errors inside become a SourceError that begins with the property."""
    try:
        yield
    except ssl.SSLError as error:
        reason = error_reason(error)
        if reason == "pem lib":
            reason = (
                "the key cannot be read with ssl.key.password"
                if password
                else "no certificate and key in PEM, or an encrypted key without ssl.key.password"
            )
        raise SourceError(f"{name}: {reason}") from error
    except (OSError, ValueError) as error:
        raise SourceError(f"{name}: {getattr(error, 'strerror', None) or error}") from error
