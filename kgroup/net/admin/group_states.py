"""What a group is now and who is in it, asked of its coordinator: whether it may be changed hangs on that."""

import time
from dataclasses import dataclass
from typing import Any, Final

from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest

from kgroup.net.admin.cluster import Cluster, UnsupportedError
from kgroup.net.admin.coordinated import Sleep, ask_coordinator, refuse
from kgroup.protocol.error_codes import ErrorCode
from kgroup.wire.consumer_group_messages import ConsumerGroupDescribeRequest

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
_IDLE: Final = ("Empty", "Dead")
_NOT_THERE: Final = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentMember:
    """A member as its coordinator knows it; `instance_id` is None of a dynamic one."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentGroup:
    """A group as its coordinator knows it.

    `kind` is Kafka's group type in lower case: classic, consumer, share, streams. Of the last two there are
    no members here.
    """

    group: str
    kind: str
    state: str
    members: tuple[PresentMember, ...] = ()

    @property
    def is_idle(self) -> bool:
        """Whether offsets may be changed from outside."""
        return self.state in _IDLE


def present_group(cluster: Cluster, group: str, sleep: Sleep = time.sleep) -> PresentGroup | None:
    """The group, None if there is none. Raises SourceError if its coordinator does not answer, or refuses."""
    classic = _described(cluster, group, lambda: DescribeGroupsRequest(groups=[group], max_version=5), sleep)
    # Up to version 5 a group that is not there, or is of another kind, is Dead and no error.
    if classic is not None and classic.group_state != "Dead":
        return _present(classic, CLASSIC)
    try:
        modern = _described(cluster, group, lambda: ConsumerGroupDescribeRequest(group_ids=[group]), sleep)
    except UnsupportedError:
        return None  # before Kafka 3.7: there are no others
    if modern is not None:
        return _present(modern, CONSUMER)
    return _listed(cluster, group, sleep)


def _described(cluster: Cluster, group: str, request: Any, sleep: Sleep) -> Any:
    answer = ask_coordinator(
        cluster, group, request, lambda answer: [each.error_code for each in answer.groups], sleep
    )
    (described,) = answer.groups
    if described.error_code in _NOT_THERE:
        return None
    refuse(cluster, described.error_code, f"describe group {group!r}")
    return described


def _present(described: Any, kind: str) -> PresentGroup:
    return PresentGroup(
        group=described.group_id,
        kind=kind,
        state=described.group_state,
        members=tuple(
            PresentMember(
                member_id=member.member_id,
                instance_id=getattr(member, "group_instance_id", None)
                or getattr(member, "instance_id", None),
                client_id=member.client_id,
                host=member.client_host,
            )
            for member in sorted(described.members, key=lambda each: (each.client_id, each.member_id))
        ),
    )


def _listed(cluster: Cluster, group: str, sleep: Sleep) -> PresentGroup | None:
    """A group of a kind that kafka-python has no description of, by its coordinator's list (KIP-848)."""

    def request() -> Any:
        return ListGroupsRequest(states_filter=[], types_filter=[], min_version=5)

    try:
        answer = ask_coordinator(cluster, group, request, lambda answer: [answer.error_code], sleep)
    except UnsupportedError:
        return None
    refuse(cluster, answer.error_code, f"list the groups of the coordinator of {group!r}")
    for each in answer.groups:
        if each.group_id == group:
            return PresentGroup(group=group, kind=each.group_type.lower(), state=each.group_state)
    return None
