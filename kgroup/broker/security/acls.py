"""ACLs: who may do what to which resources, and the file lines that define them.

Operations, resource types and pattern types have Kafka's codes (AclOperation, ResourceType, PatternType).
"""

import shlex
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, TypeVar

from kgroup.errors import InputError, nearest_or_all

ANYTHING: Final = "*"
ANYBODY: Final = "User:*"
CLUSTER_NAME: Final = "kafka-cluster"
_Member = TypeVar("_Member", bound=IntEnum)
_FORM: Final = "allow|deny PRINCIPAL OPERATION[,OPERATION] RESOURCE-TYPE NAME [prefixed] [from HOST]"


class Operation(IntEnum):
    """An operation on a resource."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


class ResourceType(IntEnum):
    """The types of resources an ACL can be about."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5


class PatternType(IntEnum):
    """The ways an ACL names resources: by their name (or `*`), or by a prefix of it."""

    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """The effect of an ACL."""

    DENY = 2
    ALLOW = 3


_O = Operation
SUPPORTED: Final = {
    ResourceType.TOPIC: frozenset(
        {
            *(_O.READ, _O.WRITE, _O.CREATE, _O.DESCRIBE, _O.DELETE, _O.ALTER),
            *(_O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS),
        }
    ),
    ResourceType.GROUP: frozenset({_O.READ, _O.DESCRIBE, _O.DELETE, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS}),
    ResourceType.CLUSTER: frozenset(
        {
            *(_O.CREATE, _O.CLUSTER_ACTION, _O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS, _O.IDEMPOTENT_WRITE),
            *(_O.ALTER, _O.DESCRIBE, _O.CREATE_TOKENS, _O.DESCRIBE_TOKENS),
        }
    ),
    ResourceType.TRANSACTIONAL_ID: frozenset({_O.DESCRIBE, _O.WRITE}),
}
"""What can be done to a resource of each type (Kafka's AclEntry.supportedOperations)."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Acl:
    """One rule. `host` is an address or `*`; `name` is a resource's, the beginning of one, or `*`."""

    permission: Permission
    principal: str
    operation: Operation
    resource_type: ResourceType
    name: str
    pattern: PatternType = PatternType.LITERAL
    host: str = ANYTHING

    def concerns(self, name: str) -> bool:
        """Whether a resource of this ACL's type is one that it is about."""
        if self.pattern is PatternType.PREFIXED:
            return name.startswith(self.name)
        return self.name in (ANYTHING, name)


def parse_acls(text: str, where: str) -> tuple[Acl, ...]:
    """The ACLs of a file: a rule a line, `#` begins a comment. Raises InputError, naming file and line."""
    acls: list[Acl] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            words = shlex.split(line, comments=True)
            if words:
                acls += _parse_rule(words)
        except ValueError as error:
            raise InputError(f"{where}:{number}: {str(error).lower()}") from None
        except InputError as error:
            raise InputError(f"{where}:{number}: {error}") from None
    return tuple(acls)


def _parse_rule(words: list[str]) -> list[Acl]:
    """The ACLs of one line, one for each operation."""
    if len(words) < 5:
        raise InputError(f"a rule is {_FORM}")
    effect, principal, operations, kind, name, *rest = words
    permission = _member(Permission, effect, "effect")
    if ":" not in principal or principal.endswith(":"):
        raise InputError(f"{principal!r} is not a principal; give TYPE:NAME, like User:alice or {ANYBODY}")
    resource_type = _member(ResourceType, kind, "resource type")
    pattern = PatternType.LITERAL
    if rest and rest[0].lower() in ("prefixed", "literal"):
        pattern = PatternType[rest.pop(0).upper()]
    host = ANYTHING
    if len(rest) == 2 and rest[0].lower() == "from":
        host, rest = rest[1], []
    if rest or not name:
        raise InputError(f"a rule is {_FORM}")
    if resource_type is ResourceType.CLUSTER and name not in (CLUSTER_NAME, ANYTHING):
        raise InputError(f"the cluster's name is {CLUSTER_NAME}, not {name!r}")
    acls = []
    for word in operations.split(","):
        operation = _member(Operation, word, "operation")
        if operation is not Operation.ALL and operation not in SUPPORTED[resource_type]:
            able = ", ".join(sorted(each.name for each in SUPPORTED[resource_type]))
            raise InputError(
                f"{operation.name} cannot be done to a {_spoken(resource_type)}; there are {able}, ALL"
            )
        acls.append(
            Acl(
                permission=permission,
                principal=principal,
                operation=operation,
                resource_type=resource_type,
                name=name,
                pattern=pattern,
                host=host,
            )
        )
    return acls


def _spoken(member: IntEnum) -> str:
    return member.name.lower().replace("_", "-")


def _member(kind: type[_Member], word: str, title: str) -> _Member:
    """Kafka's tools take `TransactionalId`, `transactional-id` and `TRANSACTIONAL_ID` alike; so do we."""
    wanted = word.lower().replace("-", "").replace("_", "")
    for member in kind:
        if member.name.lower().replace("_", "") == wanted:
            return member
    names = [_spoken(member) for member in kind]
    raise InputError(f"{word!r} is no {title}; {nearest_or_all(word, names)}")
