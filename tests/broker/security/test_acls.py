"""The lines of an ACL file, and what is said of those that make no sense."""

import pytest

from kgroup.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceType, parse_acls
from kgroup.errors import InputError


def test_one_acl_for_each_operation_of_a_line() -> None:
    text = """
# the shop
allow User:alice READ,DESCRIBE_CONFIGS topic orders- prefixed
deny "User:CN=Bob B,O=Shop" all group *   from 10.0.0.1  # not from there
allow User:* idempotent-write Cluster kafka-cluster
allow User:alice Write TransactionalId tx
"""
    common = {"permission": Permission.ALLOW, "principal": "User:alice"}
    topic = {"resource_type": ResourceType.TOPIC, "name": "orders-", "pattern": PatternType.PREFIXED}
    assert parse_acls(text, "acls") == (
        Acl(**common, operation=Operation.READ, **topic),
        Acl(**common, operation=Operation.DESCRIBE_CONFIGS, **topic),
        Acl(
            permission=Permission.DENY,
            principal="User:CN=Bob B,O=Shop",
            operation=Operation.ALL,
            resource_type=ResourceType.GROUP,
            name="*",
            host="10.0.0.1",
        ),
        Acl(
            permission=Permission.ALLOW,
            principal="User:*",
            operation=Operation.IDEMPOTENT_WRITE,
            resource_type=ResourceType.CLUSTER,
            name="kafka-cluster",
        ),
        Acl(**common, operation=Operation.WRITE, resource_type=ResourceType.TRANSACTIONAL_ID, name="tx"),
    )


FORM = "a rule is allow|deny PRINCIPAL OPERATION[,OPERATION] RESOURCE-TYPE NAME [prefixed] [from HOST]"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("allow User:alice READ topic", FORM),
        ("allow User:alice READ topic orders to 10.0.0.1", FORM),
        ("allow User:alice READ topic orders from", FORM),
        ("allow User:alice READ topic orders from 10.0.0.1 10.0.0.2", FORM),
        ("allow User:alice READ topic ''", FORM),
        ("permit User:alice READ topic orders", "'permit' is no effect; there are deny, allow"),
        (
            "allow alice READ topic orders",
            "'alice' is not a principal; give TYPE:NAME, like User:alice or User:*",
        ),
        (
            "allow User: READ topic orders",
            "'User:' is not a principal; give TYPE:NAME, like User:alice or User:*",
        ),
        ("allow User:alice REED topic orders", "'REED' is no operation; did you mean read?"),
        (
            "allow User:alice READ topics orders",
            "'topics' is no resource type; did you mean topic?",
        ),
        (
            "allow User:alice WRITE group g",
            "WRITE cannot be done to a group; there are ALTER_CONFIGS, DELETE, DESCRIBE, DESCRIBE_CONFIGS, "
            "READ, ALL",
        ),
        ("allow User:alice ALTER cluster mine", "the cluster's name is kafka-cluster, not 'mine'"),
        ("allow 'User:alice READ topic orders", "no closing quotation"),
    ],
)
def test_a_line_that_makes_no_sense_is_named(line: str, why: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_acls(f"# first\n{line}\n", "acls.txt")
    assert str(refused.value) == f"acls.txt:2: {why}"
