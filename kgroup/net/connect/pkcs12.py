"""PKCS12 key stores as keytool and openssl write them, read with the library `cryptography`."""

from kgroup.errors import SourceError
from kgroup.net.connect.jks import JavaStore, PasswordError, StoredKey, StoreError


def read_pkcs12(content: bytes, password: str | None) -> JavaStore:
    """Decode a store. Keys and store have one password; what is no key's certificate is trusted.

    Raises PasswordError, StoreError for what is none, and SourceError without the library.
    """
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
        from cryptography.x509 import Certificate
    except ImportError as error:
        raise SourceError(
            "PKCS12 is read by cryptography, which is missing here: pip install 'kgroup[pkcs12]'"
        ) from error
    try:
        store = load_pkcs12(content, None if password is None else password.encode())
    except (ValueError, UnsupportedAlgorithm, TypeError) as error:
        if "password" in str(error).lower():
            raise PasswordError("the password is wrong, or the file is damaged") from error
        raise StoreError(f"no PKCS12 that can be read: {error}") from error

    def der(certificate: Certificate) -> bytes:
        return certificate.public_bytes(Encoding.DER)

    others = [each.certificate for each in store.additional_certs]
    if store.key is None or store.cert is None:
        alone = [] if store.cert is None else [store.cert.certificate]
        return JavaStore(trusted=tuple(map(der, [*alone, *others])), keys=())
    chain = [store.cert.certificate]
    while chain[-1].issuer != chain[-1].subject:  # ends: each certificate is taken once
        issuer = next((each for each in others if each.subject == chain[-1].issuer), None)
        if issuer is None:
            break
        others.remove(issuer)
        chain.append(issuer)
    key = store.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    stored = StoredKey(chain=tuple(map(der, chain)), reveal=lambda _: key)
    return JavaStore(trusted=tuple(map(der, others)), keys=(stored,))
