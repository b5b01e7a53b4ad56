"""TLS as Java's `ssl.*` properties say it: who is believed, and with what one shows oneself."""

import ssl
from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.java_properties import parse_properties
from kgroup.net.connect.tls import tls_context
from tests.net.connect.authorities import EXPIRED, Certified, shake_hands

OURS = Certified.authority("our authority")
SYSTEMS = Certified.authority("an authority that the system knows")


@pytest.fixture
def system_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenSSL takes what SSL_CERT_FILE names for the system's authorities."""
    store = tmp_path / "system.pem"
    store.write_text(SYSTEMS.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(store))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))


def in_file(folder: Path, pem: str) -> dict[str, str]:
    store = folder / "trusted.pem"
    store.write_text(pem)
    return {"ssl.truststore.location": str(store)}


def inline(folder: Path, pem: str) -> dict[str, str]:
    return {"ssl.truststore.certificates": pem}


@pytest.mark.usefixtures("system_knows")
@pytest.mark.parametrize("given", [in_file, inline])
def test_a_truststore_stands_in_place_of_the_systems_authorities(given, tmp_path):
    context = tls_context(given(tmp_path, OURS.pem))
    shake_hands(context, OURS.issue("kafka-1").server(tmp_path))
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(context, SYSTEMS.issue("kafka-1").server(tmp_path))


@pytest.mark.usefixtures("system_knows")
def test_without_a_truststore_the_systems_authorities_count(tmp_path):
    shake_hands(tls_context({}), SYSTEMS.issue("kafka-1").server(tmp_path))
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(tls_context({}), OURS.issue("kafka-1").server(tmp_path))


def test_whatever_is_in_a_truststore_is_an_anchor_as_in_java(tmp_path):
    """A certificate in between is enough: PKIX in Java asks for no root."""
    between = Certified.authority("in between", signed_by=OURS)
    context = tls_context({"ssl.truststore.certificates": between.pem})
    shake_hands(context, between.issue("kafka-1").server(tmp_path))
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(context, OURS.issue("kafka-1").server(tmp_path))


def as_a_properties_file_has_it(pem: str, end: str) -> str:
    """Lines that go on: what is left is one line, without the white space that the next one begins with."""
    lines = "".join(f"  {line}{end}\\\n" for line in pem.strip().splitlines())
    return parse_properties(f"name={lines}\n")["name"]


@pytest.mark.parametrize("end", [" ", "\\n", "\t ", ""])
def test_pem_in_a_properties_file_may_go_on_in_the_next_line(tmp_path, end):
    """KIP-651: certificates, their chain and an encrypted key as values."""
    client = OURS.issue("me")
    properties = {
        "ssl.truststore.certificates": SYSTEMS.pem + OURS.pem,
        "ssl.keystore.certificate.chain": client.pem,
        "ssl.keystore.key": client.key_pem("wonder land"),
    }
    properties = {name: as_a_properties_file_has_it(pem, end) for name, pem in properties.items()}
    assert end == "\\n" or not any("\n" in value for value in properties.values())
    context = tls_context({**properties, "ssl.key.password": "wonder land"})
    assert len(context.get_ca_certs()) == 2
    shake_hands(context, OURS.issue("kafka-1").server(tmp_path, trusted=OURS))


def test_pem_in_files_may_have_words_around_it(tmp_path):
    """As `openssl x509 -text` and `openssl pkcs12` write it, in whatever encoding."""
    store = tmp_path / "trusted.pem"
    store.write_bytes(
        "Bag Attributes\n  naïve: 漢\n".encode() + OURS.pem.encode() + b"\xff\n" + SYSTEMS.pem.encode()
    )
    assert len(tls_context({"ssl.truststore.location": str(store)}).get_ca_certs()) == 2


@pytest.mark.parametrize("algorithm", ["https", ""])
def test_an_expired_certificate_is_refused_whether_or_not_hosts_are_looked_at(tmp_path, algorithm):
    properties = {
        "ssl.truststore.certificates": OURS.pem,
        "ssl.endpoint.identification.algorithm": algorithm,
    }
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"):
        shake_hands(tls_context(properties), OURS.issue("kafka-1", until=EXPIRED).server(tmp_path))


@pytest.mark.parametrize(("host", "other"), [("kafka-1", "kafka-2"), ("127.0.0.1", "127.0.0.2")])
def test_a_certificate_for_another_host_is_refused_unless_hosts_are_not_looked_at(tmp_path, host, other):
    server = OURS.issue(other).server(tmp_path)
    properties = {"ssl.truststore.certificates": OURS.pem}
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        shake_hands(tls_context(properties), server, host)
    anywhere = tls_context({**properties, "ssl.endpoint.identification.algorithm": ""})
    assert anywhere.verify_mode is ssl.CERT_REQUIRED
    shake_hands(anywhere, server, host)


@pytest.mark.parametrize("password", [None, "wonder land"])
@pytest.mark.parametrize("where", ["file", "properties"])
def test_a_client_shows_its_certificate(tmp_path, password, where):
    client = OURS.issue("me")
    properties = {"ssl.truststore.certificates": OURS.pem}
    if where == "file":
        store = tmp_path / "client.pem"
        store.write_text(client.pem + client.key_pem(password))
        properties["ssl.keystore.location"] = str(store)
    else:
        properties["ssl.keystore.certificate.chain"] = client.pem
        properties["ssl.keystore.key"] = client.key_pem(password)
    if password is not None:
        properties["ssl.key.password"] = password
    server = OURS.issue("kafka-1").server(tmp_path, trusted=OURS)
    shake_hands(tls_context(properties), server)
    with pytest.raises(ssl.SSLError):
        shake_hands(tls_context({"ssl.truststore.certificates": OURS.pem}), server)


@pytest.mark.parametrize(
    ("password", "why"),
    [
        ("wrong", "ssl.key.password is wrong for the key"),
        (None, "the key has a password: ssl.key.password is needed"),
    ],
)
@pytest.mark.parametrize("where", ["file", "properties"])
def test_a_wrong_password_of_a_key_is_called_that(tmp_path, password, why, where):
    client = OURS.issue("me")
    if where == "file":
        store = tmp_path / "client.pem"
        store.write_text(client.pem + client.key_pem("right"))
        properties, name = {"ssl.keystore.location": str(store)}, f"ssl.keystore.location={store}"
    else:
        properties = {
            "ssl.keystore.certificate.chain": client.pem,
            "ssl.keystore.key": client.key_pem("right"),
        }
        name = "ssl.keystore.key"
    if password is not None:
        properties["ssl.key.password"] = password
    with pytest.raises(SourceError) as refusal:
        tls_context(properties)
    assert str(refusal.value) == f"{name}: {why}"


def test_a_key_of_another_certificate_is_called_that(tmp_path):
    store = tmp_path / "client.pem"
    store.write_text(OURS.issue("me").pem + OURS.issue("you").key_pem())
    with pytest.raises(SourceError, match="the key is not that of the certificate"):
        tls_context({"ssl.keystore.location": str(store)})


def test_tls_checks_the_host_unless_told_not_to():
    assert tls_context({}).check_hostname
    anywhere = tls_context({"ssl.endpoint.identification.algorithm": ""})
    assert not anywhere.check_hostname
    assert anywhere.verify_mode is ssl.CERT_REQUIRED
