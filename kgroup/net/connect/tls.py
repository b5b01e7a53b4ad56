"""TLS by Java's `ssl.*` properties, from stores in PEM, PKCS12 and JKS.

A store's form is seen in its content: Java, too, opens a PKCS12 store by the type JKS, and the other way
round (`keystore.type.compat`).
"""

import os
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

from kgroup.errors import InputError, SourceError
from kgroup.net.connect import jks, pem
from kgroup.net.connect.error_reason import error_reason

PROPERTIES: Final = (
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
)
"""Every property that `tls_context` reads."""

_JCEKS: Final = b"\xce\xce\xce\xce"
_DER_SEQUENCE: Final = b"\x30"
_STORE_BYTES_MAX: Final = 64 * 1024 * 1024
_BEGIN: Final = b"-----BEGIN "
_MISMATCH: Final = "KEY_VALUES_MISMATCH"


def tls_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """A client's context. What is trusted is the truststore's, or without one the system's, never both.

    Raises InputError for a store of a form that cannot be read, and SourceError for one that holds no
    certificate or key, or that its password does not open.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Java: an empty value means that the certificate may be for another host.
    context.check_hostname = properties.get("ssl.endpoint.identification.algorithm", "https") != ""
    _load_trusted(context, properties)
    _load_own_certificate(context, properties)
    return context


def _load_trusted(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    authorities = properties.get("ssl.truststore.certificates")
    location = properties.get("ssl.truststore.location")
    if authorities is None and not location:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return
    # PKIX in Java takes each certificate of a truststore for an anchor, also one that another has signed.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if authorities is not None:
        with _naming("ssl.truststore.certificates"):
            context.load_verify_locations(cadata=pem.in_lines(authorities))
        return
    assert location is not None
    name = f"ssl.truststore.location={location}"
    content = _content(name, location)
    if _is_pem(content, properties, "ssl.truststore"):
        with _naming(name):
            text = pem.in_lines(content.decode("ascii", "replace")).encode("ascii", "replace").decode("ascii")
            try:
                context.load_verify_locations(cadata=text)
            except ssl.SSLError:
                context.load_verify_locations(cafile=location)  # OpenSSL takes more, or says what is wrong
        return
    with _naming(name, "ssl.truststore.password", properties):
        store = _java_store(name, content, properties.get("ssl.truststore.password"))
        if not store.trusted:
            raise SourceError(f"{name}: no certificate is trusted in it (trustedCertEntry)")
        context.load_verify_locations(cadata=b"".join(store.trusted))


def _load_own_certificate(context: ssl.SSLContext, properties: Mapping[str, str]) -> None:
    location = properties.get("ssl.keystore.location")
    chain = properties.get("ssl.keystore.certificate.chain")
    password = properties.get("ssl.key.password")
    if chain is not None:
        key = properties.get("ssl.keystore.key", "")
        text = pem.in_lines(f"{chain}\n{key}")
        names = ("ssl.keystore.certificate.chain", "ssl.keystore.key")
        _load_chain(context, text, password, names)
        return
    if not location:
        return
    name = f"ssl.keystore.location={location}"
    content = _content(name, location)
    if _is_pem(content, properties, "ssl.keystore"):
        text = pem.in_lines(content.decode("utf-8", "replace"))
        _load_chain(context, text, password, (name, name))
        return
    store_password = properties.get("ssl.keystore.password")
    with _naming(name, "ssl.keystore.password", properties):
        if store_password is None:
            # Kafka, too, asks for it, whatever the form.
            raise SourceError(f"{name}: it has a password: ssl.keystore.password is needed")
        store = _java_store(name, content, store_password)
        if not store.keys:
            raise SourceError(f"{name}: no private key is in it (PrivateKeyEntry)")
        stored = store.keys[0]
        der = stored.reveal(store_password if password is None else password)
    text = "".join(
        [*(pem.block("CERTIFICATE", each) for each in stored.chain), pem.block("PRIVATE KEY", der)]
    )
    _load_chain(context, text, None, (name, name))


def _load_chain(context: ssl.SSLContext, text: str, password: str | None, names: tuple[str, str]) -> None:
    """Certificates and their key, in PEM; `names` are those of the properties with the one and the other."""
    chain_name, key_name = names
    is_encrypted = False

    def ask() -> str:
        nonlocal is_encrypted
        is_encrypted = True
        return password or ""  # with None, OpenSSL would ask the terminal

    with _naming(chain_name), _secret_file(text) as path:
        try:
            context.load_cert_chain(path, password=ask)
        except ssl.SSLError as error:
            if error.reason == _MISMATCH:
                raise SourceError(f"{key_name}: the key is not that of the certificate") from error
            if is_encrypted and not password:
                raise SourceError(
                    f"{key_name}: the key has a password: ssl.key.password is needed"
                ) from error
            if is_encrypted:
                raise SourceError(f"{key_name}: ssl.key.password is wrong for the key") from error
            raise


@contextmanager
def _secret_file(text: str) -> Iterator[str]:
    """A path that has this text while the block runs: the ssl module reads keys from files only.

    In memory where Linux can have files there, else one that nobody else may read.
    """
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        with os.fdopen(os.memfd_create("kgroup"), "w") as file:
            file.write(text)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as store:
        store.write(text)
        store.flush()
        yield store.name


def _content(name: str, location: str) -> bytes:
    with _naming(name):
        path = Path(location)
        if path.exists() and not path.is_file() and not path.is_dir():
            raise SourceError(f"{name}: not a regular file")
        with path.open("rb") as file:
            content = file.read(_STORE_BYTES_MAX + 1)
    if len(content) > _STORE_BYTES_MAX:
        raise SourceError(f"{name}: larger than {_STORE_BYTES_MAX >> 20} MB: is it a key store?")
    return content


def _is_pem(content: bytes, properties: Mapping[str, str], name: str) -> bool:
    """Raises InputError for a form that cannot be read."""
    if _BEGIN in content:
        return True
    if content.startswith((jks.MAGIC, _DER_SEQUENCE)):
        return False
    kind = properties.get(f"{name}.type", "JKS").upper()
    if kind == "PEM":
        return True  # loading it says what is wrong
    form = "JCEKS" if content.startswith(_JCEKS) else kind
    raise InputError(
        f"{name}.location={properties[f'{name}.location']}: no PEM, PKCS12 or JKS, which can be read;"
        f" to convert {form}: keytool -importkeystore -deststoretype PKCS12"
    )


def _java_store(name: str, content: bytes, password: str | None) -> jks.JavaStore:
    if content.startswith(jks.MAGIC):
        return jks.read_jks(content, password)
    from kgroup.net.connect.pkcs12 import read_pkcs12

    try:
        return read_pkcs12(content, password)
    except SourceError as error:
        raise SourceError(f"{name}: {error}") from error


@contextmanager
def _naming(
    name: str, password: str = "", properties: Mapping[str, str] = MappingProxyType({})
) -> Iterator[None]:
    """Errors inside become a SourceError that begins with the property; `password` names the store's."""
    try:
        yield
    except jks.PasswordError as error:
        wrong = "ssl.key.password" if error.of_key and "ssl.key.password" in properties else password
        if wrong not in properties:
            raise SourceError(f"{name}: it has a password: {wrong} is needed") from error
        of_what = "the private key in it" if error.of_key else "it"
        raise SourceError(f"{name}: {wrong} is wrong for {of_what}") from error
    except jks.StoreError as error:
        raise SourceError(f"{name}: {error}") from error
    except ssl.SSLError as error:
        raise SourceError(f"{name}: not valid PEM: {error_reason(error)}") from error
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror or error}") from error
