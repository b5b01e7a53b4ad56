"""Who comes in by which listener, as whom, and what becomes of those who do not get that far."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin.configs import DescribeConfigsRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

import kgroup.testing
from kgroup.broker.security.listeners import USERS_FILE, ListenerPlan, Protocol
from kgroup.net.serve.doors import open_doors
from kgroup.net.serve.server import LOGIN_S
from kgroup.protocol.error_codes import ErrorCode as E
from tests.net.serve.certificates import CLIENT_NAME, Certificates
from tests.net.serve.secured import PASSWORD, USER, secured, write_users
from tests.net.wire_client import WireClient

ACLS = f"""
allow User:{USER} DESCRIBE topic orders
allow "{CLIENT_NAME.replace(chr(92), chr(92) * 2)}" READ topic pay prefixed
"""
Secured = tuple[kgroup.testing.Cluster, Certificates]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Secured]:
    (tmp_path / "acls").write_text(ACLS)
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_bob="builder";'
    more = {
        "kgroup.acls.file": str(tmp_path / "acls"),
        "super.users": "User:root;User:ANONYMOUS",
        "connection.failed.authentication.delay.ms": "0",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": jaas,
    }
    with secured(tmp_path, more=more) as running:
        running[0].create_partitions("orders", 3)
        yield running


def address(kafka: kgroup.testing.Cluster, listener: str) -> tuple[str, int]:
    host, _, port = kafka.bootstrap_of(listener).rpartition(":")
    return host, int(port)


def tls(certificates: Certificates, own: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(certificates.authority))
    if own is not None:
        context.load_cert_chain(own)
    return context


def topics(client: WireClient) -> list[str]:
    """What the client may see."""
    return [topic.name for topic in client.ask(MetadataRequest(version=9, topics=None)).topics]


def log_in(client: WireClient, token: bytes, mechanism: str = "PLAIN") -> Any:
    client.ask(SaslHandshakeRequest(version=1, mechanism=mechanism))
    return client.ask(SaslAuthenticateRequest(version=2, auth_bytes=token))


def test_a_certificate_names_its_owner_as_java_writes_it(cluster: Secured) -> None:
    kafka, certificates = cluster
    with WireClient(address(kafka, "PLAINTEXT")) as root:
        each = MetadataRequest.MetadataRequestTopic(version=9, name="payments")
        root.ask(MetadataRequest(version=9, topics=[each], allow_auto_topic_creation=True))
        assert topics(root) == ["orders", "payments"], "nobody special is a super user here"
    with WireClient(address(kafka, "MTLS"), tls=tls(certificates, certificates.client)) as client:
        assert topics(client) == ["payments"]


def test_without_a_certificate_where_one_is_required_nobody_comes_in(cluster: Secured) -> None:
    kafka, certificates = cluster
    for own in (None, certificates.stranger):
        with (
            pytest.raises((ssl.SSLError, ConnectionError)),  # with TLS 1.3 the first read says so
            WireClient(address(kafka, "MTLS"), tls=tls(certificates, own)) as client,
        ):
            client.ask(ApiVersionsRequest(version=0))


def test_a_login_gives_its_user_the_users_rights(cluster: Secured) -> None:
    kafka, certificates = cluster
    with WireClient(address(kafka, "SASL_SSL"), tls=tls(certificates)) as client:
        answer = log_in(client, f"\0{USER}\0{PASSWORD}".encode())
        assert (answer.error_code, answer.session_lifetime_ms) == (E.NONE, 0)
        assert topics(client) == ["orders"]
        again = client.ask(SaslHandshakeRequest(version=1, mechanism="PLAIN"))
        assert again.error_code == E.ILLEGAL_SASL_STATE
        again = client.ask(SaslAuthenticateRequest(version=2, auth_bytes=b""))
        assert again.error_code == E.ILLEGAL_SASL_STATE


def test_users_of_a_jaas_entry_are_those_of_its_listener(cluster: Secured) -> None:
    kafka, certificates = cluster
    with WireClient(address(kafka, "SASL_PLAINTEXT")) as client:
        assert log_in(client, b"\0bob\0builder").error_code == E.NONE
        assert topics(client) == [], "with no acl of his"
    with WireClient(address(kafka, "SASL_SSL"), tls=tls(certificates)) as client:
        assert log_in(client, b"\0bob\0builder").error_code == E.SASL_AUTHENTICATION_FAILED


def test_a_wrong_password_is_answered_and_then_the_connection_closed(cluster: Secured) -> None:
    kafka, _ = cluster
    with WireClient(address(kafka, "SASL_PLAINTEXT")) as client:
        answer = log_in(client, f"\0{USER}\0wrong".encode())
        assert answer.error_code == E.SASL_AUTHENTICATION_FAILED
        assert answer.error_message == "Authentication failed: Invalid username or password"
        assert client.is_closed_by_peer()


def test_before_the_login_only_versions_may_be_asked(cluster: Secured) -> None:
    kafka, _ = cluster
    with WireClient(address(kafka, "SASL_PLAINTEXT")) as client:
        assert client.ask(ApiVersionsRequest(version=0)).error_code == E.NONE
        client.send(MetadataRequest(version=0, topics=[]))
        assert client.is_closed_by_peer()


def test_after_the_login_frames_may_be_large(cluster: Secured) -> None:
    kafka, certificates = cluster
    each = MetadataRequest.MetadataRequestTopic
    many = [each(version=9, name=f"{number:0200}") for number in range(3000)]
    with WireClient(address(kafka, "SASL_SSL"), tls=tls(certificates)) as client:
        log_in(client, f"\0{USER}\0{PASSWORD}".encode())
        answered = client.ask(MetadataRequest(version=9, topics=many)).topics
        assert {topic.error_code for topic in answered} == {E.TOPIC_AUTHORIZATION_FAILED}


def test_before_the_login_frames_are_small(cluster: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka's sasl.server.max.receive.size: strangers fill nobody's memory."""
    monkeypatch.setattr("kgroup.net.serve.server.LOGIN_S", 1e9)
    kafka, _ = cluster
    with WireClient(address(kafka, "SASL_PLAINTEXT")) as client:
        client.send_bytes((524_289).to_bytes(4, "big"))
        assert client.is_closed_by_peer()


def test_what_speaks_no_tls_is_hung_up_on_and_others_served(cluster: Secured) -> None:
    kafka, certificates = cluster
    with WireClient(address(kafka, "SSL")) as client:
        client.send_bytes(b"\0\0\0\x10" + bytes(16))
        assert client._answers.read() in (
            b"",
            b"\x15\x03\x01\x00\x02\x02\x46",
            b"\x15\x03\x03\x00\x02\x02\x46",
        )
    with WireClient(address(kafka, "SSL"), tls=tls(certificates)) as client:
        assert client.ask(ApiVersionsRequest(version=0)).error_code == E.NONE


def test_who_says_nothing_has_its_time_and_no_more(cluster: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka, _ = cluster
    with (
        WireClient(address(kafka, "SASL_PLAINTEXT")) as silent,
        WireClient(address(kafka, "SASL_PLAINTEXT")) as known,
    ):
        silent.ask(ApiVersionsRequest(version=0))
        known.ask(ApiVersionsRequest(version=0))
        log_in(known, f"\0{USER}\0{PASSWORD}".encode())
        kafka._call(kafka._running._close_idle)
        assert silent.ask(SaslHandshakeRequest(version=1, mechanism="PLAIN")).error_code == E.NONE
        monkeypatch.setattr("kgroup.net.serve.server.LOGIN_S", -1.0)
        kafka._call(kafka._running._close_idle)
        assert silent.is_closed_by_peer()
        assert topics(known) == ["orders"]


def test_who_goes_on_talking_gets_no_more_time_to_log_in(cluster: Secured) -> None:
    kafka, _ = cluster
    with WireClient(address(kafka, "SASL_PLAINTEXT")) as talking:
        talking.ask(ApiVersionsRequest(version=0))
        (stranger,) = kafka._running.nodes[1].strangers.values()
        stranger.connected_s -= LOGIN_S + 1  # and it has been heard of since
        kafka._call(kafka._running._close_idle)
        with pytest.raises(ConnectionError):  # at once, not when it has been silent for as long
            talking.ask(SaslHandshakeRequest(version=1, mechanism="PLAIN"))


@pytest.mark.parametrize(
    ("given", "lifetimes_ms"),
    [
        ({}, (0, 0)),
        ({"connections.max.reauth.ms": "60000"}, (60_000, 60_000)),
        ({"scram-sha-512.connections.max.reauth.ms": "5000"}, (0, 5000)),
        (
            {"connections.max.reauth.ms": "60000", "scram-sha-512.connections.max.reauth.ms": "5000"},
            (60_000, 5000),
        ),
    ],
)
def test_a_mechanism_has_its_own_session_lifetime_or_that_of_all(
    tmp_path: Path, given: dict[str, str], lifetimes_ms: tuple[int, int]
) -> None:
    """KIP-368; Kafka's prefix is the mechanism in small letters."""
    users = {
        USERS_FILE: str(write_users(tmp_path / "users")),
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
    }
    plan = ListenerPlan(protocol=Protocol.SASL_PLAINTEXT, properties=users | given)
    (door,) = open_doors((plan,), pytest.fail)
    assert door.login is not None
    assert door.login.lifetimes_ms == dict(zip(("SCRAM-SHA-256", "SCRAM-SHA-512"), lifetimes_ms, strict=True))


def test_of_too_many_strangers_the_oldest_gives_way(
    cluster: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgroup.net.serve.server._STRANGERS_MAX", 2)
    kafka, _ = cluster
    with ExitStack() as stack:
        clients = [stack.enter_context(WireClient(address(kafka, "SASL_PLAINTEXT"))) for _ in range(2)]
        for client in clients:
            client.ask(ApiVersionsRequest(version=0))
        newest = stack.enter_context(WireClient(address(kafka, "SASL_PLAINTEXT")))
        assert clients[0].is_closed_by_peer()
        assert newest.ask(ApiVersionsRequest(version=0)).error_code == E.NONE
        log_in(clients[1], f"\0{USER}\0{PASSWORD}".encode())
        another = stack.enter_context(WireClient(address(kafka, "SASL_PLAINTEXT")))
        another.ask(ApiVersionsRequest(version=0))
        assert topics(clients[1]) == ["orders"], "who has logged in is none any more"


def test_half_a_handshake_ends(cluster: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgroup.net.serve.listener.HANDSHAKE_S", 0.01)
    kafka, _ = cluster
    with socket.create_connection(address(kafka, "SSL"), 30) as silent:
        assert silent.recv(1) == b""


def test_of_too_many_handshakes_the_oldest_gives_way(
    cluster: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgroup.net.serve.listener._HANDSHAKES_MAX", 2)
    kafka, certificates = cluster
    silent = [socket.create_connection(address(kafka, "SSL"), 30) for _ in range(3)]
    assert silent[0].recv(1) == b""
    with WireClient(address(kafka, "SSL"), tls=tls(certificates)) as client:
        assert client.ask(ApiVersionsRequest(version=0)).error_code == E.NONE
    assert silent[1].recv(1) == b""
    for each in silent:
        each.close()


def test_secrets_are_not_among_the_settings_that_are_told(cluster: Secured) -> None:
    kafka, _ = cluster
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        version=4, resource_type=4, resource_name="1", configuration_keys=None
    )
    with WireClient(address(kafka, "PLAINTEXT")) as root:
        request = DescribeConfigsRequest(
            version=4, resources=[resource], include_synonyms=False, include_documentation=False
        )
        configs = {each.name: each for each in root.ask(request).results[0].configs}
    secret = [each for each in configs.values() if each.name.endswith("jaas.config")]
    assert secret and all(each.is_sensitive and each.value is None for each in secret)
    assert not any("builder" in (each.value or "") for each in configs.values())
