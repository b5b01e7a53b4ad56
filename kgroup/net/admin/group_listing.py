"""The groups of a cluster, as each broker lists those it coordinates (ListGroups)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kafka.protocol.admin import ListGroupsRequest

from kgroup.errors import SourceError
from kgroup.history.groups.model import GroupKind
from kgroup.net.admin.cluster import Cluster, error_name
from kgroup.net.admin.pauses import MOVING, turns

CONSUMERS: Final = "consumer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    """A group as the broker `node_id`, its coordinator, lists it.

    `kind` is None from brokers that list no types (before 3.8, ListGroups v5), `state` from those before 2.6.
    """

    group_id: str
    node_id: int
    protocol_type: str
    state: str | None
    kind: GroupKind | None

    @property
    def is_of_consumers(self) -> bool:
        """Whether kafka-consumer-groups lists it: classic and consumer groups, of consumers or of nobody."""
        return self.kind in (None, GroupKind.CLASSIC, GroupKind.CONSUMER) and self.protocol_type in (
            "",
            CONSUMERS,
        )


def list_groups(cluster: Cluster, *, pause: Callable[[float], None] | None = None) -> dict[str, ListedGroup]:
    """All groups that this user may see, by group id, in the order of the brokers' answers.

    A broker whose coordinators are still loading is asked again within the time for one request. Raises
    SourceError if one does not answer then.
    """
    listed: dict[str, ListedGroup] = {}
    left = sorted(cluster.brokers())
    again: dict[int, SourceError] = {}
    for _ in turns(cluster.timeout_ms, pause):
        again = {}

        def take(index: int, answer: Any, asked: list[int] = left, again: dict[int, Any] = again) -> None:
            node_id = asked[index]
            if isinstance(answer, SourceError):
                again[node_id] = answer
            elif answer.error_code:
                name = error_name(answer.error_code)
                why = f"{cluster.name}: cannot list groups of broker {node_id}: {name}"
                if answer.error_code not in MOVING:
                    raise SourceError(why)
                again[node_id] = SourceError(why)
            else:
                listed.update((group.group_id, _listed(group, node_id)) for group in answer.groups)

        cluster.ask_many([(node_id, ListGroupsRequest()) for node_id in left], take)
        left = sorted(again)
        if not left:
            break
    if left:
        raise again[left[0]]
    return listed


def _listed(group: Any, node_id: int) -> ListedGroup:
    kind = (getattr(group, "group_type", None) or "").lower()
    return ListedGroup(
        group_id=group.group_id,
        node_id=node_id,
        protocol_type=group.protocol_type,
        state=getattr(group, "group_state", None) or None,
        kind=GroupKind(kind) if kind in [*GroupKind] else None,
    )
