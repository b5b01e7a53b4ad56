"""Key stores that keytool and openssl made (`stores/README.md`), in a handshake as a client that has them."""

import builtins
import ssl
from pathlib import Path

import pytest

from kgroup.errors import KgroupError
from kgroup.net.connect.jks import MAGIC, StoreError, read_jks
from kgroup.net.connect.tls import tls_context
from tests.net.connect.authorities import Certified, shake_hands

STORES = Path(__file__).parent / "stores"
PASSWORD = "store pass"
KEYS = ["key.p12", "openssl.p12", "rsa.jks", "two-passwords.jks"]
TRUSTED = ["trust.p12", "trust-legacy.p12", "trust.jks"]
OURS = Certified.authority("our authority")


def of_key(name: str) -> dict[str, str]:
    properties = {"ssl.keystore.location": str(STORES / name), "ssl.keystore.password": PASSWORD}
    return properties | ({"ssl.key.password": "key pass"} if name == "two-passwords.jks" else {})


def of_trusted(name: str, password: str | None = PASSWORD) -> dict[str, str]:
    properties = {"ssl.truststore.location": str(STORES / name)}
    return properties if password is None else properties | {"ssl.truststore.password": password}


@pytest.mark.parametrize("store", KEYS)
@pytest.mark.parametrize("kind", ["PKCS12", "JKS", None])
def test_a_client_shows_the_chain_of_its_key_store_whatever_form_is_named(tmp_path, store, kind):
    """The server knows only the root, so the certificate in between has to come along."""
    server = OURS.issue("kafka-1").server(tmp_path, trusted=STORES / "root.pem")
    properties = {**of_key(store), "ssl.truststore.certificates": OURS.pem}
    if kind is not None:
        properties["ssl.keystore.type"] = kind
    shake_hands(tls_context(properties), server)


@pytest.mark.parametrize("store", TRUSTED)
def test_a_truststore_has_the_authorities(tmp_path, store):
    context = tls_context(of_trusted(store))
    [authority] = context.get_ca_certs()
    assert authority["subject"] == ((("commonName", "root"),),)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(context, OURS.issue("kafka-1").server(tmp_path))


@pytest.mark.parametrize("store", ["trust.jks", "trust-open.p12"])
def test_a_truststore_that_is_not_encrypted_needs_no_password(store):
    [authority] = tls_context(of_trusted(store, None)).get_ca_certs()
    assert authority["subject"] == ((("commonName", "root"),),)


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        *(
            (
                of_trusted(name, "wrong"),
                f"ssl.truststore.location={STORES / name}: ssl.truststore.password is wrong for it",
            )
            for name in TRUSTED
        ),
        *(
            (
                {**of_key(name), "ssl.keystore.password": "wrong"},
                f"ssl.keystore.location={STORES / name}: ssl.keystore.password is wrong for it",
            )
            for name in KEYS
        ),
        (
            {**of_key("two-passwords.jks"), "ssl.key.password": "wrong"},
            f"ssl.keystore.location={STORES}/two-passwords.jks: ssl.key.password is wrong"
            " for the private key in it",
        ),
        (
            of_trusted("trust.p12", None),
            f"ssl.truststore.location={STORES}/trust.p12: it has a password:"
            " ssl.truststore.password is needed",
        ),
        (
            {"ssl.keystore.location": str(STORES / "rsa.jks")},
            f"ssl.keystore.location={STORES}/rsa.jks: it has a password: ssl.keystore.password is needed",
        ),
        (
            {"ssl.keystore.location": str(STORES / "trust.jks"), "ssl.keystore.password": PASSWORD},
            f"ssl.keystore.location={STORES}/trust.jks: no private key is in it (PrivateKeyEntry)",
        ),
        (
            of_trusted("rsa.jks"),
            f"ssl.truststore.location={STORES}/rsa.jks: no certificate is trusted in it (trustedCertEntry)",
        ),
        (
            of_trusted("trust.jceks"),
            f"ssl.truststore.location={STORES}/trust.jceks: no PEM, PKCS12 or JKS, which can be read;"
            " to convert JCEKS: keytool -importkeystore -deststoretype PKCS12",
        ),
    ],
)
def test_what_does_not_open_is_named_with_the_property_to_look_at(properties, why):
    with pytest.raises(KgroupError) as refusal:
        tls_context(properties)
    assert str(refusal.value) == why


def test_a_key_without_a_password_of_its_own_has_the_stores():
    """Kafka: `ssl.key.password` is that of the store unless given."""
    properties = of_key("two-passwords.jks")
    del properties["ssl.key.password"]
    with pytest.raises(
        KgroupError, match=r"two-passwords\.jks: ssl\.keystore\.password is wrong for the private key"
    ):
        tls_context(properties)


@pytest.mark.parametrize("store", ["rsa.jks", "trust.jks"])
def test_any_prefix_of_a_store_is_refused_in_words(store):
    content = (STORES / store).read_bytes()
    for size in range(len(MAGIC), len(content)):
        for password in (None, PASSWORD):
            with pytest.raises(StoreError):
                read_jks(content[:size], password)


@pytest.mark.parametrize("store", ["rsa.jks", "key.p12", "trust.p12"])
def test_a_store_that_is_cut_short_is_named(tmp_path, store):
    cut = tmp_path / "cut"
    cut.write_bytes((STORES / store).read_bytes()[:-50])
    with pytest.raises(
        KgroupError,
        match=rf"^ssl\.truststore\.location={cut}: (no PKCS12|ssl\.truststore\.password is wrong)",
    ):
        tls_context({"ssl.truststore.location": str(cut), "ssl.truststore.password": PASSWORD})


def test_without_its_library_a_pkcs12_store_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    tls_context(of_trusted("trust.jks"))
    with pytest.raises(KgroupError) as refusal:
        tls_context(of_trusted("trust.p12"))
    assert str(refusal.value) == (
        f"ssl.truststore.location={STORES}/trust.p12: PKCS12 is read by cryptography, which is missing here:"
        " pip install 'kgroup[pkcs12]'"
    )
