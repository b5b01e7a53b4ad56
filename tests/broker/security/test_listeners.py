"""Listeners by Kafka's properties: addresses, names, each one's own settings, and which are secure."""

import pytest

from kgroup.broker.security.listeners import (
    ListenerPlan,
    Protocol,
    is_loopback,
    is_secret,
    is_used,
    read_listeners,
)
from kgroup.errors import InputError


def test_names_stand_for_protocols_and_have_settings_of_their_own() -> None:
    properties = {
        "listener.security.protocol.map": "IN:SSL,out:SASL_SSL,PLAINTEXT:PLAINTEXT",
        "ssl.client.auth": "none",
        "listener.name.in.ssl.client.auth": "required",
        "advertised.listeners": "OUT://kafka.example:443",
    }
    inside, outside = read_listeners("in://[::1]:9093, OUT://:9192", properties, nodes=3)
    assert (inside.name, inside.protocol, inside.host, inside.port) == ("IN", Protocol.SSL, "::1", 9093)
    assert (outside.protocol, outside.host, outside.port) == (Protocol.SASL_SSL, "127.0.0.1", 9192)
    assert inside.properties["ssl.client.auth"] == "required"
    assert outside.properties["ssl.client.auth"] == "none"
    assert inside.at(2) == ("::1", 9095)
    assert (inside.told(2), outside.told(2)) == (None, ("kafka.example", 445))


def test_the_settings_file_that_comes_with_kafka() -> None:
    """Its second listener is a controller's, which there is none of here."""
    properties = {
        "controller.listener.names": "CONTROLLER",
        "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
    }
    [plan] = read_listeners("PLAINTEXT://:9092,CONTROLLER://:9093", properties)
    assert (plan.name, plan.host, plan.port, plan.advertised) == (
        "PLAINTEXT",
        "127.0.0.1",
        9092,
        ("localhost", 9092),
    )


def test_free_ports_are_free_on_every_node() -> None:
    [plan] = read_listeners("PLAINTEXT://127.0.0.1:0", {}, nodes=3)
    assert {plan.at(index) for index in range(3)} == {("127.0.0.1", 0)}


def test_free_ports_of_two_listeners_are_not_the_same() -> None:
    plans = read_listeners("PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0", {}, nodes=3)
    assert [plan.at(0)[1] for plan in plans] == [0, 0]


def test_the_last_node_may_have_the_last_port() -> None:
    [plan] = read_listeners("PLAINTEXT://127.0.0.1:65533", {}, nodes=3)
    assert plan.at(2) == ("127.0.0.1", 65_535)


@pytest.mark.parametrize(
    ("text", "properties", "why"),
    [
        ("", {}, "listeners: give NAME://HOST:PORT, like SASL_SSL://127.0.0.1:9093"),
        ("SSL://a", {}, "listeners: 'SSL://a' is not NAME://HOST:PORT"),
        ("SSL://a:65536", {}, "listeners: 'SSL://a:65536' is not NAME://HOST:PORT"),
        ("://a:1", {}, "listeners: '://a:1' is not NAME://HOST:PORT"),
        ("SSL://a:65535", {}, "listeners: 3 nodes would have ports up to 65537"),
        ("SSL://a:65534", {}, "listeners: 3 nodes would have ports up to 65536"),
        ("SSL://a:1,PLAINTEXT://b:3", {}, "listeners: SSL and PLAINTEXT would both have port 3 with 3 nodes"),
        (
            "SSL://a:1",
            {"listener.security.protocol.map": "SSL"},
            "listener.security.protocol.map: 'SSL' is not NAME:PROTOCOL",
        ),
    ],
)
def test_what_makes_no_sense(text: str, properties: dict[str, str], why: str) -> None:
    with pytest.raises(InputError) as refused:
        read_listeners(text, properties, nodes=3)
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("protocol", "auth", "danger"),
    [
        ("PLAINTEXT", "required", "PLAINTEXT lets anybody in"),
        ("SSL", "none", "SSL without ssl.client.auth=required lets anybody in"),
        ("SSL", "requested", "SSL without ssl.client.auth=required lets anybody in"),
        ("SSL", "required", None),
        ("SASL_PLAINTEXT", "required", "SASL_PLAINTEXT does not encrypt"),
        ("SASL_SSL", "none", None),
    ],
)
def test_secure_is_what_authenticates_and_encrypts(protocol: str, auth: str, danger: str | None) -> None:
    plan = ListenerPlan(protocol=Protocol(protocol), properties={"ssl.client.auth": auth})
    assert plan.danger == danger


def test_only_this_machine_reaches_loopback_addresses() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "kafka", "127.0.0.1.example")))


def test_secrets_and_settings_are_known_with_every_prefix() -> None:
    jaas = "listener.name.sasl_ssl.plain.sasl.jaas.config"
    assert is_secret(jaas) and is_used(jaas)
    assert is_secret("ssl.key.password") and is_secret("listener.name.in.ssl.keystore.key")
    assert not is_secret("ssl.keystore.location") and is_used("listener.name.in.ssl.keystore.location")
    assert not is_used("log.dirs") and not is_used("listener.name.in.log.dirs")


@pytest.mark.parametrize(
    ("enabled", "is_danger"), [("", True), ("SCRAM-SHA-512, OAUTHBEARER", True), ("SCRAM-SHA-512", False)]
)
def test_unsecured_tokens_let_anybody_in(enabled: str, is_danger: bool) -> None:
    properties = {
        "oauthbearer.sasl.jaas.config": "x.OAuthBearerLoginModule required;",
        "sasl.enabled.mechanisms": enabled,
    }
    plan = ListenerPlan(protocol=Protocol.SASL_SSL, properties=properties)
    why = "SASL_SSL with OAUTHBEARER takes unsecured tokens, so it lets anybody in"
    assert plan.danger == (why if is_danger else None)
