"""Java's own key stores, JKS: certificates, and password-protected private keys.

The format has stood still since JDK 1.2 (OpenJDK: `sun.security.provider.JavaKeyStore`, `KeyProtector`). It
is the default of `ssl.keystore.type`, although keytool has made PKCS12 since JDK 9.
"""

import hashlib
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MAGIC: Final = b"\xfe\xed\xfe\xed"
_VERSIONS: Final = (1, 2)
_PRIVATE_KEY: Final = 1
_TRUSTED: Final = 2
_DIGEST_BYTES: Final = 20  # SHA-1
_SALT_BYTES: Final = 20
_WHITENER: Final = b"Mighty Aphrodite"
_SEQUENCE: Final = 0x30
_OCTET_STRING: Final = 0x04


class StoreError(Exception):
    """A key store that cannot be read: `str()` says why."""


class PasswordError(StoreError):
    """The store's password does not open it; `of_key`: nor the key's the key."""

    def __init__(self, why: str, *, of_key: bool = False) -> None:
        super().__init__(why)
        self.of_key = of_key


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKey:
    """A private key in PKCS #8, and the certificates for it, the key's own first; all DER.

    `reveal` gives the key for its password; it raises PasswordError for a wrong one.
    """

    chain: tuple[bytes, ...]
    reveal: Callable[[str], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaStore:
    """The entries of a store, in its order: certificates that are trusted, in DER, and keys."""

    trusted: tuple[bytes, ...]
    keys: tuple[StoredKey, ...]


def read_jks(content: bytes, password: str | None) -> JavaStore:
    """Decode a store. Without a password its digest is not looked at, as in Java.

    Raises PasswordError, and StoreError for what is cut short or no JKS.
    """
    if password is not None and not _has_digest(content, password):
        raise PasswordError("the password is wrong, or the file is damaged")
    cursor = _Cursor(content[:-_DIGEST_BYTES], len(MAGIC))
    version = cursor.u4()
    if version not in _VERSIONS:
        raise StoreError(f"JKS of version {version}: 1 and 2 are known")
    trusted: list[bytes] = []
    keys: list[StoredKey] = []
    for _ in range(cursor.u4()):
        tag = cursor.u4()
        cursor.take(cursor.u2())  # the alias
        cursor.take(8)  # the time of its making
        if tag == _TRUSTED:
            trusted.append(cursor.certificate(version))
        elif tag == _PRIVATE_KEY:
            sealed = cursor.take(cursor.u4())
            chain = tuple(cursor.certificate(version) for _ in range(cursor.u4()))
            keys.append(StoredKey(chain=chain, reveal=_revealer(sealed)))
        else:
            raise StoreError(f"an entry of kind {tag} at byte {cursor.position}")
    return JavaStore(trusted=tuple(trusted), keys=tuple(keys))


def _has_digest(content: bytes, password: str) -> bool:
    digest = hashlib.sha1(password.encode("utf-16-be") + _WHITENER + content[:-_DIGEST_BYTES]).digest()
    return digest == content[-_DIGEST_BYTES:]


def _revealer(sealed: bytes) -> Callable[[str], bytes]:
    def reveal(password: str) -> bytes:
        return _unprotected(_octets_in(sealed), password.encode("utf-16-be"))

    return reveal


def _unprotected(protected: bytes, password: bytes) -> bytes:
    """Undo `KeyProtector`: a salt, the key under a stream of chained digests, and a digest of the key."""
    if len(protected) < _SALT_BYTES + _DIGEST_BYTES:
        raise StoreError("a private key is cut short")
    salt, hidden = protected[:_SALT_BYTES], protected[_SALT_BYTES:-_DIGEST_BYTES]
    stream, link = bytearray(), salt
    while len(stream) < len(hidden):
        link = hashlib.sha1(password + link).digest()
        stream += link
    key = bytes(left ^ right for left, right in zip(hidden, stream, strict=False))
    if hashlib.sha1(password + key).digest() != protected[-_DIGEST_BYTES:]:
        raise PasswordError("the key's password is wrong", of_key=True)
    return key


def _octets_in(sealed: bytes) -> bytes:
    """The octets of an EncryptedPrivateKeyInfo (PKCS #8): a sequence of an algorithm and them."""
    cursor = _Cursor(sealed, 0)
    cursor.header(_SEQUENCE)
    cursor.take(cursor.header(_SEQUENCE))
    return cursor.take(cursor.header(_OCTET_STRING))


class _Cursor:
    """Big-endian numbers and bytes, one after the other. Raises StoreError at the end."""

    def __init__(self, content: bytes, position: int) -> None:
        self._content = content
        self.position = position

    def take(self, size: int) -> bytes:
        taken = self._content[self.position : self.position + size]
        if len(taken) < size:
            raise StoreError(f"cut short: {size} bytes at byte {self.position} go beyond the end")
        self.position += size
        return taken

    def u2(self) -> int:
        return int(struct.unpack(">H", self.take(2))[0])

    def u4(self) -> int:
        return int(struct.unpack(">I", self.take(4))[0])

    def certificate(self, version: int) -> bytes:
        if version > 1 and (kind := self.take(self.u2())) != b"X.509":
            raise StoreError(f"a certificate of type {kind.decode('utf-8', 'replace')}: X.509 is known")
        return self.take(self.u4())

    def header(self, tag: int) -> int:
        """The length in a DER header with this tag."""
        if self.take(1)[0] != tag:
            raise StoreError(f"a private key's form is not PKCS #8, at its byte {self.position}")
        first = self.take(1)[0]
        return first if first < 0x80 else int.from_bytes(self.take(first & 0x7F), "big")
