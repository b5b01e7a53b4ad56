"""A cluster with a listener of every kind, and how each client of one is set up."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kgroup.testing
from kgroup.broker.security.credentials import user_line
from kgroup.broker.security.scram import ScramCredential
from tests.net.serve.certificates import Certificates, make_certificates

USER, PASSWORD = "alice", 'wonder"land='
LISTENERS = (
    "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0,MTLS://127.0.0.1:0,SASL_SSL://127.0.0.1:0,"
    "SASL_PLAINTEXT://127.0.0.1:0"
)
MODES = ("SSL", "MTLS", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "SCRAM-SHA-256 without TLS")
OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


def listener(mode: str) -> str:
    """The listener for a mode."""
    if mode in ("SSL", "MTLS"):
        return mode
    return "SASL_PLAINTEXT" if mode.endswith("without TLS") else "SASL_SSL"


def protocol(mode: str) -> str:
    return "SSL" if mode == "MTLS" else listener(mode)


def mechanism(mode: str) -> str:
    return mode.partition(" ")[0]


def write_users(path: Path) -> Path:
    lines = [
        user_line(USER, name, ScramCredential.of_password(name, PASSWORD, b"salt of it", 4096))
        for name in ("SCRAM-SHA-256", "SCRAM-SHA-512")
    ]
    path.touch(mode=0o600)
    path.write_text("\n".join(lines))
    return path


def properties(folder: Path, certificates: Certificates) -> dict[str, str]:
    return {
        "listeners": LISTENERS,
        "listener.security.protocol.map": "MTLS:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.server),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority),
        "listener.name.mtls.ssl.client.auth": "required",
        "kgroup.users.file": str(write_users(folder / "users")),
        "oauthbearer.sasl.jaas.config": f"{OAUTH_MODULE} required;",
    }


@contextmanager
def secured(
    folder: Path, *, nodes: int = 1, more: Mapping[str, str] | None = None
) -> Iterator[tuple[kgroup.testing.Cluster, Certificates]]:
    """A running cluster with topic orders; `more` are properties besides."""
    certificates = make_certificates(folder / "certificates")
    given = properties(folder, certificates) | dict(more or {})
    with kgroup.testing.cluster(nodes=nodes, topics={"orders": 2}, properties=given) as kafka:
        yield kafka, certificates


def java(mode: str, certificates: Certificates, password: str = PASSWORD) -> dict[str, str]:
    """Java's properties for a mode, which kgroup's own commands take, too."""
    given = {"security.protocol": protocol(mode)}
    if not mode.endswith("without TLS"):
        given |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(certificates.authority)}
    if mode == "MTLS":
        given |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificates.client)}
    if mode == "OAUTHBEARER":
        given |= {
            "sasl.mechanism": mode,
            "sasl.jaas.config": f'{OAUTH_MODULE} required unsecuredLoginStringClaim_sub="{USER}";',
        }
    elif mode not in ("SSL", "MTLS"):
        module = "plain.Plain" if mode == "PLAIN" else "scram.Scram"
        escaped = password.replace('"', '\\"')
        given |= {
            "sasl.mechanism": mechanism(mode),
            "sasl.jaas.config": f"org.apache.kafka.common.security.{module}LoginModule required "
            f'username="{USER}" password="{escaped}";',
        }
    return given


def confluent(mode: str, certificates: Certificates, password: str = PASSWORD) -> dict[str, Any]:
    given: dict[str, Any] = {
        "security.protocol": protocol(mode),
        "ssl.ca.location": str(certificates.authority),
    }
    if mode == "MTLS":
        given |= {
            "ssl.certificate.location": str(certificates.client),
            "ssl.key.location": str(certificates.client),
        }
    if mode == "OAUTHBEARER":
        given |= {
            "sasl.mechanism": mode,
            "enable.sasl.oauthbearer.unsecure.jwt": True,
            "sasl.oauthbearer.config": f"principal={USER}",
        }
    elif mode not in ("SSL", "MTLS"):
        given |= {"sasl.mechanism": mechanism(mode), "sasl.username": USER, "sasl.password": password}
    return given


def kafka_python(mode: str, certificates: Certificates, password: str = PASSWORD) -> dict[str, Any]:
    given: dict[str, Any] = {
        "security_protocol": protocol(mode),
        "ssl_cafile": str(certificates.authority),
    }
    if mode == "MTLS":
        given |= {"ssl_certfile": str(certificates.client), "ssl_keyfile": str(certificates.client)}
    if mode not in ("SSL", "MTLS"):
        given |= {
            "sasl_mechanism": mechanism(mode),
            "sasl_plain_username": USER,
            "sasl_plain_password": password,
        }
    return given
