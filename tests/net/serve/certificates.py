"""Authorities, servers and clients with certificates, made with openssl for one run."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

CLIENT = "/C=DE/O=kgroup/OU=Tests, all/CN=client"
CLIENT_NAME = "User:CN=client,OU=Tests\\, all,O=kgroup,C=DE"


def openssl(*arguments: str | Path) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("no openssl on the PATH (apt-get install openssl)")
    subprocess.run([program, *map(str, arguments)], check=True, capture_output=True)


@dataclass(frozen=True)
class Certificates:
    """PEM files: `authority` signed `server` and `client`, which have their keys with them.

    `stranger` is a client's whom another authority signed.
    """

    folder: Path

    @property
    def authority(self) -> Path:
        return self.folder / "authority.pem"

    @property
    def server(self) -> Path:
        return self.folder / "server.pem"

    @property
    def client(self) -> Path:
        return self.folder / "client.pem"

    @property
    def stranger(self) -> Path:
        return self.folder / "stranger.pem"


def make_certificates(folder: Path) -> Certificates:
    folder.mkdir(exist_ok=True)
    _self_signed(folder, "authority", "/CN=authority")
    _self_signed(folder, "stranger", "/CN=stranger")
    _signed(folder, "server", "/CN=localhost", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    _signed(folder, "client", CLIENT, "extendedKeyUsage=clientAuth")
    return Certificates(folder)


def _new_key(name: Path) -> list[str | Path]:
    return [*("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout"), name]


def _self_signed(folder: Path, name: str, subject: str) -> None:
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    openssl("req", "-x509", *_new_key(key), "-subj", subject, "-days", "36500", "-out", certificate)
    if name != "authority":
        _join(certificate, key)


def _signed(folder: Path, name: str, subject: str, extension: str) -> None:
    key, request, certificate = (folder / f"{name}.{kind}" for kind in ("key", "csr", "pem"))
    openssl("req", *_new_key(key), "-subj", subject, "-out", request)
    (folder / "extensions").write_text(extension)
    openssl(
        *(
            "x509",
            "-req",
            "-in",
            request,
            "-CA",
            folder / "authority.pem",
            "-CAkey",
            folder / "authority.key",
        ),
        *("-CAcreateserial", "-days", "36500", "-extfile", folder / "extensions", "-out", certificate),
    )
    _join(certificate, key)


def _join(certificate: Path, key: Path) -> None:
    """Both in one file, which nobody else may read."""
    both = certificate.read_text() + key.read_text()
    certificate.touch(mode=0o600)
    certificate.chmod(0o600)
    certificate.write_text(both)
