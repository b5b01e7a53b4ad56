"""Whether a client may do something: the rules of Kafka's StandardAuthorizer (Kafka 4).

Super users may do everything. A denying ACL beats any that allow. What no ACL is about is denied, unless
`allow.everyone.if.no.acl.found` says otherwise. Of ACLs that allow, some imply others: to read, write, delete
or alter includes to describe; to alter configs, to describe them.
"""

from collections.abc import Iterable
from typing import Final

from kgroup.broker.security.acls import (
    ANYBODY,
    ANYTHING,
    CLUSTER_NAME,
    SUPPORTED,
    Acl,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from kgroup.wire.frames import Call

_REMEMBERED_MAX: Final = 1 << 14
_O = Operation
_IMPLYING: Final = {
    _O.DESCRIBE: frozenset({_O.DESCRIBE, _O.READ, _O.WRITE, _O.DELETE, _O.ALTER}),
    _O.DESCRIBE_CONFIGS: frozenset({_O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS}),
}
"""The operations whose permission is one for another operation, too."""


class Authorizer:
    """The ACLs of a cluster. Answers are remembered until the ACLs change."""

    def __init__(
        self, acls: Iterable[Acl] = (), *, super_users: Iterable[str] = (), allow_without_acl: bool = False
    ) -> None:
        self._super_users = frozenset(super_users)
        self._allow_without_acl = allow_without_acl
        self._remembered: dict[tuple[str, str, Operation, ResourceType, str], bool] = {}
        self.acls: tuple[Acl, ...] = ()
        self.set_acls(acls)

    def set_acls(self, acls: Iterable[Acl]) -> None:
        """Have these ACLs from now on; each counts once."""
        self.acls = tuple(dict.fromkeys(acls))
        self._remembered.clear()

    def allows(self, call: Call, operation: Operation, kind: ResourceType, name: str) -> bool:
        """Whether the client of a request may do this to the resource."""
        question = (call.sender.principal, call.client_host.removeprefix("/"), operation, kind, name)
        answer = self._remembered.get(question)
        if answer is None:
            if len(self._remembered) >= _REMEMBERED_MAX:
                self._remembered.clear()
            answer = self._remembered[question] = self._decide(*question)
        return answer

    def allows_cluster(self, call: Call, operation: Operation) -> bool:
        """Whether the client may do this to the cluster."""
        return self.allows(call, operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def allows_some(self, call: Call, operation: Operation, kind: ResourceType) -> bool:
        """Whether there may be any resource of this type to which the client may do this (KIP-679)."""
        principal, host = call.sender.principal, call.client_host.removeprefix("/")
        if self._decide(principal, host, operation, kind, "hardcode"):  # a name for none, as in Kafka
            return True
        applying = [
            acl
            for acl in self.acls
            if acl.resource_type is kind
            and acl.operation in (operation, Operation.ALL)
            and _is_for(acl, principal, host)
        ]
        denying = [acl for acl in applying if acl.permission is Permission.DENY]
        return any(
            acl.permission is Permission.ALLOW and not any(_covers(each, acl) for each in denying)
            for acl in applying
        )

    def operations(self, call: Call, kind: ResourceType, name: str) -> frozenset[int]:
        """The codes of all that the client may do to the resource (KIP-430)."""
        return frozenset(
            int(operation) for operation in SUPPORTED[kind] if self.allows(call, operation, kind, name)
        )

    def _decide(self, principal: str, host: str, operation: Operation, kind: ResourceType, name: str) -> bool:
        if principal in self._super_users:
            return True
        about = [acl for acl in self.acls if acl.resource_type is kind and acl.concerns(name)]
        if not about:
            return self._allow_without_acl
        applying = [acl for acl in about if _is_for(acl, principal, host) and _matches(acl, operation)]
        allowed = any(acl.permission is Permission.ALLOW for acl in applying)
        return allowed and not any(acl.permission is Permission.DENY for acl in applying)


def _is_for(acl: Acl, principal: str, host: str) -> bool:
    return acl.principal in (principal, ANYBODY) and acl.host in (host, ANYTHING)


def _matches(acl: Acl, operation: Operation) -> bool:
    """Whether an ACL says something of an operation; only those that allow imply others."""
    if acl.operation in (operation, Operation.ALL):
        return True
    implying = _IMPLYING.get(operation, frozenset())
    return acl.permission is Permission.ALLOW and acl.operation in implying


def _covers(denying: Acl, allowing: Acl) -> bool:
    """Whether what one ACL denies includes all that another allows."""
    if denying.pattern is PatternType.PREFIXED:
        return allowing.name.startswith(denying.name)
    return denying.name == ANYTHING or (
        denying.name == allowing.name and allowing.pattern is PatternType.LITERAL
    )
