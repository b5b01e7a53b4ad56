"""Who may do what: Kafka's StandardAuthorizer, rule by rule."""

from typing import Any

import pytest

from kgroup.broker.security.acls import Operation, ResourceType, parse_acls
from kgroup.broker.security.authorizer import Authorizer
from kgroup.wire.frames import Call, Sender

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
READ, WRITE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.DESCRIBE


def call(principal: str = "User:alice", host: str = "10.0.0.1") -> Call:
    return Call(
        token=1,
        api_key=0,
        version=0,
        correlation_id=0,
        client_id="",
        client_host=f"/{host}",
        body=None,
        sender=Sender(principal=principal),
    )


def authorizer(*rules: str, **options: Any) -> Authorizer:
    return Authorizer(parse_acls("\n".join(rules), "acls"), **options)


@pytest.mark.parametrize(
    ("rules", "operation", "name", "allowed"),
    [
        ([], READ, "orders", False),
        (["allow User:alice READ topic orders"], READ, "orders", True),
        (["allow User:alice READ topic orders"], WRITE, "orders", False),
        (["allow User:alice READ topic orders"], READ, "orders2", False),
        (["allow User:alice READ group orders"], READ, "orders", False),
        (["allow User:bob READ topic orders"], READ, "orders", False),
        (["allow User:* READ topic orders"], READ, "orders", True),
        (["allow User:alice READ topic *"], READ, "orders", True),
        (["allow User:alice READ topic ord prefixed"], READ, "orders", True),
        (["allow User:alice READ topic ord"], READ, "orders", False),
        (["allow User:alice READ topic orders prefixed"], READ, "ord", False),
        (["allow User:alice ALL topic orders"], Operation.ALTER_CONFIGS, "orders", True),
        # Deny wins, in whatever order and however general.
        (["allow User:alice READ topic orders", "deny User:* READ topic *"], READ, "orders", False),
        (["deny User:alice ALL topic o prefixed", "allow User:alice ALL topic *"], READ, "orders", False),
        (["deny User:bob READ topic orders", "allow User:alice READ topic orders"], READ, "orders", True),
        # What allows implies more, what denies does not.
        (["allow User:alice READ topic orders"], DESCRIBE, "orders", True),
        (["allow User:alice WRITE topic orders"], DESCRIBE, "orders", True),
        (["allow User:alice DELETE topic orders"], DESCRIBE, "orders", True),
        (["allow User:alice ALTER topic orders"], DESCRIBE, "orders", True),
        (["allow User:alice CREATE topic orders"], DESCRIBE, "orders", False),
        (["allow User:alice DESCRIBE topic orders"], READ, "orders", False),
        (["allow User:alice ALTER_CONFIGS topic orders"], Operation.DESCRIBE_CONFIGS, "orders", True),
        (["allow User:alice ALTER topic orders"], Operation.DESCRIBE_CONFIGS, "orders", False),
        (
            ["deny User:alice READ topic orders", "allow User:alice WRITE topic orders"],
            DESCRIBE,
            "orders",
            True,
        ),
        # Hosts.
        (["allow User:alice READ topic orders from 10.0.0.1"], READ, "orders", True),
        (["allow User:alice READ topic orders from 10.0.0.2"], READ, "orders", False),
        (
            ["allow User:alice READ topic orders", "deny User:alice READ topic orders from 10.0.0.1"],
            READ,
            "orders",
            False,
        ),
        (
            ["allow User:alice READ topic orders", "deny User:alice READ topic orders from 10.0.0.2"],
            READ,
            "orders",
            True,
        ),
        (
            ["allow User:alice READ topic orders", "deny User:* ALL topic * from 10.0.0.2"],
            READ,
            "orders",
            True,
        ),
    ],
)
def test_what_alice_may_do_to_a_topic(
    rules: list[str], operation: Operation, name: str, allowed: bool
) -> None:
    assert authorizer(*rules).allows(call(), operation, TOPIC, name) is allowed


def test_a_super_user_may_do_what_is_denied_to_all() -> None:
    deciding = authorizer("deny User:* ALL topic *", super_users=["User:root"])
    assert deciding.allows(call("User:root"), READ, TOPIC, "orders")
    assert not deciding.allows(call(), READ, TOPIC, "orders")


def test_without_any_acl_about_it_a_setting_decides() -> None:
    deciding = authorizer("allow User:bob READ topic orders", allow_without_acl=True)
    assert deciding.allows(call(), WRITE, TOPIC, "payments")
    assert not deciding.allows(call(), READ, TOPIC, "orders"), "there is an acl, though not for alice"


def test_acls_that_change_change_the_answers() -> None:
    deciding = authorizer("allow User:alice READ topic orders")
    assert deciding.allows(call(), READ, TOPIC, "orders")
    deciding.set_acls(())
    assert not deciding.allows(call(), READ, TOPIC, "orders")


def test_answers_are_remembered_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgroup.broker.security.authorizer._REMEMBERED_MAX", 8)
    deciding = authorizer("allow User:alice READ topic t prefixed")
    for number in range(100):
        assert deciding.allows(call(), READ, TOPIC, f"t{number}")
        assert len(deciding._remembered) <= 8


@pytest.mark.parametrize(
    ("rules", "some"),
    [
        ([], False),
        (["allow User:alice WRITE topic orders"], True),
        (["allow User:alice READ topic orders"], False),
        (["allow User:bob WRITE topic orders"], False),
        (["allow User:alice ALL topic o prefixed"], True),
        (["allow User:alice WRITE topic orders", "deny User:alice WRITE topic orders"], False),
        (["allow User:alice WRITE topic orders", "deny User:alice WRITE topic o prefixed"], False),
        (["allow User:alice WRITE topic orders", "deny User:alice WRITE topic *"], False),
        (["allow User:alice WRITE topic *", "deny User:alice WRITE topic orders"], True),
        (["allow User:alice WRITE topic o prefixed", "deny User:alice WRITE topic o"], True),
        (["allow User:alice WRITE topic orders", "deny User:alice READ topic orders"], True),
        (["allow User:alice WRITE topic orders from 10.9.9.9"], False),
        (["allow User:alice WRITE topic orders from 10.0.0.1"], True),
        (["allow User:alice WRITE topic orders", "deny User:alice WRITE topic * from 10.0.0.1"], False),
    ],
)
def test_whether_there_is_any_topic_to_write_to(rules: list[str], some: bool) -> None:
    """KIP-679: who may write to some topic needs no right to be idempotent."""
    assert authorizer(*rules).allows_some(call(), WRITE, TOPIC) is some


def test_all_that_may_be_done_by_kafkas_codes() -> None:
    deciding = authorizer("allow User:alice READ topic orders", "allow User:alice ALL cluster kafka-cluster")
    assert deciding.operations(call(), TOPIC, "orders") == {READ, DESCRIBE}
    assert deciding.operations(call(), CLUSTER, "kafka-cluster") == {5, 7, 8, 9, 10, 11, 12, 13, 14}
    assert deciding.operations(call(), GROUP, "g") == frozenset()
