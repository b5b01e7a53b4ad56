"""A request and its client's rights; shared by all guards."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from kgroup.broker.node import BrokerNode
from kgroup.broker.security.acls import Operation, ResourceType
from kgroup.broker.security.authorizer import Authorizer
from kgroup.protocol.error_codes import ErrorCode
from kgroup.wire.frames import Call

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """Questions about one request's client."""

    node: BrokerNode
    call: Call
    authorizer: Authorizer

    def topic(self, operation: Operation, name: str) -> bool:
        """Whether the client may do this to a topic."""
        return self.authorizer.allows(self.call, operation, ResourceType.TOPIC, name)

    def group(self, operation: Operation, group_id: str) -> bool:
        """Whether it may do this to a group."""
        return self.authorizer.allows(self.call, operation, ResourceType.GROUP, group_id)

    def transactional_id(self, operation: Operation, transactional_id: str) -> bool:
        """Whether it may do this to a transactional id."""
        return self.authorizer.allows(self.call, operation, ResourceType.TRANSACTIONAL_ID, transactional_id)

    def cluster(self, operation: Operation) -> bool:
        """Whether it may do this to the cluster."""
        return self.authorizer.allows_cluster(self.call, operation)

    def operations(self, kind: ResourceType, name: str) -> frozenset[int]:
        """The codes of all that it may do to a resource."""
        return self.authorizer.operations(self.call, kind, name)

    def topic_name(self, given: Any, by_id: bool, field: str = "name") -> str | None:
        """The name of a topic that a request gives by name or by id; None if no topic has the id."""
        name = self.node.cluster.topic_names.get(given.topic_id) if by_id else getattr(given, field)
        return name if name is None or isinstance(name, str) else str(name)

    def refuse(self, answer: Any) -> None:
        """Answer in the handler's place."""
        self.node.answer(self.call, answer)

    def amended(self, amend: Callable[[Any], Any]) -> Call:
        """The request, with its answer to be changed by `amend`."""
        return self.call._replace(amend=amend)


Guard = Callable[[Rights], Call | None]
"""Gives the request to hand on, or answers it and gives None."""


def apart(items: Iterable[T], allowed: Callable[[T], bool]) -> tuple[list[T], list[T]]:
    """The items that are allowed, and the others."""
    kept: list[T] = []
    refused: list[T] = []
    for item in items:
        (kept if allowed(item) else refused).append(item)
    return kept, refused


def no_right(rights: Rights) -> Call:
    """The right for requests open to everyone."""
    return rights.call


MESSAGES = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
}
"""What Kafka says with each error, where there is room for words (its `Errors`)."""
