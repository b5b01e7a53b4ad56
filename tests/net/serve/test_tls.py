"""A server's TLS from Kafka's properties: which stores it takes, and what it says to those it does not."""

import os
import ssl
from pathlib import Path

import pytest

from kgroup.errors import InputError, KgroupError, SourceError
from kgroup.net.serve.tls import server_context, warn_if_others_may_read
from tests.net.serve.certificates import Certificates, make_certificates, openssl


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    made = make_certificates(tmp_path_factory.mktemp("certificates"))
    key, locked = made.folder / "server.key", made.folder / "locked.key"
    openssl("pkcs8", "-topk8", "-in", key, "-out", locked, "-passout", "pass:sesame")
    return made


def unwarned(text: str) -> None:
    raise AssertionError(text)


def chain(certificates: Certificates) -> str:
    pem = certificates.server.read_text()
    return pem[: pem.index("-----BEGIN PRIVATE")]


def test_certificate_and_key_may_stand_in_the_properties(certificates: Certificates) -> None:
    inline = {
        "ssl.keystore.certificate.chain": chain(certificates),
        "ssl.keystore.key": (certificates.folder / "locked.key").read_text(),
        "ssl.key.password": "sesame",
        "ssl.truststore.certificates": certificates.authority.read_text(),
        "ssl.client.auth": "requested",
    }
    context = server_context(inline, unwarned)
    assert context.verify_mode is ssl.CERT_OPTIONAL
    with pytest.raises(SourceError) as refused:
        server_context(inline | {"ssl.key.password": "wrong"}, unwarned)
    assert str(refused.value).startswith("ssl.keystore.certificate.chain: ")
    assert "wrong" not in str(refused.value)


def test_tls_versions(certificates: Certificates) -> None:
    location = {"ssl.keystore.location": str(certificates.server)}
    both = server_context(location, unwarned)
    assert (both.minimum_version, both.maximum_version) == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    new = server_context(location | {"ssl.enabled.protocols": " TLSv1.3 "}, unwarned)
    assert new.minimum_version is ssl.TLSVersion.TLSv1_3


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        (
            {"ssl.keystore.key": "x"},
            "ssl.keystore.certificate.chain is missing; certificate and key go together",
        ),
        (
            {"ssl.keystore.certificate.chain": "x"},
            "ssl.keystore.key is missing; certificate and key go together",
        ),
        ({"ssl.client.auth": "needed"}, "ssl.client.auth=needed: none, requested or required"),
        (
            {"ssl.client.auth": "required"},
            "ssl.client.auth needs ssl.truststore.location, who signs the clients' certificates",
        ),
        ({"ssl.truststore.type": "PKCS12"}, "ssl.truststore.type=PKCS12: serve reads PEM only"),
        (
            {"ssl.principal.mapping.rules": "RULE:^CN=(.*?),.*$/$1/"},
            "ssl.principal.mapping.rules: kgroup can do DEFAULT only",
        ),
        (
            {"ssl.client.auth": "required", "ssl.truststore.location": "/dev/zero"},
            "ssl.truststore.location=/dev/zero: not a regular file",
        ),
    ],
)
def test_what_makes_no_sense_is_named(
    certificates: Certificates, properties: dict[str, str], why: str
) -> None:
    with pytest.raises((InputError, SourceError)) as refused:
        server_context({"ssl.keystore.location": str(certificates.server)} | properties, unwarned)
    assert str(refused.value) == why


def test_an_encrypted_key_without_its_password_asks_no_terminal(certificates: Certificates) -> None:
    store = certificates.folder / "locked.pem"
    store.write_text(chain(certificates) + (certificates.folder / "locked.key").read_text())
    store.chmod(0o600)
    with pytest.raises(KgroupError, match=r"locked\.pem: "):
        server_context({"ssl.keystore.location": str(store)}, unwarned)


def test_secrets_that_others_may_read_are_named(tmp_path: Path) -> None:
    warnings: list[str] = []
    file = tmp_path / "key.pem"
    file.write_text("secret")
    for mode, warned in ((0o600, False), (0o400, False), (0o640, True), (0o604, True)):
        warnings.clear()
        file.chmod(mode)
        warn_if_others_may_read(file, warnings.append)
        assert bool(warnings) is warned
    assert warnings == [f"{file} has secrets, and others may read it; chmod 600 makes it private"]
    warn_if_others_may_read(tmp_path / "nowhere", unwarned)
    warn_if_others_may_read(Path(os.devnull), unwarned)
