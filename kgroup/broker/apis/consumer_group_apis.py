"""Requests of the consumer protocol (KIP-848) on their way to coordinators, and the answers back."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kgroup.broker.apis.coordination import ask_coordinator
from kgroup.broker.apis.group_apis import ALL_OPERATIONS
from kgroup.broker.node import BrokerNode
from kgroup.broker.security.acls import Operation, ResourceType
from kgroup.group.coordinator.consumer.request_checks import heartbeat_problem
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, DescribedConsumerGroup
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required, text


def consumer_group_heartbeat(node: BrokerNode, call: Call, now_ms: int) -> None:
    """ConsumerGroupHeartbeat v0 and v1."""
    request = call.body
    names = request.subscribed_topic_names
    body = ConsumerGroupHeartbeat(  # by place, as names take twice the time: one is made for every heartbeat
        text(request.group_id),
        text(request.member_id),
        request.member_epoch,
        request.instance_id,
        request.rack_id,
        request.rebalance_timeout_ms,
        None if names is None else tuple(text(name) for name in names),
        request.subscribed_topic_regex if call.version >= 1 else None,
        request.server_assignor,
        _owned(request.topic_partitions),
        call.version >= 1,
        _sight(node, call),
    )
    problem = heartbeat_problem(body, node.cluster.settings.group)
    if problem is not None:
        node.answer(call, problem)
        return
    ask_coordinator(node, call, body.group_id, body, now_ms, lambda reply: node.answer(call, reply))


def _sight(node: BrokerNode, call: Call) -> Callable[[str], bool] | None:
    """The topics that the client may describe: others that an expression matches stay out of sight."""
    authorizer = node.cluster.authorizer
    if authorizer is None:
        return None
    return lambda name: authorizer.allows(call, Operation.DESCRIBE, ResourceType.TOPIC, name)


def _owned(topics: Any) -> tuple[Any, ...] | None:
    if topics is None:
        return None
    return tuple((each.topic_id, tuple(required(each.partitions))) for each in topics)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupsResponse:
    """The answer to ConsumerGroupDescribe."""

    groups: list[DescribedConsumerGroup] = field(default_factory=list)
    throttle_time_ms: int = 0


def consumer_group_describe(node: BrokerNode, call: Call, now_ms: int) -> None:
    """ConsumerGroupDescribe v0 and v1."""
    operations = ALL_OPERATIONS if call.body.include_authorized_operations else None
    described = []
    for group_id in required(call.body.group_ids):
        if not text(group_id):
            error = ErrorCode.INVALID_GROUP_ID
            described.append(DescribedConsumerGroup(group_id="", error_code=error))
            continue
        hosted = node.cluster.coordinator(group_id, node.node_id, now_ms)
        if isinstance(hosted, ErrorCode):
            described.append(DescribedConsumerGroup(group_id=group_id, error_code=hosted))
            continue
        group = hosted.coordinator.describe_consumer_group(group_id)
        if not group.error_code:
            group = replace(group, authorized_operations=operations)
        described.append(group)
    node.answer(call, ConsumerGroupsResponse(groups=described))


HANDLERS: Final = {
    api.CONSUMER_GROUP_HEARTBEAT: consumer_group_heartbeat,
    api.CONSUMER_GROUP_DESCRIBE: consumer_group_describe,
}
