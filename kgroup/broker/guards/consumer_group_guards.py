"""Rights of the consumer protocol: members READ the group and DESCRIBE topics, others DESCRIBE."""

from dataclasses import replace
from typing import Final

from kgroup.broker.apis.consumer_group_apis import ConsumerGroupsResponse
from kgroup.broker.guards.rights import MESSAGES, Guard, Rights, apart
from kgroup.broker.security.acls import Operation, ResourceType
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeatResponse, DescribedConsumerGroup
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required, text

E = ErrorCode


def _heartbeat(rights: Rights) -> Call | None:
    body = rights.call.body
    if not rights.group(Operation.READ, text(body.group_id)):
        error = E.GROUP_AUTHORIZATION_FAILED
    elif not all(rights.topic(Operation.DESCRIBE, name) for name in body.subscribed_topic_names or ()):
        error = E.TOPIC_AUTHORIZATION_FAILED
    else:
        return rights.call
    rights.refuse(ConsumerGroupHeartbeatResponse(error_code=error, error_message=MESSAGES[error]))
    return None


def _describe(rights: Rights) -> Call:
    """A group with a topic that the client may not see is shown without members, as an error."""
    body = rights.call.body
    body.group_ids, refused = apart(
        required(body.group_ids), lambda name: rights.group(Operation.DESCRIBE, text(name))
    )
    with_operations = body.include_authorized_operations

    def amend(answer: ConsumerGroupsResponse) -> ConsumerGroupsResponse:
        hidden = [
            DescribedConsumerGroup(
                group_id=name,
                error_code=E.GROUP_AUTHORIZATION_FAILED,
                error_message=MESSAGES[E.GROUP_AUTHORIZATION_FAILED],
            )
            for name in refused
        ]
        return replace(answer, groups=hidden + [shown(group) for group in answer.groups])

    def shown(group: DescribedConsumerGroup) -> DescribedConsumerGroup:
        if group.error_code:
            return group
        topics = {
            topic.topic_name
            for member in group.members
            for part in (member.assignment, member.target_assignment)
            for topic in part.topic_partitions
        } | {name for member in group.members for name in member.subscribed_topic_names}
        if not all(rights.topic(Operation.DESCRIBE, name) for name in sorted(topics)):
            return DescribedConsumerGroup(
                group_id=group.group_id,
                error_code=E.TOPIC_AUTHORIZATION_FAILED,
                error_message="The group reads topics that the client is not authorized to describe.",
            )
        if not with_operations:
            return group
        operations = rights.operations(ResourceType.GROUP, group.group_id)
        return replace(group, authorized_operations=operations)

    return rights.amended(amend)


GUARDS: Final[dict[int, Guard]] = {
    api.CONSUMER_GROUP_HEARTBEAT: _heartbeat,
    api.CONSUMER_GROUP_DESCRIBE: _describe,
}
