"""Checks of a ConsumerGroupHeartbeat that Kafka makes before it looks for the group's coordinator."""

from kgroup.group.coordinator.consumer.member import AWAY, JOINING, LEAVING
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse

E = ErrorCode


def heartbeat_problem(
    body: ConsumerGroupHeartbeat, settings: GroupSettings
) -> ConsumerGroupHeartbeatResponse | None:
    """The refusal of a heartbeat that says too little or what cannot be, or None."""
    words = _wrong(body)
    if words is not None:
        return ConsumerGroupHeartbeatResponse(error_code=E.INVALID_REQUEST, error_message=words)
    assignors = settings.consumer_assignors
    if body.server_assignor is not None and body.server_assignor not in assignors:
        known = ", ".join(assignors)
        words = f"ServerAssignor {body.server_assignor} is not supported. Supported assignors: {known}."
        return ConsumerGroupHeartbeatResponse(error_code=E.UNSUPPORTED_ASSIGNOR, error_message=words)
    return None


def _wrong(body: ConsumerGroupHeartbeat) -> str | None:
    epoch = body.member_epoch
    if (body.makes_own_id or epoch > 0 or epoch == LEAVING) and not body.member_id.strip():
        return "MemberId can't be empty."
    for name, value in (
        ("GroupId", body.group_id),
        ("InstanceId", body.instance_id),
        ("RackId", body.rack_id),
    ):
        if value is not None and not value.strip():
            return f"{name} can't be empty."
    if epoch == JOINING:
        if body.rebalance_timeout_ms == -1:
            return "RebalanceTimeoutMs must be provided in first request."
        if body.topic_partitions is None or body.topic_partitions:
            return "TopicPartitions must be empty when (re-)joining."
        if body.subscribed_topic_names is None and body.subscribed_topic_regex is None:
            return "SubscribedTopicNames or SubscribedTopicRegex must be there when (re-)joining."
    elif epoch == AWAY:
        return "InstanceId can't be null." if body.instance_id is None else None
    elif epoch < AWAY:
        return "MemberEpoch is invalid."
    return None
