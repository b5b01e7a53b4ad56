"""Certificate authorities that a test makes, and handshakes in memory between a client and a server."""

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

LONG_AGO = datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)
LONG_HENCE = datetime.datetime(2101, 1, 1, tzinfo=datetime.UTC)
EXPIRED = datetime.datetime(2002, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Certified:
    """A key and the certificate that an authority gave for it."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def authority(cls, name: str, signed_by: "Certified | None" = None) -> Self:
        return cls._made(name, signed_by, [], is_authority=True, until=LONG_HENCE)

    def issue(self, *hosts: str, until: datetime.datetime = LONG_HENCE) -> "Certified":
        return Certified._made(hosts[0], self, hosts, is_authority=False, until=until)

    @classmethod
    def _made(
        cls,
        name: str,
        signed_by: "Certified | None",
        hosts: tuple[str, ...] | list[str],
        *,
        is_authority: bool,
        until: datetime.datetime,
    ) -> Self:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        issuer_key = key if signed_by is None else signed_by.key
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject if signed_by is None else signed_by.certificate.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(LONG_AGO)
            .not_valid_after(until)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
            )
        )
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_alternative(host) for host in hosts]), critical=False
            )
        return cls(key, builder.sign(issuer_key, hashes.SHA256()))

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def key_pem(self, password: str | None = None) -> str:
        encryption = NoEncryption() if password is None else BestAvailableEncryption(password.encode())
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()

    def server(self, folder: Path, trusted: "Certified | Path | None" = None) -> ssl.SSLContext:
        """The context of a server with this certificate, which asks for one if it trusts somebody's."""
        store = folder / f"server-{self.certificate.serial_number}.pem"
        store.write_text(self.pem + self.key_pem())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(store)
        if trusted is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            pem = trusted.read_text() if isinstance(trusted, Path) else trusted.pem
            context.load_verify_locations(cadata=pem)
        return context


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext, host: str = "kafka-1") -> None:
    """Raises what the side raises that refuses."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname=host),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while sides:
        for side in list(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            sides.remove(side)
