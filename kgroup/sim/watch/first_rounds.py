"""What the first member of the consumer protocol brings about where a round of its classic group is on.

Kafka's own coordinator sends back those who wait, and fails if the group has not chosen a protocol yet.
"""

from kgroup.group.coordinator.classic.group import ClassicGroup
from kgroup.group.coordinator.consumer.member import JOINING
from kgroup.group.coordinator.settings import UPGRADES, GroupSettings
from kgroup.group.member.step import MemberError
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kgroup.protocol.requests.coordinator import ReplyBody, RequestBody


def sends_back(body: RequestBody, group: ClassicGroup | None, settings: GroupSettings) -> bool:
    """Whether this request sends back all who wait in a round of its classic group, as the group is now.

    A first member of the consumer protocol does that as soon as the group's kind, size and the policy do not
    forbid the upgrade: also if the newcomer is refused after that, and the round goes on without it.
    """
    return (
        isinstance(body, ConsumerGroupHeartbeat)
        and body.member_epoch == JOINING
        and group is not None
        and len(group.members) <= settings.consumer_max_size
        and group.uses_consumer_protocol
        and settings.consumer_migration_policy in UPGRADES
    )


def fails(body: RequestBody, group: ClassicGroup | None, settings: GroupSettings) -> bool:
    """Whether Kafka's coordinator fails on this request, with its classic group as it is now.

    A first member of the consumer protocol upgrades the group, and `ConsumerGroup.fromClassicGroup` of 4.3.1
    reads what the members subscribe to under the protocol of their generation. While they are in the first
    round, or the first one after the group was Empty, there is none: the answer is UNKNOWN_SERVER_ERROR.
    """
    return (
        sends_back(body, group, settings)
        and group is not None
        and len(group.members) > 0
        and group.protocol_name is None
    )


class FirstRounds:
    """The clients that a coordinator answered so last, and had to, with the request that it answered.

    Kafka's consumer ends with that error, although the group can be upgraded once its round is over: whoever
    runs it starts it again. A member that ends with that error for any other reason broke a promise.
    """

    def __init__(self) -> None:
        self._failed: dict[str, RequestBody] = {}

    def answered(self, client_id: str, body: RequestBody, reply: ReplyBody, *, was_due: bool) -> None:
        """A coordinator answers a client's request; `was_due`: `fails` held when it was asked.

        A request that comes twice may be let in the second time, as its round has ended in between. Which
        answer its client hears is not known here, so that the first one stays an excuse until the client asks
        something else.
        """
        if not isinstance(reply, ConsumerGroupHeartbeatResponse):
            return
        is_failed = reply.error_code is ErrorCode.UNKNOWN_SERVER_ERROR
        if is_failed and was_due:
            self._failed[client_id] = body
        elif is_failed or body != self._failed.get(client_id):
            self._failed.pop(client_id, None)

    def explain(self, client_id: str, error: MemberError) -> bool:
        """Whether this is why a member cannot go on."""
        return (
            error.api == ConsumerGroupHeartbeat.__name__
            and error.error_code is ErrorCode.UNKNOWN_SERVER_ERROR
            and client_id in self._failed
        )
